-- ptsort_forecast(): which statements it forecasts, errors and permissions.
-- t/095_forecast.pl compares forecasts with builds.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
\set SHOW_CONTEXT never
CREATE SCHEMA forecast;
SET search_path = forecast, public;

CREATE TABLE data AS
SELECT i AS id, i % 100 AS few, md5(i::text) AS word, now() AS seen
FROM generate_series(1, 20000) i;
ALTER TABLE data ALTER id SET NOT NULL;
VACUUM ANALYZE data;

-- prints the parts of a forecast that are the same on all machines
CREATE FUNCTION forecast(statement text) RETURNS TABLE (index_name text,
	table_name text, row_count text, size text, sane bool, verdict text)
LANGUAGE sql AS $$
SELECT index_name, table_name,
	CASE WHEN rows BETWEEN 19000 AND 21000 THEN 'all' WHEN rows = 0 THEN 'none'
		WHEN rows IS NOT NULL THEN 'some' END,
	CASE WHEN index_bytes <= 16384 THEN 'empty' WHEN index_bytes < 200000 THEN 'small'
		WHEN index_bytes < 600000 THEN 'medium' ELSE 'large' END,
	temp_bytes >= 0 AND wal_bytes >= 0 AND memory_bytes >= 0 AND participants > 0 AND
		seconds > 0 AND index_free_bytes > 0 AND temp_free_bytes > 0 AND wal_free_bytes > 0,
	verdict
FROM ptsort_forecast(statement) $$;

-- CREATE INDEX
SELECT * FROM forecast('CREATE INDEX ON data (id)');
SELECT * FROM forecast('CREATE INDEX named ON data (few)');
SELECT * FROM forecast('CREATE UNIQUE INDEX CONCURRENTLY ON data (id DESC NULLS LAST)');
SELECT * FROM forecast('CREATE UNIQUE INDEX ON data (few)');	-- duplicates are no error
SELECT * FROM forecast('CREATE INDEX ON data (id) INCLUDE (word)');
SELECT * FROM forecast('CREATE INDEX ON data (word) WHERE few = 3');
SELECT * FROM forecast('CREATE INDEX ON data (id) WHERE id < 0');
SELECT * FROM forecast('CREATE INDEX ON data (lower(word), (id + 1))');
SELECT * FROM forecast('CREATE INDEX ON data (word COLLATE "C" text_pattern_ops)');
SELECT * FROM forecast('CREATE INDEX ON data (id) WITH (fillfactor = 30, parallel_workers = 0)');
SELECT * FROM forecast('CREATE INDEX ON data (few) WITH (deduplicate_items = off)');
SELECT * FROM forecast('CREATE INDEX IF NOT EXISTS i ON forecast.data USING btree (id) TABLESPACE pg_default');

