-- The server discards its relcache entries at every possible moment (if the
-- server has assertions), and ptsort still does every build.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE TABLE caches AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 1000) i;
CREATE FUNCTION built() RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(concat_ws(' ', index_name, role, tuples), ', ' ORDER BY participant) FROM ptsort_last_build() WHERE tuples > 0 AND participant IS NULL);
-- Does another build, so that built() cannot return an older report.
CREATE TABLE caches_other AS SELECT 1 AS a;
CREATE PROCEDURE other_build() LANGUAGE plpgsql AS $$
BEGIN
	CREATE INDEX caches_other_a ON caches_other (a);
	DROP INDEX caches_other_a;
END $$;
SELECT set_config(name, least(max_val::int, 1)::text, false) IN ('0', '1') AS discarding
FROM pg_settings WHERE name = 'debug_discard_caches';
SET max_parallel_maintenance_workers = 2;
CREATE INDEX caches_id ON caches (id);
SELECT built();
CREATE INDEX caches_word ON caches (word) WITH (parallel_workers = 2);
SELECT built();
CREATE UNIQUE INDEX CONCURRENTLY caches_both ON caches (word, id) WITH (parallel_workers = 1);
SELECT built();
CALL other_build();
REINDEX INDEX CONCURRENTLY caches_word;
SELECT built();
ALTER TABLE caches ADD PRIMARY KEY (id) WITH (parallel_workers = 1);
SELECT built();
CREATE INDEX caches_lower ON caches (lower(word)) WHERE id > 100;
SELECT built();
CALL other_build();
REINDEX TABLE caches;
SELECT built();
CALL other_build();
VACUUM FULL caches;
SELECT built();
CALL other_build();
CLUSTER caches USING caches_word;
SELECT built();
CALL other_build();
ALTER TABLE caches ALTER id TYPE bigint;
SELECT built();
SET debug_discard_caches = 0;
SELECT indexrelid::regclass AS index, bt_index_parent_check(indexrelid, true, true) FROM pg_index
WHERE indrelid = 'caches'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
DROP TABLE caches, caches_other;
DROP FUNCTION built;
DROP PROCEDURE other_build;
