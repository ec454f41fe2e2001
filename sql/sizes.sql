-- The size of every index is within one percent of the size of the server's
-- index.  The test builds twelve shapes with one, two and four participants,
-- in memory and with many runs.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_maintenance_workers = 4;

CREATE TABLE sizes AS
SELECT (i * 7919::int8 % 60013)::int4 AS random, i AS ascending, i % 100 AS few, md5(i::text) AS word,
	CASE WHEN i % 10 = 0 THEN i END AS mostly_null, date '2000-01-01' + i % 3000 AS day, i::numeric / 8 AS n
FROM generate_series(1, 50000) i;
DELETE FROM sizes WHERE ascending % 17 = 0;
VACUUM ANALYZE sizes;
CREATE TABLE sizes_wide AS
SELECT i AS id, (SELECT string_agg(md5((i * 100 + j)::text), '') FROM generate_series(1, 78) j) AS wide FROM generate_series(1, 1500) i;
ALTER TABLE sizes_wide ALTER wide SET STORAGE EXTERNAL;
UPDATE sizes_wide SET wide = wide;
VACUUM (FULL, ANALYZE) sizes_wide;

CREATE FUNCTION sizes_pages(tbl text, what text, enable bool, workers int, kb int) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	name text := format('sizes_%s_%s_%s', enable::int, workers, kb);
	pages int8;
BEGIN
	PERFORM set_config('ptsort.enable', enable::text, true),
		set_config('ptsort.parallel_workers', workers::text, true),
		set_config('maintenance_work_mem', kb::text, true);
	EXECUTE format('CREATE INDEX %I ON %s %s', name, tbl, what);
	pages := pg_relation_size(name) / current_setting('block_size')::int;
	IF enable AND (SELECT count(*) FROM ptsort_last_build() WHERE index_name = name AND participant IS NOT NULL) <> workers + 1 THEN
		RAISE EXCEPTION 'built by others';
	END IF;
	EXECUTE format('DROP INDEX %I', name);
	RETURN pages;
END $$;

SELECT name, server > 50 AS large, count(*) AS builds, count(*) FILTER (WHERE abs(ours - server) <= 0.01 * server) AS within
FROM (VALUES
		('random ints', 'sizes', '(random)'),
		('ascending ints', 'sizes', '(ascending)'),
		('low cardinality', 'sizes', '(few)'),
		('text', 'sizes', '(word)'),
		('multi-column', 'sizes', '(few, day DESC, random)'),
		('INCLUDE', 'sizes', '(random) INCLUDE (word, day)'),
		('NULL-heavy', 'sizes', '(mostly_null)'),
		('fillfactor 50', 'sizes', '(random) WITH (fillfactor = 50)'),
		('no deduplication', 'sizes', '(few) WITH (deduplicate_items = off)'),
		('wide', 'sizes_wide', '(wide)'),
		('many keys, a few rows each', 'sizes', '(day)'),
		('numeric', 'sizes', '(n)')) shape (name, tbl, what),
	sizes_pages(tbl, what, false, 0, 65536) server,
	(VALUES (0, 65536), (1, 65536), (3, 65536), (0, 1024), (3, 1024)) o (workers, kb),
	sizes_pages(tbl, what, true, workers, kb) ours
GROUP BY name, server ORDER BY name COLLATE "C";

DROP TABLE sizes, sizes_wide;
DROP FUNCTION sizes_pages;
