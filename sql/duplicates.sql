-- ptsort_duplicates(): the rows with equal keys of a unique index.  The function
-- reads the table, not the index, which may be in any disorder.
\pset format unaligned \pset footer off
CREATE SCHEMA duplicates;
SET search_path = duplicates, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
LOAD 'ptsort_test';
-- 3 rows for each of 40 keys, 2 for each of 10, and 9,850 keys with one row
CREATE TABLE t AS SELECT CASE WHEN g <= 120 THEN g % 40 WHEN g <= 140 THEN 100 + g % 10 ELSE g END AS a,
	'name ' || CASE WHEN g % 5 = 0 THEN g % 1000 ELSE g END AS b, NULLIF(g % 2500, 0) AS c
FROM generate_series(1, 9990) g;
-- Makes a unique index that is not: each of its rows is an equal one's
-- neighbour, or somewhere else.
CREATE FUNCTION pretend(index text, keys text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX %I ON t (%s', index, keys);
	UPDATE pg_index SET indisunique = true WHERE indexrelid = index::regclass;
END $$;
-- Compares the result with GROUP BY: groups, rows, and rows of the largest group
CREATE FUNCTION compared(index regclass, keys text, filter text DEFAULT 'true')
RETURNS TABLE (groups int8, "rows" int8, largest int8, same bool) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH expected AS (SELECT array_agg(ctid ORDER BY ctid) AS tids FROM t
		WHERE %2$s GROUP BY %1$s HAVING count(*) > 1),
	found AS (SELECT array_agg(ctid ORDER BY ctid) AS tids, count(DISTINCT keys) = 1 AS one_key
		FROM ptsort_duplicates(%3$L) WHERE "table" = ''t''::regclass GROUP BY group_number)
	SELECT count(*), sum(cardinality(tids))::int8, max(cardinality(tids))::int8,
		bool_and(one_key) AND NOT EXISTS (SELECT tids FROM found EXCEPT SELECT tids FROM expected)
			AND NOT EXISTS (SELECT tids FROM expected EXCEPT SELECT tids FROM found)
	FROM found', keys, filter, index);
END $$;
SELECT pretend('t_a', 'a)');
SELECT * FROM compared('t_a', 'a');
SELECT pretend('t_b', 'b COLLATE "en_US" DESC) INCLUDE (a)');
SELECT * FROM compared('t_b', 'b');
SELECT pretend('t_expr', '(a / 2), left(b, 6)) WHERE a > 3');
SELECT * FROM compared('t_expr', 'a / 2, left(b, 6)', 'a > 3');
SELECT pretend('t_c', 'c)');
SELECT * FROM compared('t_c', 'c', 'c IS NOT NULL');
UPDATE pg_index SET indnullsnotdistinct = true WHERE indexrelid = 't_c'::regclass;
SELECT * FROM compared('t_c', 'c');
-- in files
SET maintenance_work_mem = '1MB';
SET ptsort_test.spill_entries = 500;
SELECT * FROM compared('t_b', 'b');
RESET ptsort_test.spill_entries;
RESET maintenance_work_mem;
SELECT * FROM ptsort_duplicates('t_a') LIMIT 4;
SELECT keys FROM ptsort_duplicates('t_expr') LIMIT 1;
-- by the equality of the operator class, not that of the type
CREATE FUNCTION compare_tens(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.btint4cmp($1 / 10, $2 / 10)';
CREATE FUNCTION tens_eq(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 10 = $2 / 10';
CREATE OPERATOR === (FUNCTION = tens_eq, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS tens FOR TYPE int USING btree AS OPERATOR 3 ===, FUNCTION 1 compare_tens(int, int);
SELECT pretend('t_tens', 'a tens) WHERE a BETWEEN 9000 AND 9024');
SELECT group_number, count(*), min(keys), max(keys) FROM ptsort_duplicates('t_tens') GROUP BY 1 ORDER BY 1;
-- a build that failed leaves an index that is not valid
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY t_invalid ON t (a);
\set VERBOSITY default
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_invalid'::regclass;
SELECT count(*) FROM ptsort_duplicates('t_invalid');
-- The rows of the own transaction in a deferrable constraint are not compared
-- yet.  Other rows count.
CREATE TABLE later (a int, b int, CONSTRAINT later_a UNIQUE (a) DEFERRABLE INITIALLY DEFERRED) WITH (fillfactor = 50);
INSERT INTO later SELECT g, g FROM generate_series(1, 3000) g;
BEGIN;
INSERT INTO later VALUES (5, 0), (7, 0), (7, 1);
UPDATE later SET b = 0 WHERE a = 9;
SELECT problems FROM ptsort_check('later_a', true);
SELECT * FROM ptsort_duplicates('later_a');
ROLLBACK;
UPDATE pg_index SET indisunique = false WHERE indexrelid = 'later_a'::regclass;
INSERT INTO later VALUES (5, 0);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'later_a'::regclass;
SELECT duplicates FROM ptsort_check('later_a');
BEGIN;
UPDATE later SET b = 1 WHERE a = 5 AND b = 0;
SELECT duplicates FROM ptsort_check('later_a', true);
ROLLBACK;
-- After an update that is HOT, the server does not compare the row again, and
-- the index points to the first version: the result has the row's own ctid.
UPDATE later SET b = -1 WHERE a = 5;
VACUUM later;
UPDATE later SET b = -2 WHERE a = 5;
SELECT count(*) AS hot, count(l.ctid) AS found FROM ptsort_duplicates('later_a') d
LEFT JOIN later l ON l.ctid = d.ctid AND l.a = 5 AND l.b = -2;
-- A partitioned index: equal keys in one partition and in several.  The partitions
-- have other columns, and the index of one has another order.  A function that
-- changed moved the rows' places, as an upgrade does with bounds of text.
CREATE FUNCTION place(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE TABLE parts (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE "part 1" (c text, b int, d text, a int);
ALTER TABLE "part 1" DROP COLUMN c, DROP COLUMN d;
CREATE TABLE part_2 (b int, a int) PARTITION BY LIST (b);
CREATE TABLE part_2_x PARTITION OF part_2 DEFAULT;
CREATE TABLE part_2_7 PARTITION OF part_2 FOR VALUES IN (7);
ALTER TABLE parts ATTACH PARTITION "part 1" FOR VALUES FROM (1000) TO (2000);
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES FROM (2000) TO (3000);
CREATE INDEX "part 1_a" ON "part 1" (a DESC);
CREATE INDEX parts_a ON parts (a);
CREATE INDEX parts_expr ON parts ((place(a)), b) INCLUDE (a);
INSERT INTO parts SELECT g, 7 + g % 2 FROM generate_series(0, 2999) g;
INSERT INTO parts VALUES (2001, 7), (5, 5), (5, 5);
UPDATE pg_index SET indisunique = true WHERE indexrelid IN (SELECT relid FROM pg_partition_tree('parts_a') UNION SELECT relid FROM pg_partition_tree('parts_expr'));
SELECT d.*, p.a, p.b FROM ptsort_duplicates('parts_a') d LEFT JOIN parts p ON p.tableoid = d."table" AND p.ctid = d.ctid;
SELECT d.*, p.a, p.b FROM ptsort_duplicates('parts_expr') d LEFT JOIN parts p ON p.tableoid = d."table" AND p.ctid = d.ctid;
CREATE OR REPLACE FUNCTION place(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 1500; END';
\c
SET search_path = duplicates, public;
SET client_min_messages = warning;
LOAD 'ptsort_test';
SELECT count(*), count(DISTINCT group_number), count(*) = (SELECT sum(n) FROM (SELECT count(*) AS n FROM parts GROUP BY place(a), b HAVING count(*) > 1) s) AS all,
	count(*) FILTER (WHERE place(p.a)::text = split_part(split_part(keys, '=(', 2), ',', 1)) AS right
FROM ptsort_duplicates('parts_expr') d JOIN parts p ON p.tableoid = d."table" AND p.ctid = d.ctid;
SELECT * FROM ptsort_duplicates('parts_expr') WHERE group_number IN (1, 2);
-- each index of the tree
SELECT indexrelid::regclass, d.*, p.a, p.b FROM pg_index, ptsort_duplicates(indexrelid) d LEFT JOIN parts p ON p.tableoid = d."table" AND p.ctid = d.ctid
WHERE indexrelid IN (SELECT relid FROM pg_partition_tree('parts_a')) ORDER BY indexrelid::regclass::text, d.ctid, d."table";
-- a sort in files
SET maintenance_work_mem = '1MB';
SET ptsort_test.spill_entries = 100;
SELECT count(*), count(DISTINCT group_number) FROM ptsort_duplicates('parts_expr');
RESET maintenance_work_mem;
RESET ptsort_test.spill_entries;
SELECT ptsort_check('parts_a');
-- no partitions
CREATE TABLE empty (a int UNIQUE) PARTITION BY LIST (a);
SELECT * FROM ptsort_duplicates('empty_a_key');
-- errors, and who sees the keys
SELECT * FROM ptsort_duplicates(NULL);
CREATE INDEX t_plain ON t (a);
SELECT * FROM ptsort_duplicates('t_plain');
SELECT * FROM ptsort_duplicates('t');
CREATE ROLE regress_duplicates;
GRANT USAGE ON SCHEMA duplicates TO regress_duplicates;
SET ROLE regress_duplicates;
SELECT * FROM ptsort_duplicates('t_a');
RESET ROLE;
ALTER TABLE t OWNER TO regress_duplicates;
SET ROLE regress_duplicates;
SELECT count(*), count(keys) FROM ptsort_duplicates('t_a');
REVOKE SELECT ON t FROM regress_duplicates;
SELECT count(*), count(keys) FROM ptsort_duplicates('t_a');
GRANT SELECT ON t TO regress_duplicates;
ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*), count(keys) FROM ptsort_duplicates('t_a');
RESET ROLE;
SELECT count(*), count(keys) FROM ptsort_duplicates('t_a');
-- the caller must have the right on each partition, and needs SELECT on the parent
ALTER TABLE parts OWNER TO regress_duplicates;
SET ROLE regress_duplicates;
SELECT count(*) FROM ptsort_duplicates('parts_a');
RESET ROLE;
ALTER TABLE part_0 OWNER TO regress_duplicates;
ALTER TABLE "part 1" OWNER TO regress_duplicates;
ALTER TABLE part_2 OWNER TO regress_duplicates;
ALTER TABLE part_2_x OWNER TO regress_duplicates;
ALTER TABLE part_2_7 OWNER TO regress_duplicates;
SET ROLE regress_duplicates;
SELECT count(*), count(keys) FROM ptsort_duplicates('parts_a');
RESET ROLE;
DROP SCHEMA duplicates CASCADE;
DROP ROLE regress_duplicates;
