-- ptsort_check_indexes() and ptsort_check_all(): many indexes in one call.  The
-- result does not depend on the participants.  Indexes that ptsort cannot check
-- have rows with the reason.
\pset format unaligned \pset footer off
CREATE SCHEMA check_all;
SET search_path = check_all, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
LOAD 'ptsort_test';
SET ptsort_test.all_workers = off;
-- 300 indexes of 2 to 40 pages
DO $$
BEGIN
	FOR i IN 1..100 LOOP
		EXECUTE format('CREATE TABLE t_%1$s AS SELECT g AS a, g %% 7 AS b, md5(g::text) AS c
			FROM generate_series(1, 20 * %1$s) g', i);
		EXECUTE format('CREATE UNIQUE INDEX t_%1$s_a ON t_%1$s (a)', i);
		EXECUTE format('CREATE INDEX t_%1$s_b ON t_%1$s (b)', i);
		EXECUTE format('CREATE INDEX t_%1$s_c ON t_%1$s (c)', i);
	END LOOP;
END $$;
-- Returns the sums of the results for the indexes of this schema, and the
-- problems.
CREATE FUNCTION sums(heap bool, workers int, "full" bool DEFAULT false, OUT checked int8, OUT problems numeric,
	OUT durations bool, OUT details text)
AS $$
	SELECT count(k.problems), sum(k.problems), bool_and(k.elapsed_ms > 0 OR problems IS NULL), string_agg(k.index || ': ' || k.details::text, ', ' ORDER BY k.index::text COLLATE "C")
		FILTER (WHERE k.problems > 0)
	FROM ptsort_check_indexes(ARRAY(SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
		WHERE relnamespace = 'check_all'::regnamespace ORDER BY pg_relation_size(c.oid) DESC)::regclass[], heap, workers, "full") k
$$ LANGUAGE sql;
SELECT * FROM sums(false, 0);
SELECT * FROM sums(true, 0);
SELECT * FROM sums(false, 3, true);
SELECT * FROM sums(true, 3);
SELECT * FROM sums(true, NULL);
-- problems in some of them
UPDATE pg_index SET indisready = false, indislive = false WHERE indexrelid IN ('t_5_b'::regclass, 't_4_b'::regclass);
INSERT INTO t_5 VALUES (1000000, 1, 'x');
INSERT INTO t_4 VALUES (1000000, 1, 'x'), (1000001, 2, 'y');
UPDATE pg_index SET indisready = true, indislive = true WHERE indexrelid IN ('t_5_b'::regclass, 't_4_b'::regclass);
SELECT * FROM sums(true, 0);
SELECT * FROM sums(true, 2);
-- only workers check; more slots than the memory has room for; each index with
-- a team of its own
SET ptsort_test.leader_participates = off;
SELECT * FROM sums(true, 2);
RESET ptsort_test.leader_participates;
SET maintenance_work_mem = '1MB';
SELECT * FROM sums(true, 2);
SELECT * FROM sums(false, 2);
RESET maintenance_work_mem;
SET ptsort_test.all_workers = on;
SELECT index, problems, details FROM ptsort_check_indexes('{t_100_a,t_4_b,t_1_c}', true, 2) ORDER BY index::text COLLATE "C";
SET ptsort_test.all_workers = off;
-- NULL has no row
SELECT index, problems FROM ptsort_check_indexes('{t_3_a,NULL,t_100_a,t_3_a}', workers => 0) ORDER BY index::text COLLATE "C";
SELECT count(*) FROM ptsort_check_indexes('{}');
SELECT count(*) FROM ptsort_check_indexes(NULL);
SELECT count(*) FROM ptsort_check_indexes('{t_3_a}', NULL);
SELECT ptsort_check_indexes('{t_3_a}', workers => -1);
-- no btree, not valid, no such index, a temporary table
CREATE INDEX t_1_hash ON t_1 USING hash (a);
CREATE TABLE part (a int) PARTITION BY RANGE (a);
CREATE INDEX part_a ON part (a);
CREATE INDEX t_2_invalid ON t_2 (a);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_2_invalid'::regclass;
CREATE TEMP TABLE temp AS SELECT a FROM t_50;
CREATE INDEX temp_a ON temp (a);
SELECT index, problems, details
FROM ptsort_check_indexes('{t_1_a,t_1_hash,part_a,t_1,t_2_invalid,4294967295,temp_a,t_1_b}', true, 2) ORDER BY index::text COLLATE "C";
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 't_2_invalid'::regclass;
-- a comparison function that raises errors, in the caller and in workers
CREATE FUNCTION compare_or_fail(a int, b int) RETURNS int AS $$
BEGIN
	IF a = 13 AND current_setting('test.fail', true) = 'on' THEN
		RAISE EXCEPTION 'no order for thirteen';
	END IF;
	RETURN btint4cmp(a, b);
END $$ LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE;
CREATE OPERATOR CLASS failing FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=,
	OPERATOR 5 >, FUNCTION 1 compare_or_fail(int, int);
CREATE INDEX t_7_fails ON t_7 (a failing);
CREATE INDEX t_60_fails ON t_60 (a failing);
CREATE INDEX t_61_b_fails ON t_61 (b failing);
SET test.fail = on;
SELECT ptsort_check('t_7_fails');
SELECT index, problems, details FROM ptsort_check_indexes('{t_1_a,t_60_fails,t_61_b_fails,t_5_b,t_7_fails,t_8_a}', true, 0) ORDER BY index::text COLLATE "C";
SELECT index, problems, details FROM ptsort_check_indexes('{t_1_a,t_60_fails,t_61_b_fails,t_5_b,t_7_fails,t_8_a}', true, 2) ORDER BY index::text COLLATE "C";
SET ptsort_test.all_workers = on;
SELECT index, problems, details FROM ptsort_check_indexes('{t_1_a,t_60_fails,t_61_b_fails,t_5_b,t_7_fails,t_8_a}', true, 2) ORDER BY index::text COLLATE "C";
SET ptsort_test.all_workers = off;
SELECT * FROM sums(true, 2);
-- an expression that raises errors, and one that is not parallel safe
CREATE FUNCTION fail_for_200(a int) RETURNS int AS $$
	SELECT CASE WHEN a = 200 AND current_setting('test.fail', true) = 'on' THEN 1 / (a - 200) ELSE a END
$$ LANGUAGE sql IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION not_safe(a int) RETURNS int AS 'BEGIN RETURN a; END' LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE;
RESET test.fail;
CREATE INDEX t_70_fails ON t_70 (fail_for_200(a));
CREATE INDEX t_70_unsafe ON t_70 (not_safe(a));
SET test.fail = on;
SELECT index, problems, details FROM ptsort_check_indexes('{t_70_fails,t_70_unsafe,t_5_b,t_7_fails,t_70_a}', true, 2) ORDER BY index::text COLLATE "C";
SELECT index, problems, details FROM ptsort_check_indexes('{t_70_fails,t_70_unsafe}', false, 2) ORDER BY index::text COLLATE "C";
RESET test.fail;
-- all indexes of the database, the largest first
SELECT index, "table", problems, details, repair FROM ptsort_check_all(true, workers => 2)
WHERE problems > 0 OR index IN ('t_100_c'::regclass, 't_1_a'::regclass, 'temp_a'::regclass);
SELECT array_agg(size) = array_agg(size ORDER BY size DESC) AS in_order, count(*) > 400 AS many, count(*) = count(problems) AS checked
FROM (SELECT (SELECT relpages FROM pg_class WHERE oid = index) AS size, problems FROM ptsort_check_all() WHERE index <> 't_1_hash'::regclass) s;
-- what it cannot check
CREATE INDEX t_1_brin ON t_1 USING brin (a);
CREATE INDEX t_1_spgist ON t_1 USING spgist (c);
SELECT index, "table", problems, details, elapsed_ms, repair, wrong_rows FROM ptsort_check_all() WHERE problems IS NULL ORDER BY index::text;
-- what a failed CONCURRENTLY leaves, also while another session may still use it
ALTER TABLE t_7 SET (autovacuum_enabled = off);
CREATE INDEX t_7_ccnew ON t_7 (a);
CREATE INDEX t_7_ccold1 ON t_7 (a);
CREATE INDEX t_7_other ON t_7 (a);
UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('t_7_ccnew'::regclass, 't_7_ccold1'::regclass, 't_7_other'::regclass);
CREATE VIEW invalid AS
SELECT index, "table", problems, details, repair FROM ptsort_check_all() WHERE index::text LIKE 't_7_%' AND problems IS NULL;
SELECT * FROM invalid ORDER BY index::text COLLATE "C";
BEGIN;
LOCK TABLE t_7 IN SHARE UPDATE EXCLUSIVE MODE;
SELECT details, repair FROM invalid WHERE index = 't_7_ccnew'::regclass;
ROLLBACK;
SELECT repair FROM invalid ORDER BY index::text COLLATE "C" \gexec
SELECT count(*) FROM invalid;
-- a role checks what it may maintain
CREATE ROLE regress_check_all;
GRANT USAGE ON SCHEMA check_all TO regress_check_all;
SET ROLE regress_check_all;
SELECT count(index), min(problems) AS problems, min(details::text) ~ '^\{"left out: \d+ indexes on tables of other owners"' AS says FROM ptsort_check_all();
SELECT count(*) FROM ptsort_check_indexes('{t_4_b,t_91_b}', true);
RESET ROLE;
ALTER TABLE t_4 OWNER TO regress_check_all;
SET ROLE regress_check_all;
SELECT index, problems FROM ptsort_check_all(true, workers => 2) WHERE index::text NOT LIKE 'pg_%' ORDER BY index::text COLLATE "C";
SELECT index, problems FROM ptsort_check_indexes('{t_4_b,t_91_b}', true) ORDER BY index::text COLLATE "C";
RESET ROLE;
DROP SCHEMA check_all CASCADE;
DROP ROLE regress_check_all;
