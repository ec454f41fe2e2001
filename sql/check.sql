-- ptsort_check() on sound indexes of several kinds, and its errors
\pset format unaligned \pset footer off
CREATE SCHEMA checks;
SET search_path = checks, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
-- Returns what a check finds, and whether bt_index_parent_check() agrees.
CREATE FUNCTION checked(index regclass, heap bool DEFAULT false, workers int DEFAULT NULL,
	"full" bool DEFAULT false, OUT problems int8, OUT details text[], OUT tuples int8, OUT pages bool)
AS $$
	SELECT problems, details, tuples, pages = pg_relation_size(index) / 8192
	FROM ptsort_check(index, heap, workers, "full"), bt_index_parent_check(index, true, true)
$$ LANGUAGE sql;
CREATE TABLE t AS
	SELECT g AS a, g % 7 AS few, md5(g::text) AS md5, CASE WHEN g % 3 = 0 THEN g END AS nulls,
		repeat(chr(97 + g % 26), g % 500) AS wide, g::numeric / 7 AS n
	FROM generate_series(1, 20000) g;
CREATE INDEX t_a ON t (a);
CREATE UNIQUE INDEX t_unique ON t (a DESC) INCLUDE (md5);
CREATE INDEX t_few ON t (few);
CREATE INDEX t_md5 ON t (md5 COLLATE "en_US");
CREATE INDEX t_c ON t (md5 COLLATE "C" DESC);
CREATE INDEX t_nulls ON t (nulls NULLS FIRST, few DESC);
CREATE INDEX t_wide ON t (wide, n) WITH (fillfactor = 50);
CREATE INDEX t_part ON t (n, (a + 1)) WHERE few = 3;
CREATE UNIQUE INDEX t_unique_nulls ON t (nulls);
CREATE TABLE empty (a int);
CREATE INDEX empty_a ON empty (a);
SELECT i, c.* FROM unnest('{t_a,t_unique,t_few,t_md5,t_c,t_nulls,t_wide,t_part,t_unique_nulls,empty_a}'::regclass[]) i,
	checked(i, heap => true) c;
-- by several processes, and with the provider's comparison
SELECT i, c.* FROM unnest('{t_a,t_few,t_md5,t_wide,empty_a}'::regclass[]) i, checked(i, true, 2, true) c;
SELECT participants FROM ptsort_check('t_md5', true, 2);
SELECT participants, index_name, elapsed_ms > 0 FROM ptsort_check('t_md5', workers => 0);
-- after changes: dead tuples, splits, deleted pages
DELETE FROM t WHERE a BETWEEN 3000 AND 9000;
UPDATE t SET few = few + 1, a = -a WHERE a % 5 = 0;
SELECT i, problems, details FROM unnest('{t_a,t_unique,t_few,t_md5,t_nulls,t_wide,t_part,t_unique_nulls}'::regclass[]) i,
	checked(i, true);
VACUUM t;
INSERT INTO t SELECT g, g, md5(g::text), g, g, g FROM generate_series(100000, 110000) g;
SELECT i, problems, details FROM unnest('{t_a,t_unique,t_few,t_md5,t_nulls,t_wide,t_part,t_unique_nulls}'::regclass[]) i,
	checked(i, true, 1);
