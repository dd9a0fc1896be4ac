-- Contract, "Language: SQL": column types, and the domains CHECK, BOOLEAN, ENUM and TINYINT; CHECK
-- lets NULL pass, NOT NULL excludes it.
CREATE STREAM d (
    flag BOOLEAN,
    colour ENUM('red', 'green'),
    small TINYINT,
    size INT CHECK (size IN (1, 2, 3)),
    kind VARCHAR NOT NULL CHECK (kind IN ('x', 'y')),
    price DECIMAL(6, 2),
    ratio DOUBLE,
    born DATE
);

SELECT * FROM d;
CREATE QUERY of_colour AS SELECT colour, COUNT(*) AS n FROM d GROUP BY colour;
