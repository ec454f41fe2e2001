-- Several participants write an index; each writes some slices.  Tests the
-- index's contents and size, and later changes.  (sql/slices.sql tests the
-- cuts.)
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
CREATE EXTENSION IF NOT EXISTS pgstattuple;
SET max_parallel_maintenance_workers = 8;

-- One, two, three, four and eight participants write the server's keys and TIDs
-- in the server's order, even if slices end among many equal keys.  (The number
-- of cuts is twice the number of participants, or a prime number.)
CREATE TABLE writers AS
SELECT i * 7919 % 6007 AS k, i / 2100 AS runs, 1 AS one, md5((i % 5000)::text) AS word, nullif(i % 3, 0) AS n
FROM generate_series(0, 5999) i;
DELETE FROM writers WHERE k % 50 = 3;
ANALYZE writers;
CREATE FUNCTION writers_keys(what text, enable bool, participants int, slices int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('ptsort.enable', enable::text, true),
		set_config('ptsort.parallel_workers', (participants - 1)::text, true),
		set_config('ptsort_test.slices', slices::text, true);
	EXECUTE format('CREATE INDEX writers_i ON writers %s', what);
	PERFORM bt_index_parent_check('writers_i', true, true);
	SELECT concat_ws(' ', entries, keys) INTO result FROM tree('writers_i', true);
	IF enable AND (SELECT count(*) FROM ptsort_last_build() WHERE index_name = 'writers_i' AND participant IS NOT NULL) <> participants THEN
		result := 'built by others';
	END IF;
	DROP INDEX writers_i;
	RETURN result;
END $$;
SELECT what, count(*) AS builds, count(*) FILTER (WHERE ours = server) AS same
FROM unnest(ARRAY['(k)', '(runs)', '(one)', '(runs, word DESC)', '(word COLLATE "C")', '(n, runs)', '(runs) WITH (deduplicate_items = off)']) what,
	writers_keys(what, false, 1, 0) server,
	(VALUES (1, 0), (2, 4), (3, 13), (4, 8), (8, 31)) o (participants, slices),
	writers_keys(what, true, participants, slices) ours
GROUP BY what ORDER BY what COLLATE "C";

-- One or many duplicates, at each place relative to a border: the message is
-- the server's
SET ptsort_test.slices = 12;
CREATE TABLE writers_unique AS SELECT i AS a, 'a' || i AS b FROM generate_series(1, 3000) i;
CREATE FUNCTION writers_duplicate(what text, rows text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE 'INSERT INTO writers_unique ' || rows;
	result := attempt('CREATE UNIQUE INDEX attempted ON writers_unique ' || what);
	DELETE FROM writers_unique WHERE ctid >= '(0,1)' AND a IN (SELECT a FROM writers_unique GROUP BY a HAVING count(*) > 1);
	RETURN result;
END $$;
SELECT key, writers_duplicate('(a)', format('VALUES (%s)', key)) FROM generate_series(1, 3000, 375) key;
SELECT writers_duplicate('(b COLLATE "en_US.utf8")', $$VALUES (1500, 'a1500')$$);
SELECT writers_duplicate('((a % 1))', 'VALUES (-1)');
SELECT writers_duplicate('(a)', 'SELECT 1800 FROM generate_series(1, 6000)');

-- The size and the statistics of a large index: participants leave some pages
-- of its file unused, and these pages become deleted pages
SET ptsort_test.slices = 4;
CREATE TABLE writers_large AS
SELECT (i * 7919::int8 % 200003)::int4 AS k, i % 1000 AS few, md5(i::text) AS word FROM generate_series(1, 60000) i;
VACUUM ANALYZE writers_large;
SET ptsort.enable = off;
CREATE INDEX writers_server_word ON writers_large (word);
CREATE INDEX writers_server_few ON writers_large (few);
SET ptsort.enable = on;
SET ptsort.parallel_workers = 3;
CREATE INDEX writers_ours_word ON writers_large (word);
SELECT count(*) FILTER (WHERE participant IS NOT NULL) AS participants,
	sum(pages) FILTER (WHERE participant IS NOT NULL) = pg_relation_size('writers_ours_word') / current_setting('block_size')::int AS pages
FROM ptsort_last_build();
CREATE INDEX writers_ours_few ON writers_large (few);
CREATE VIEW writers_sizes AS
SELECT name,
	abs(o.index_size - s.index_size) <= 0.01 * s.index_size + 4 * 64 * current_setting('block_size')::int AS size,
	o.tree_level = s.tree_level AS level,
	abs(o.leaf_pages - s.leaf_pages) <= 0.01 * s.leaf_pages + 4 AS leaves,
	abs(o.internal_pages - s.internal_pages) <= 1 AS internal,
	o.empty_pages AS empty,
	o.deleted_pages <= 0.01 * s.leaf_pages + 4 AS deleted,
	abs(o.avg_leaf_density - s.avg_leaf_density) < 10 AS density
FROM unnest('{word,few}'::text[]) name, pgstatindex('writers_ours_' || name) o, pgstatindex('writers_server_' || name) s;
SELECT * FROM writers_sizes;

-- Later changes: rows change, pages split and become empty, VACUUM runs
CREATE FUNCTION writers_sound() RETURNS text LANGUAGE plpgsql SET enable_bitmapscan = off AS $$
DECLARE
	name text;
	entries int8;
	visible int8 := (SELECT count(*) FROM writers_large);
BEGIN
	SET LOCAL enable_seqscan = off;
	FOREACH name IN ARRAY '{word,few}'::text[] LOOP
		PERFORM bt_index_parent_check(('writers_ours_' || name)::regclass, true, true);
		EXECUTE format('SELECT count(*) FROM (SELECT %I FROM writers_large WHERE %1$I IS NOT NULL ORDER BY %1$I OFFSET 0) s', name) INTO entries;
		IF entries <> visible THEN
			RETURN format('%s: %s of %s rows', name, entries, visible);
		END IF;
	END LOOP;
	RETURN 'sound';
END $$;
DROP INDEX writers_server_word, writers_server_few;
SELECT writers_sound() AS built;
INSERT INTO writers_large SELECT i, i % 1500, md5(i::text) FROM generate_series(100001, 130000) i;
SELECT writers_sound() AS splits;
INSERT INTO writers_large SELECT 5, 500, md5('5') FROM generate_series(1, 5000) i;
SELECT writers_sound() AS equal_keys;
DELETE FROM writers_large WHERE k % 3 = 0;
UPDATE writers_large SET few = few + 1, word = 'x' || word WHERE k % 7 = 1;
SELECT writers_sound() AS changes;
VACUUM writers_large;
SELECT writers_sound() AS vacuum;
DELETE FROM writers_large WHERE word > '8' OR few BETWEEN 300 AND 700;
VACUUM writers_large;
VACUUM writers_large;
SELECT writers_sound() AS empty_pages, deleted_pages > 20 AS deleted FROM pgstatindex('writers_ours_word');
INSERT INTO writers_large SELECT i, i % 1000, md5(i::text) FROM generate_series(200001, 260000) i;
SELECT writers_sound() AS refilled;
REINDEX TABLE writers_large;
SELECT writers_sound() AS rebuilt;

DROP VIEW writers_sizes;
DROP TABLE writers, writers_unique, writers_large;
DROP FUNCTION writers_keys, writers_duplicate, writers_sound;