-- faults: rows that an index does not know, and the index of another table
UPDATE pg_index SET indisready = false, indislive = false WHERE indexrelid = 't_a'::regclass;
INSERT INTO t SELECT -g FROM generate_series(1, 3) g;
UPDATE pg_index SET indisready = true, indislive = true WHERE indexrelid = 't_a'::regclass;
SELECT problems, rows_without_entry, details FROM ptsort_check('t_a');
SELECT problems, rows_without_entry, details FROM ptsort_check('t_a', true, 0);
CREATE TABLE other AS SELECT a FROM generate_series(1, 100) a;
CREATE INDEX other_a ON other (a);
CREATE TABLE another AS SELECT a FROM generate_series(3, 200) a;
CREATE INDEX another_a ON another (a);
UPDATE pg_class SET relfilenode = pg_relation_filenode('another_a') WHERE oid = 'other_a'::regclass;
SELECT problems, entries_without_row, rows_without_entry, details FROM ptsort_check('other_a', true, 1);
-- a predicate that has another result now: entries of rows that no longer satisfy
-- it, for which the expression must not run; dead entries are no fault
CREATE FUNCTION chosen(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 0; END';
CREATE FUNCTION doubled(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN IF NOT checks.chosen($1) THEN RAISE ''not chosen: %'', $1; END IF; RETURN 2 * $1; END';
CREATE TABLE numbers AS SELECT g AS a FROM generate_series(-100, 300) g;
CREATE INDEX chosen_a ON numbers (doubled(a)) WHERE chosen(a);
UPDATE numbers SET a = -a WHERE a BETWEEN 1 AND 40;
DELETE FROM numbers WHERE a > 290;
SELECT problems FROM ptsort_check('chosen_a', true);
CREATE OR REPLACE FUNCTION chosen(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 50; END';
SELECT problems, entries_without_row, details FROM ptsort_check('chosen_a', true);
SELECT problems, entries_without_row FROM ptsort_check('chosen_a', true, 2);
-- an index in the order of another collation
CREATE TABLE names AS SELECT CASE WHEN g % 2 = 0 THEN 'a' ELSE 'B' END || g % 500 AS name FROM generate_series(1, 1000) g;
CREATE INDEX names_name ON names (name COLLATE "C");
UPDATE pg_index SET indcollation = ('"en_US"'::regcollation::oid)::text::oidvector WHERE indexrelid = 'names_name'::regclass;
UPDATE pg_attribute SET attcollation = '"en_US"'::regcollation WHERE attrelid = 'names_name'::regclass;
SELECT problems > 0 AS found, problems = out_of_order AS all, regexp_replace(details[1], '\(.*\)', '') AS detail
FROM ptsort_check('names_name');
SELECT problems > 0 AS found FROM ptsort_check('names_name', "full" => true);
-- duplicates
CREATE TABLE twice (a int, b text);
CREATE UNIQUE INDEX twice_key ON twice (a, b) WHERE a > 0;
INSERT INTO twice SELECT g, 'x' FROM generate_series(1, 1000) g;
UPDATE pg_index SET indisunique = false WHERE indexrelid = 'twice_key'::regclass;
INSERT INTO twice VALUES (5, 'x'), (7, 'y'), (-1, 'x'), (-1, 'x'), (900, NULL), (900, NULL);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'twice_key'::regclass;
SELECT problems, duplicates, details FROM ptsort_check('twice_key');
-- all indexes, and how to repair them
SELECT index, "table", problems > 0 AS problems, repair, wrong_rows FROM ptsort_check_all(true)
WHERE index::text NOT LIKE 'pg_%' AND problems > 0 ORDER BY index::text;
SELECT wrong_rows FROM ptsort_check_all() WHERE wrong_rows IS NOT NULL \gexec
DELETE FROM twice WHERE ctid = (SELECT max(ctid) FROM twice WHERE a = 5);
SELECT repair FROM ptsort_check_all(true) WHERE repair IS NOT NULL ORDER BY repair COLLATE "C" \gexec
DROP TABLE another;
SELECT index, details FROM ptsort_check_all(true) WHERE problems > 0;
SELECT index FROM ptsort_check_all(changed_collations => true) WHERE index::text !~ 'names';
-- temporary tables
CREATE TEMP TABLE temp AS SELECT a FROM t;
CREATE INDEX temp_a ON temp (a);
SELECT problems, participants FROM ptsort_check('temp_a', workers => 2);
-- a support function that workers must not call
CREATE TABLE points AS SELECT point(a, a % 7) AS p, ARRAY[a, a % 7] AS n FROM t;
CREATE INDEX points_p ON points USING gist (p);
CREATE INDEX points_n ON points USING gin (n);
SELECT i, problems, participants FROM unnest('{points_p, points_n}'::regclass[]) i, ptsort_check(i, true, workers => 2);
BEGIN;
UPDATE pg_proc SET proparallel = 'u' WHERE proname IN ('gist_point_compress', 'ginarrayextract');
SELECT i, problems, participants FROM unnest('{points_p, points_n}'::regclass[]) i, ptsort_check(i, workers => 2);
ROLLBACK;
DROP TABLE points;
-- errors
SELECT ptsort_check(NULL) IS NULL AS "null";
SELECT ptsort_check('t');
SELECT ptsort_check('t_a', workers => -1);
SELECT ptsort_check('t_a', workers => 10000);
CREATE INDEX t_hash ON t USING hash (a);
SELECT ptsort_check('t_hash');
CREATE TABLE part (a int) PARTITION BY RANGE (a);
CREATE INDEX part_a ON part (a);
SELECT ptsort_check('part_a');
CREATE ROLE regress_checker;
GRANT USAGE ON SCHEMA checks TO regress_checker;
SET ROLE regress_checker;
SELECT ptsort_check('t_a');
RESET ROLE;
ALTER TABLE t OWNER TO regress_checker;
SET ROLE regress_checker;
SELECT problems FROM ptsort_check('t_a', workers => 1);
RESET ROLE;
DROP SCHEMA checks CASCADE;
DROP ROLE regress_checker;
