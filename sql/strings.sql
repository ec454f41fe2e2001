-- Text that is ordered by its bytes and has common prefixes, as paths have: the
-- sort orders strings with equal words by the bytes after the words.  The index
-- equals the server's; counters show that bytes decide the order without
-- comparisons.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

-- Common prefixes of many lengths, strings that are prefixes of others, bytes
-- above 127, many duplicates, empty strings, nulls, and zero bytes (bytea).
-- One row in 1,000 is compressed in the index.
CREATE TABLE strings AS
SELECT s COLLATE "C" AS t, s::char(60) COLLATE "C" AS c, left(s, 50)::name AS n,
	decode(md5((i % 13)::text), 'hex') || decode(repeat('00', i % 19), 'hex') || convert_to(s, 'UTF8') AS b, i % 3 AS i,
	CASE WHEN i % 1000 = 0 THEN repeat('/usr/share/', 90) ELSE s END COLLATE "C" AS long
FROM generate_series(1, 6000) i,
	LATERAL (SELECT hashint8(i) & 65535 AS h) r,
	LATERAL (SELECT CASE h % 10
		WHEN 0 THEN left('/usr/share/doc/postgresql-doc/html', h / 10 % 35)
		WHEN 1 THEN '/usr/share/doc/' || (h / 10 % 40)
		WHEN 2 THEN repeat('a', h / 10 % 60)
		WHEN 3 THEN 'same same same same'
		WHEN 4 THEN NULL
		WHEN 5 THEN '/usr/share/é' || chr(97 + h / 10 % 400) || h
		ELSE '/usr/share/' || md5((h / 100)::text) || '/' || (i % 50) END AS s) v;
ANALYZE strings;

SELECT what, same('strings', what), same('strings', what, '', 3) AS parallel
FROM unnest(ARRAY['(t)', '(t DESC)', '(t NULLS FIRST)', '(c)', '(c DESC NULLS LAST)', '(n)', '(b)', '(b DESC)', '(t, i)',
	'(i, t DESC)', '(t) INCLUDE (i)', '(t text_pattern_ops)', '(c bpchar_pattern_ops)', '(long)', '(i, long)', '(n, t)',
	'(t, b)', '(lower(t))']) what;
-- the same builds, with a bytewise collation of the C library
SELECT what, same('strings', what), same('strings', what, '', 3) AS parallel
FROM unnest(ARRAY['(t COLLATE "C.utf8")', '(i, t COLLATE "C.utf8" DESC)', '(long COLLATE "C.utf8")']) what;
-- Each string occurs one to five times.  Posting lists begin with tuples
-- already on the page; pages end before, after and within the equal tuples.
-- Long strings leave room in a posting list for a few TIDs, for one, or for
-- none.
CREATE TABLE repeats AS
SELECT md5(g::text) AS t, left(w, 700 + g * 7 % 140) AS long, g % 90 AS few, CASE WHEN g % 4 = 0 THEN NULL ELSE md5((g / 3)::text) END AS n
FROM generate_series(1, 1500) g, LATERAL (SELECT string_agg(md5((g * 100 + j)::text), '') AS w FROM generate_series(1, 27) j) l, generate_series(1, 1 + g % 5);
ANALYZE repeats;
SELECT what, same('repeats', what), same('repeats', what, '', 3) AS parallel
FROM unnest(ARRAY['(t)', '(t DESC) WITH (fillfactor = 100)', '(t COLLATE "C") WITH (fillfactor = 50)', '(long COLLATE "C")', '(long) WITH (fillfactor = 100)',
	'(n)', '(n, t)', '(few, t)', '((few::text))', '(t) WITH (deduplicate_items = off)']) what;
DROP TABLE repeats;
-- the build finds duplicates among equal strings
SELECT what, attempt('CREATE UNIQUE INDEX attempted ON strings ' || what)
FROM unnest(ARRAY['(t) WHERE t = repeat(''a'', 19)', '(n DESC) WHERE t = repeat(''a'', 19)', '(i, t) WHERE i = 1 AND t = repeat(''a'', 20)']) what;
-- builds that spill
SET ptsort_test.spill_entries = 500;
SELECT what, same('strings', what), same('strings', what, '', 3) AS parallel FROM unnest(ARRAY['(t)', '(long DESC)', '(i, t)']) what;
RESET ptsort_test.spill_entries;

