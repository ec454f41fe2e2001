-- Wide index tuples of small values: each value fits into a short varlena.
-- Some tuples exceed the limit of a third of a page.  The values are in the
-- key and in INCLUDE.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

CREATE TABLE wide (id int, a text, b text COLLATE "C", c uuid);
INSERT INTO wide SELECT i, repeat(md5(i::text), 4), repeat(md5(i::text), 3) || i, md5(i::text)::uuid
FROM generate_series(1, 2000) i;
CREATE FUNCTION columns(n int) RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(CASE WHEN i % 2 = 1 THEN 'a' ELSE 'b' END, ', ' ORDER BY i) FROM generate_series(1, n) i);
-- the index equals the server's
SELECT n, same('wide', format('(id) INCLUDE (%s)', columns(n))) FROM unnest('{1,3,4,5,8,12,20}'::int[]) n;
SELECT n, same('wide', format('(id) INCLUDE (%s)', columns(n)), '', 2) FROM unnest('{4,12,20}'::int[]) n;
SELECT n, same('wide', format('(%s, c, id)', columns(n)), '', 1) FROM unnest('{4,12,20}'::int[]) n;
-- the build writes the tuples to runs and merges the runs
SET ptsort_test.spill_entries = 300;
SELECT same('wide', format('(id, c) INCLUDE (%s)', columns(20)), '', 2);
RESET ptsort_test.spill_entries;
-- tuples that are too large: the message is the server's
SELECT n, attempt(format('CREATE INDEX attempted ON wide (id) INCLUDE (%s)', columns(n))) FROM unnest('{24,31}'::int[]) n;
SELECT attempt(format('CREATE UNIQUE INDEX attempted ON wide (%s)', columns(31)));
-- a statement as users write it
CREATE INDEX ON wide (id) INCLUDE (a,b,a,b,a,b,a,b,a,b,a,b,a,b,a,b,a,b,a,b);
DROP TABLE wide;
DROP FUNCTION columns;
