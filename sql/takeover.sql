-- Tests which builds ptsort does; ptsort_last_build() shows these builds.
-- (t/001_paths.pl tests all ways to build; t/004_log_lines.pl tests the reasons
-- for leaving builds to the server.)
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_maintenance_workers = 2;

-- Returns the index and the number of tuples of ptsort's last build.
CREATE FUNCTION last_build(OUT index_name text, OUT tuples int8)
RETURNS SETOF record LANGUAGE sql AS
$$SELECT index_name, tuples FROM ptsort_last_build() WHERE role = 'total'$$;

-- the report before the first build
SELECT * FROM ptsort_last_build();

CREATE TABLE takeover (a int, b text);
INSERT INTO takeover SELECT i, 'b' || i FROM generate_series(1, 5000) i;
CREATE INDEX takeover_a ON takeover (a);
SELECT * FROM last_build();

-- the index is an ordinary index, and works
CREATE INDEX takeover_b ON takeover (b text_pattern_ops, a)
	WITH (fillfactor = 80, parallel_workers = 2, deduplicate_items = off);
SELECT * FROM last_build();
SELECT pg_get_indexdef('takeover_b'::regclass);
SELECT reloptions FROM pg_class WHERE relname = 'takeover_b';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT a FROM takeover WHERE b LIKE 'b499%' ORDER BY b USING ~<~;
SELECT a FROM takeover WHERE b LIKE 'b499%' ORDER BY b USING ~<~;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- the rows of the report: participants first, then the total
CREATE INDEX takeover_serial ON takeover (b, a) WITH (parallel_workers = 0);
SELECT index_name, participant, role, tuples, pages > 0 AS pages FROM ptsort_last_build();

-- a failed build does not change the report
CREATE UNIQUE INDEX takeover_fails ON takeover ((greatest(a, 2)));
SELECT * FROM last_build();

-- ptsort also does rebuilds, CONCURRENTLY, constraints
REINDEX INDEX takeover_a;
SELECT * FROM last_build();
CREATE INDEX CONCURRENTLY takeover_c ON takeover (a, b) WHERE a > 4000;
SELECT * FROM last_build();
REINDEX INDEX CONCURRENTLY takeover_a;
SELECT * FROM last_build();
ALTER TABLE takeover ADD CONSTRAINT takeover_unique UNIQUE (a) WITH (parallel_workers = 1);
SELECT * FROM last_build();
-- ptsort also does builds on temporary tables, unlogged tables, and partitions
CREATE TEMP TABLE takeover_temp AS SELECT * FROM takeover;
CREATE INDEX takeover_temp_a ON takeover_temp (a) WITH (parallel_workers = 2);
SELECT * FROM last_build();
CREATE UNLOGGED TABLE takeover_unlogged AS SELECT * FROM takeover;
CREATE INDEX takeover_unlogged_a ON takeover_unlogged (a);
SELECT * FROM last_build();
CREATE TABLE takeover_parted (a int) PARTITION BY HASH (a);
CREATE TABLE takeover_part PARTITION OF takeover_parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO takeover_parted SELECT a FROM takeover;
CREATE INDEX ON takeover_parted (a);
SELECT * FROM last_build();

DROP TABLE takeover, takeover_temp, takeover_unlogged, takeover_parted;
DROP FUNCTION last_build;
