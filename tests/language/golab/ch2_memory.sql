-- Golab, section 2.2.1, "Memory Requirements": its queries in algebra over S(A, B, C) and T(D, E),
-- written as SQL. The first, second and last can be run in bounded memory.
CREATE STREAM S (A INT, B INT, C INT);
CREATE STREAM T (D INT, E INT);

CREATE QUERY kept AS SELECT A FROM S, T WHERE A = D AND A > 10 AND D < 20;
CREATE QUERY once AS SELECT DISTINCT A FROM S, T WHERE A = D AND A > 10 AND D < 20;
CREATE QUERY joined AS SELECT A FROM S, T WHERE A = D;
CREATE QUERY over_ten AS SELECT DISTINCT A FROM S WHERE A > 10;
CREATE QUERY below AS SELECT DISTINCT A FROM S, T WHERE B < D AND A > 10 AND A < 20;