-- The second eight bytes distinguish many strings, but not all: some strings
-- end there or have zero bytes there.  (The planner expects three times the
-- real number of rows; with this estimate, keys use second words.)
CREATE TABLE seconds AS
SELECT CASE WHEN i % 100 = 0 THEN NULL ELSE s END COLLATE "C" AS t, convert_to(s, 'UTF8') || decode(repeat('00', i % 5), 'hex') AS b, i % 3 AS i
FROM generate_series(1, 170000) i, LATERAL (SELECT left(translate(md5(i::text), '0123456789', ''), i % 21) || repeat('b', i % 7) AS s) r;
ANALYZE seconds;
UPDATE pg_class SET reltuples = 3 * reltuples WHERE oid = 'seconds'::regclass;
SELECT what, same('seconds', what), same('seconds', what, '', 2) AS parallel
FROM unnest(ARRAY['(t DESC)', '(b)']) what;
SET ptsort_test.spill_entries = 60000;
SELECT what, same('seconds', what), same('seconds', what, '', 2) AS parallel FROM unnest(ARRAY['(t NULLS FIRST)']) what;
RESET ptsort_test.spill_entries;

-- Where the bytes and the heap TID decide the order, the sort makes no
-- comparisons, except a few in small groups.
CREATE FUNCTION strings_compared(columns text) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX strings_i ON strings %s WHERE t IS NOT NULL', columns);
	DROP INDEX strings_i;
	RETURN (SELECT sum(comparisons) / sum(tuples) FROM ptsort_last_build()
		WHERE index_name = 'strings_i' AND participant IS NOT NULL);
END $$;
SELECT what, CASE WHEN c < 0.3 THEN 'few' WHEN c > 1 THEN 'many' ELSE c::text END AS comparisons
FROM unnest(ARRAY['(t)', '(c DESC)', '(n)', '(i, t)', '(t COLLATE "C.utf8")', '(t COLLATE "en_US.utf8", i)']) what, strings_compared(what) c;
-- Words also decide the order in merges, even if keys learned nothing because
-- the planner expected all rows to fit in memory.
CREATE TABLE digests AS SELECT md5(i::text) AS t FROM generate_series(1, 30000) i;
ANALYZE digests;
CREATE FUNCTION digests_compared(columns text) RETURNS text LANGUAGE plpgsql SET ptsort_test.spill_entries = 3000 SET ptsort.parallel_workers = 2
SET max_parallel_maintenance_workers = 2 AS $$
BEGIN
	EXECUTE format('CREATE INDEX digests_i ON digests %s', columns);
	DROP INDEX digests_i;
	RETURN (SELECT CASE WHEN sum(comparisons) < 0.1 * sum(tuples) THEN 'few' ELSE sum(comparisons)::text END || ', runs: ' || (sum(runs) >= 10)
		FROM ptsort_last_build() WHERE index_name = 'digests_i' AND participant IS NOT NULL);
END $$;
SELECT what, digests_compared(what) FROM unnest(ARRAY['(t COLLATE "C")', '(t COLLATE "C.utf8")']) what;

-- sorts of queries, of whole rows and of single values
SET ptsort.min_sort_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION strings_sorted(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text := format('SELECT md5(string_agg(s::text, '','')) FROM (%s OFFSET 0) s', query);
	servers text;
	ours text;
BEGIN
	SET LOCAL ptsort.sort = off;
	EXECUTE digest INTO servers;
	SET LOCAL ptsort.sort = on;
	EXECUTE digest INTO ours;
	RETURN CASE WHEN ours = servers THEN 'same, ' ELSE 'other order, ' END || tuples || ' sorted' FROM ptsort_last_sort();
END $$;
SELECT query, strings_sorted(query)
FROM unnest(ARRAY['SELECT t FROM strings ORDER BY t', 'SELECT t, i, b FROM strings ORDER BY t DESC, i, b', 'SELECT c FROM strings ORDER BY c',
	'SELECT b FROM strings WHERE i < 2 ORDER BY b DESC', 'SELECT i, long FROM strings ORDER BY i, long', 'SELECT n FROM strings ORDER BY n LIMIT 3000']) query;
-- sorts inside aggregates
SELECT md5(string_agg(t, ',' ORDER BY t)) = (SELECT md5(string_agg(t, ',')) FROM (SELECT t FROM strings ORDER BY t OFFSET 0) s) AS same FROM strings;

DROP TABLE strings, seconds;
DROP FUNCTION strings_compared, strings_sorted;
