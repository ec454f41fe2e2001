CREATE EXTENSION ptsort_am CASCADE;
LOAD 'ptsort_test';	-- settings that force rare paths
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '128MB';

CREATE TABLE t (k int8, pad text) WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO t SELECT CASE WHEN i % 50 > 0 THEN hashint8(i)::int8 * 3000000000 END, i
FROM generate_series(1, 60000) i;
INSERT INTO t SELECT i % 3, 'few' FROM generate_series(1, 6000) i;
INSERT INTO t VALUES (-9223372036854775808, 'least'), (9223372036854775807, 'greatest');
ANALYZE t;

-- Counts the rows through the index and, for comparison, through a scan of the
-- table.  Checks that the plans use the index and the scan.
CREATE FUNCTION compare(condition text, name text DEFAULT 't_k', OUT index bool, OUT rows bigint, OUT same bool)
LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) || coalesce(md5(string_agg(pad, '','' ORDER BY pad)), '''') FROM t WHERE ' || condition;
	plan text;
	by_index text;
	by_scan text;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	index := plan ~ format('Bitmap Index Scan.*"%s"', name);
	EXECUTE query INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	index := index AND plan ~ 'Seq Scan' AND plan !~ 'Index';
	EXECUTE query INTO by_scan;
	EXECUTE 'SELECT count(*) FROM t WHERE ' || condition INTO rows;
	same := by_index = by_scan;
END $$;
CREATE TABLE conditions (number serial, condition text);
INSERT INTO conditions (condition) VALUES
	('k = 1'), ('k = 7'), ('k < 2'), ('k <= 2'), ('k > 2'), ('k >= 2'), ('k BETWEEN 0 AND 2'),
	('k > 0 AND k < 2'), ('k > 5 AND k < 3'), ('k = ANY (''{0,2,77}''::int8[])'), ('k = (SELECT NULL::int8)'),
	('k <= -9223372036854775808'), ('k < -9223372036854775808'), ('k >= 9223372036854775807'),
	('k > 9223372036854775807'), ('k > 3000000000000000000'), ('k < -3000000000000000000'),
	('k BETWEEN -100000000000000000 AND 100000000000000000'), ('k IS NOT NULL AND k < 0'),
	('k = 1 OR k > 6000000000000000000'), ('k > (SELECT max(k) / 2 FROM t)');

CREATE FUNCTION compare_all(OUT rows int8, OUT wrong text) LANGUAGE sql AS $$
	SELECT sum(c.rows), string_agg(condition, '; ') FILTER (WHERE NOT (c.index AND c.same)) FROM conditions, compare(condition) c $$;

-- In the first build, only workers scan the table; in the second build, workers and
-- the leader scan the table; in the third build, only the leader scans the table.
-- t/001_crash_replica.pl tests that several processes write slices.
SET ptsort_test.slices = 8;
SET ptsort_test.leader_participates = off;
CREATE INDEX t_k ON t USING ptsort_am (k);
SELECT * FROM compare_all();
RESET ptsort_test.leader_participates;
REINDEX INDEX t_k;
SELECT * FROM compare_all();
SET max_parallel_maintenance_workers = 0;
REINDEX INDEX t_k;
SELECT * FROM compare_all();
RESET ptsort_test.slices;
SET max_parallel_maintenance_workers = 2;

-- The planner uses the index where the index is cheaper.
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE k = 7;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE k > 0;
PREPARE by_number(int4) AS SELECT count(*) FROM t WHERE k = $1;
EXECUTE by_number(2);

-- The index does not change after the build.  VACUUM removes rows.  New
-- rows, which are not in the index, may take the TIDs of removed rows.
INSERT INTO t VALUES (1, 'new');
UPDATE t SET k = 8 WHERE k = 9223372036854775807;
DELETE FROM t WHERE k % 2 = 0;
VACUUM t;
INSERT INTO t SELECT NULL, 'new' FROM generate_series(1, 1000);
SELECT * FROM compare_all();
DROP INDEX t_k;
INSERT INTO t SELECT i % 7, 'more' FROM generate_series(1, 5000) i;
CREATE INDEX t_k ON t USING ptsort_am (k);
SELECT * FROM compare_all();

-- Partial indexes, indexes on expressions, and indexes of empty, all-null, large
-- and temporary tables.
CREATE INDEX t_part ON t USING ptsort_am (k) WHERE pad = 'few';
CREATE INDEX t_length ON t USING ptsort_am ((length(pad)::int8));
SET enable_seqscan = off;
SELECT * FROM compare('k = 1 AND pad = ''few''', 't_part')
UNION ALL SELECT * FROM compare('length(pad)::int8 = 4', 't_length');
CREATE TABLE e (k int8);
CREATE INDEX e_k ON e USING ptsort_am (k);
SELECT * FROM e WHERE k = 1;
INSERT INTO e VALUES (NULL);
REINDEX INDEX e_k;
SELECT * FROM e WHERE k = 1;
CREATE TABLE large AS SELECT i::int8 AS k FROM generate_series(1, 300000) i;
CREATE INDEX large_k ON large USING ptsort_am (k);
CREATE TEMP TABLE temporary AS SELECT i::int8 AS k FROM generate_series(1, 2000) i;
CREATE INDEX temporary_k ON temporary USING ptsort_am (k);
SELECT (SELECT count(*) FROM large WHERE k > 1000 AND k <= 299000) AS range,
	(SELECT count(*) FROM large WHERE k = ANY (ARRAY(SELECT i::int8 FROM generate_series(1, 300000, 251) i))) AS list,
	(SELECT count(*) FROM temporary WHERE k > 1990) AS temporary;

-- Features that the access method lacks.
CREATE INDEX CONCURRENTLY t_concurrently ON t USING ptsort_am (k);
CREATE UNIQUE INDEX ON t USING ptsort_am (k);
CREATE INDEX ON t USING ptsort_am (pad);
CREATE INDEX ON t USING ptsort_am (k) WITH (fillfactor = 70);
DROP TABLE e, t, conditions, large, temporary;
DROP FUNCTION compare, compare_all;
DROP EXTENSION ptsort_am;
