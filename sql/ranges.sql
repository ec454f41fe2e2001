-- Sets every numeric setting (of ptsort_test too) and WITH (parallel_workers)
-- to 0, 1, -1, 2^31, 2^62, 2^63 - 1, and the largest int4.  Either the value
-- causes an error, or builds, rebuilds and sorts with the value are right.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_maintenance_workers = 2;
CREATE TABLE ranges (i int, word text COLLATE "en-x-icu") WITH (parallel_workers = 2);
INSERT INTO ranges SELECT i, md5((i % 1000)::text) FROM generate_series(1, 4000) i;
VACUUM ANALYZE ranges;
-- the order in which the server sorts the words
SET ptsort.sort = off;
CREATE TABLE ranges_expected AS SELECT md5(string_agg(word, ',' ORDER BY word)) AS words FROM ranges;
SET ptsort.sort = on;
SET ptsort.min_sort_rows = 0;

-- Returns a digest of the words in order.  The query reads the words through
-- the index, or sorts them.
CREATE FUNCTION ranges_words(by_index bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_sort', (NOT by_index)::text, true), set_config('enable_seqscan', (NOT by_index)::text, true),
		set_config('enable_indexscan', by_index::text, true), set_config('enable_indexonlyscan', by_index::text, true),
		set_config('enable_bitmapscan', 'off', true);
	EXECUTE 'SELECT md5(string_agg(word, '','')) FROM (SELECT word FROM ranges ORDER BY word) w' INTO result;
	RETURN result;
END $$;

-- Builds indexes with these options, rebuilds the indexes, and sorts the words;
-- returns the fault, or ok.
CREATE FUNCTION ranges_build(options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected text := (SELECT words FROM ranges_expected);
BEGIN
	EXECUTE 'CREATE INDEX ranges_word ON ranges (word) ' || options;
	IF ranges_words(true) <> expected THEN
		RETURN 'wrong index';
	END IF;
	EXECUTE 'CREATE INDEX ranges_i ON ranges (i DESC, word) ' || options;
	REINDEX TABLE ranges;
	IF ranges_words(true) <> expected THEN
		RETURN 'wrong index, rebuilt';
	END IF;
	DROP INDEX ranges_word, ranges_i;
	IF ranges_words(false) <> expected THEN
		RETURN 'wrong order';
	END IF;
	RETURN 'ok';
END $$;

-- Calls ranges_build() with a changed setting.  Returns only the SQLSTATE of an
-- error, because messages differ between server versions.  Builds with a rate
-- of 1 kB in a second would take minutes.
CREATE FUNCTION ranges_set(name text, size int8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := current_setting(name);
	result text;
BEGIN
	PERFORM set_config(name, CASE WHEN name ~ '_rate$' AND size = 1 THEN '1MB' ELSE size::text END, true);
	result := ranges_build('');
	PERFORM set_config(name, before, true);
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

CREATE FUNCTION ranges_with(size int8) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN ranges_build(format('WITH (parallel_workers = %s)', size));
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;

CREATE TABLE ranges_sizes (size int8, place serial);
INSERT INTO ranges_sizes VALUES (0), (1), (-1), (2147483647), (2147483648), (4611686018427387904), (9223372036854775807);

-- (ptsort.disk_reserve depends on the machine's disk)
SELECT name, min_val, max_val, string_agg(size::text, ', ' ORDER BY place) AS sizes, result
FROM (SELECT *, ranges_set(name, size) AS result FROM pg_settings, ranges_sizes
	WHERE name ~ '^ptsort(_test)?[.]' AND vartype = 'integer' AND name <> 'ptsort.disk_reserve' OFFSET 0) s
GROUP BY name, min_val, max_val, result ORDER BY name COLLATE "C", min(place);
SELECT name, min_val, max_val, ranges_set(name, size) AS result
FROM pg_settings, unnest(ARRAY[min_val, max_val]::int8[]) size
WHERE name ~ '^ptsort(_test)?[.]' AND vartype = 'integer' AND max_val <> '2147483647'
ORDER BY name COLLATE "C", size;
SELECT string_agg(size::text, ', ' ORDER BY place) AS parallel_workers, result
FROM (SELECT *, ranges_with(size) AS result FROM ranges_sizes OFFSET 0) s
GROUP BY result ORDER BY min(place);

DROP TABLE ranges, ranges_expected, ranges_sizes;
DROP FUNCTION ranges_words, ranges_build, ranges_set, ranges_with;