-- the number of participants, and its reason
SET max_parallel_maintenance_workers = 4;
SELECT participants, participants_reason
FROM ptsort_forecast('CREATE INDEX ON data (id) WITH (parallel_workers = 3)');
SET ptsort.parallel_workers = 2;
SELECT participants, participants_reason
FROM ptsort_forecast('CREATE INDEX ON data (id)');
CREATE FUNCTION unsafe(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
SELECT participants, participants_reason
FROM ptsort_forecast('CREATE INDEX ON data (unsafe(id))');
SET ptsort.parallel_workers = 0;
SELECT participants, participants_reason
FROM ptsort_forecast('CREATE INDEX ON data (id)');
SET ptsort.enable = off;
SELECT participants_reason FROM ptsort_forecast('CREATE INDEX ON data (id)');
RESET ptsort.enable;
RESET ptsort.parallel_workers;

-- temporary space and memory
SET maintenance_work_mem = '1MB';
SELECT temp_bytes = 0 AS fits, memory_bytes <= 1024 * 1024 AS in_budget
FROM ptsort_forecast('CREATE INDEX ON data (id) WITH (parallel_workers = 0)');
SELECT temp_bytes > 0 AS spills
FROM ptsort_forecast('CREATE INDEX ON data (word) WITH (parallel_workers = 0)');
RESET maintenance_work_mem;

-- too little space; the reserve must stay free
SET ptsort_test.free_kilobytes = 100000;
SET ptsort.disk_reserve = '256MB';
SELECT regexp_replace(regexp_replace(verdict, '\d+ [kMG]B', 'N'), ', WAL', '') AS verdict
FROM ptsort_forecast('CREATE INDEX ON data (id) WITH (parallel_workers = 0)');
SET ptsort.disk_reserve = 0;
SELECT verdict FROM ptsort_forecast('CREATE INDEX ON data (id) WITH (parallel_workers = 0)');
SET ptsort_test.free_kilobytes = 100;
SELECT regexp_replace(regexp_replace(verdict, '\d+ [kMG]B', 'N'), ', WAL', '') AS verdict
FROM ptsort_forecast('CREATE INDEX ON data (id) WITH (parallel_workers = 0)');
SELECT regexp_replace(regexp_replace(verdict, '\d+ [kMG]B', 'N'), ', WAL', '') AS verdict
FROM ptsort_forecast('CREATE INDEX ON data (word) WITH (parallel_workers = 1)');
RESET ptsort_test.free_kilobytes;
RESET ptsort.disk_reserve;
SET temp_file_limit = '64kB';
SELECT verdict FROM ptsort_forecast('CREATE INDEX ON data (word) WITH (parallel_workers = 1)');
RESET temp_file_limit;

-- constraints
SELECT * FROM forecast('ALTER TABLE data ADD PRIMARY KEY (id)');
SELECT * FROM forecast('ALTER TABLE data ADD CONSTRAINT c UNIQUE (word) INCLUDE (id) WITH (fillfactor = 70), ADD UNIQUE (id, few)');
SELECT * FROM forecast('ALTER TABLE data ADD EXCLUDE USING btree (id WITH =) WHERE (few = 1)');

-- a forecast leaves nothing behind
SELECT relname FROM pg_class WHERE relnamespace = 'forecast'::regnamespace;
SELECT DISTINCT mode FROM pg_locks WHERE locktype = 'relation' AND mode <> 'AccessShareLock';

-- existing indexes
CREATE INDEX data_id ON data (id);
CREATE INDEX data_word ON data (word) WHERE few = 1;
CREATE INDEX data_hash ON data USING hash (few);
SELECT * FROM forecast('REINDEX INDEX data_id');
SELECT * FROM forecast('REINDEX INDEX CONCURRENTLY data_word');
CREATE INDEX data_gin ON data USING gin ((ARRAY[few, id])) WITH (fastupdate = off);
SELECT * FROM forecast('REINDEX INDEX data_gin');
DROP INDEX data_gin;
SELECT * FROM forecast('REINDEX (TABLESPACE pg_default) TABLE data') WHERE table_name = 'data';
SELECT participants_reason FROM ptsort_forecast('REINDEX INDEX data_hash');

-- REINDEX CONCURRENTLY skips invalid indexes and exclusion constraints
CREATE TABLE skipped (a int, b int, EXCLUDE (a WITH =));
INSERT INTO skipped SELECT i, 1 FROM generate_series(1, 100) i;
CREATE INDEX skipped_b ON skipped (b);
CREATE UNIQUE INDEX CONCURRENTLY skipped_invalid ON skipped (b);
SELECT index_name FROM ptsort_forecast('REINDEX TABLE CONCURRENTLY skipped');
SELECT index_name FROM ptsort_forecast('REINDEX TABLE skipped');
SELECT index_name FROM ptsort_forecast('REINDEX INDEX CONCURRENTLY skipped_invalid');

-- copies of the table, then its indexes
SELECT * FROM forecast('CLUSTER data USING data_id') WHERE table_name = 'data';
SELECT * FROM forecast('VACUUM (FULL, ANALYZE) data') WHERE table_name = 'data';
SELECT participants, participants_reason FROM ptsort_forecast('VACUUM FULL data') LIMIT 1;

-- partitions, temporary tables, materialized views, an empty table
CREATE TABLE parts (id int, word text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (10001);
CREATE TABLE parts_2 (word text, id int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10001) TO (30000);
INSERT INTO parts SELECT id, word FROM data;
SELECT * FROM forecast('CREATE INDEX i ON parts (id, lower(word))');
SELECT * FROM forecast('CREATE INDEX ON ONLY parts (id)');
CREATE INDEX parts_id ON parts (id);
SELECT * FROM forecast('REINDEX INDEX parts_id');
SELECT table_name, index_name FROM ptsort_forecast('CLUSTER parts USING parts_id') WHERE table_name LIKE 'parts%';
CREATE TEMP TABLE temporary AS TABLE data;
SELECT *, (SELECT wal_bytes FROM ptsort_forecast('CREATE INDEX ON temporary (id)'))
FROM forecast('CREATE INDEX ON temporary (id)');
CREATE MATERIALIZED VIEW view AS TABLE data;
SELECT * FROM forecast('CREATE INDEX ON view (id)');
CREATE TABLE empty (id int, word text);
SELECT index_name, rows, index_bytes, temp_bytes FROM ptsort_forecast('CREATE INDEX ON empty (id, word)');

-- rows that are too wide
CREATE TABLE wide AS SELECT string_agg(md5(i::text), '') AS text FROM generate_series(1, 100) i;
SELECT verdict FROM ptsort_forecast('CREATE INDEX ON wide (text)');
SELECT verdict FROM ptsort_forecast('CREATE INDEX ON wide USING gin ((ARRAY[text]))');
SELECT verdict FROM ptsort_forecast('CREATE INDEX ON wide USING gin ((ARRAY[repeat(''x'', 20000)]))');

-- other statements
SELECT * FROM forecast('SELECT 1');
SELECT * FROM forecast('');
SELECT * FROM forecast('CREATE INDEX ON data (id); CREATE INDEX ON data (id)');
SELECT * FROM forecast('CREATE UNIQUE INDEX ON data USING gist (point(id, id))');
SELECT * FROM forecast('CREATE INDEX ON data USING gist (point(id, id) DESC)');
SELECT * FROM forecast('CREATE INDEX ON data USING gist (point(id, id) NULLS FIRST)');
SELECT * FROM forecast('CREATE INDEX ON data USING gin ((ARRAY[id]))');
SELECT * FROM forecast('CREATE INDEX ON data USING gin (to_tsvector(''simple'', word), (ARRAY[few])) WHERE few = 3');
SELECT * FROM forecast('CREATE INDEX ON data USING gin ((ARRAY[id])) INCLUDE (few)');
SELECT * FROM forecast('CREATE UNIQUE INDEX ON data USING gin ((ARRAY[id]))');
SELECT * FROM forecast('CREATE INDEX ON data USING gin ((ARRAY[id]) DESC)');
SELECT * FROM forecast('CREATE INDEX ON data USING gin (id)');
SELECT * FROM forecast('CREATE INDEX ON data USING gin ((ARRAY[id])) WITH (fillfactor = 50)');
SELECT participants_reason FROM ptsort_forecast('CREATE INDEX ON data USING gin ((ARRAY[id])) WITH (parallel_workers = 3)');
SELECT * FROM forecast('CREATE INDEX ON data (id COLLATE "C")');
SELECT * FROM forecast('CREATE INDEX ON');
SELECT * FROM forecast('ALTER TABLE data ADD COLUMN more int UNIQUE');
SELECT * FROM forecast('ALTER TABLE data ADD UNIQUE USING INDEX data_id');
SELECT * FROM forecast('REINDEX SCHEMA forecast');
SELECT * FROM forecast('CLUSTER data USING data_word');
SELECT * FROM forecast('CLUSTER data USING data_hash');
SELECT * FROM forecast('VACUUM data');
SELECT * FROM forecast('VACUUM FULL');
SELECT * FROM forecast('CLUSTER data');
SELECT * FROM forecast('CLUSTER data USING missing');
SELECT * FROM forecast('CREATE INDEX ON missing (id)');
SELECT * FROM forecast('CREATE INDEX ON data (missing)');
SELECT * FROM forecast('CREATE INDEX ON data (ctid)');
-- other access methods: the forecast knows only who builds the index
SELECT index_name, "rows", index_bytes, seconds, participants, participants_reason, verdict
FROM ptsort_forecast('CREATE INDEX ON data USING hash (id)');
SELECT index_name, participants_reason FROM ptsort_forecast('CREATE INDEX named ON data USING brin (id)');
SELECT * FROM forecast('CREATE INDEX ON data USING no_such_method (id)');
SELECT * FROM forecast('CREATE INDEX ON data (id text_ops)');
SELECT * FROM forecast('CREATE INDEX ON data (point(id, id))');
SELECT * FROM forecast('CREATE INDEX ON data (id) WITH (fillfactor = 3)');
SELECT * FROM forecast('CREATE INDEX ON data (id) WITH (nonsense = 3)');
SELECT * FROM forecast('CREATE INDEX ON data (id) TABLESPACE missing');
SELECT * FROM forecast('CREATE INDEX ON data ((random()))');
SELECT * FROM forecast('CREATE INDEX ON data (id) WHERE seen < now()');
SELECT * FROM forecast('CREATE INDEX ON data ((1 / (id - 5000)))');
SELECT * FROM forecast('CREATE INDEX ON pg_views (viewname)');
SELECT * FROM forecast('REINDEX INDEX data');
SELECT ptsort_forecast(NULL);

-- the owner's expressions run with the owner's rights, and only the owner may
-- write expressions
CREATE ROLE ptsort_owner;
CREATE ROLE ptsort_stranger;
CREATE FUNCTION who(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
'BEGIN IF $1 = 1 THEN RAISE WARNING ''runs as %'', current_user; END IF; RETURN $1; END';
CREATE FUNCTION mischief(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
'BEGIN PERFORM set_config(''role'', ''ptsort_stranger'', false); RETURN $1; END';
GRANT USAGE ON SCHEMA forecast TO ptsort_owner, ptsort_stranger;
ALTER TABLE data OWNER TO ptsort_owner;
SELECT table_name FROM ptsort_forecast('CREATE INDEX ON data (who(id))');
SELECT table_name FROM ptsort_forecast('CREATE INDEX ON data (mischief(id))');
SELECT current_user = session_user AS restored;
SET ROLE ptsort_owner;
SELECT table_name FROM ptsort_forecast('CREATE INDEX ON data (id)');
SELECT index_name FROM ptsort_forecast('REINDEX INDEX data_id');
SET ROLE ptsort_stranger;
SELECT table_name FROM ptsort_forecast('CREATE INDEX ON data (id)');
SELECT table_name FROM ptsort_forecast('ALTER TABLE data ADD UNIQUE (id)');
SELECT table_name FROM ptsort_forecast('REINDEX INDEX data_id');
SELECT table_name FROM ptsort_forecast('REINDEX TABLE data');
SELECT table_name FROM ptsort_forecast('VACUUM FULL data');
RESET ROLE;

DROP SCHEMA forecast CASCADE;
DROP ROLE ptsort_owner, ptsort_stranger;
