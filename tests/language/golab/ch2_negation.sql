-- Golab, section 2.2.1 and Figure 2.1(e): negation S1 - S2 over unbounded streams; a result is
-- taken back when an S2-tuple of its value comes.
CREATE STREAM S1 (a VARCHAR);
CREATE STREAM S2 (a VARCHAR);

SELECT a FROM S1 EXCEPT ALL SELECT a FROM S2;
