-- Tests which query sorts ptsort does, and which it leaves to the server.  No
-- other part of a query changes.  (The fuzzer in contrib/fuzz checks the
-- queries' rows.)
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_incremental_sort = off;

-- before the first sort
SELECT * FROM ptsort_last_sort();

CREATE TABLE queries (id int, n int, big numeric, c text COLLATE "C", t text COLLATE "en-x-icu", p point);
INSERT INTO queries SELECT i, i * 7919 % 100, i::numeric / 7, md5(i::text), md5((i % 100)::text), point(i, 1)
FROM generate_series(1, 1000) i;
ANALYZE queries;

\i :source/sql/include/mark.sql
-- Runs a query.  Returns data from ptsort's report, or 'the server' if the
-- server did the sort.
CREATE FUNCTION taken(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM mark();
	EXECUTE query;
	RETURN (SELECT CASE WHEN keys = 7 THEN 'the server' ELSE format('ptsort: keys %s, tuples %s, sorts %s, %s', keys, tuples, sorts, method) END
		FROM ptsort_last_sort());
END $$;

-- off by default
SHOW ptsort.sort;
SHOW ptsort.min_sort_rows;
SELECT taken('SELECT * FROM queries ORDER BY t');

-- text: only sorts whose first key is text in a collation that is not bytewise
SET ptsort.sort = text;
SET ptsort.min_sort_rows = 0;
-- ICU: ptsort does small sorts only after the session read the collation's
-- tables
SELECT taken('SELECT * FROM queries ORDER BY t');
SELECT count(*) FROM (SELECT md5(i::text) COLLATE "en-x-icu" AS t FROM generate_series(1, 30000) i ORDER BY t OFFSET 0) s;
SELECT key, taken(format('SELECT * FROM queries ORDER BY %s', key))
FROM unnest(ARRAY['t', 't DESC, id', 't::varchar', 't::char(10)', 'lower(t)', 't COLLATE "C"', 'c', 'c COLLATE "en-x-icu"', 'n', 'n, t', 't USING ~<~']) key;
-- on: all sorts by types that have words
SET ptsort.sort = on;
SELECT key, taken(format('SELECT * FROM queries ORDER BY %s', key))
FROM unnest(ARRAY['t', 'c', 'n', 'n DESC NULLS LAST, t', 'big', 'id::int8', 'id::float8', 't USING ~<~', 'md5(t)::uuid', 'ctid', 'id = 5']) key;
-- types without words: a sort by ptsort would not pay off
SELECT key, taken(format('SELECT * FROM queries ORDER BY %s', key))
FROM unnest(ARRAY['ROW(n, t)', 'ARRAY[n, id]', 'int4range(n, id + 1000)', 'to_tsvector(''simple'', t)']) key;

-- the expected number of rows decides
SET ptsort.min_sort_rows = 1001;
SELECT taken('SELECT * FROM queries ORDER BY n');
SET ptsort.min_sort_rows = 1000;
SELECT taken('SELECT * FROM queries ORDER BY n');
SET ptsort.min_sort_rows = 0;
-- less memory than ptsort needs
SET work_mem = '1023kB';
SELECT taken('SELECT * FROM queries ORDER BY n');
SET work_mem = '1MB';
SELECT taken('SELECT * FROM queries ORDER BY n');
RESET work_mem;

-- kinds of queries
SELECT what, taken(query) FROM (VALUES
	('values', 'SELECT n FROM queries ORDER BY n'),
	('no column', 'SELECT FROM queries ORDER BY random()'),
	('top N', 'SELECT * FROM queries ORDER BY t LIMIT 10'),
	('top N with OFFSET', 'SELECT * FROM queries ORDER BY t OFFSET 7 LIMIT 10'),
	('with ties', 'SELECT * FROM queries ORDER BY t FETCH FIRST 10 ROWS WITH TIES'),
	('spilled', 'SELECT * FROM queries, generate_series(1, 30) ORDER BY t, big'),
	('GROUP BY', 'SELECT t, count(*) FROM queries GROUP BY t'),
	('DISTINCT', 'SELECT DISTINCT t FROM queries'),
	('DISTINCT ON', 'SELECT DISTINCT ON (t) t, id FROM queries ORDER BY t, id'),
	('window', 'SELECT rank() OVER (PARTITION BY n ORDER BY t) FROM queries'),
	('CTE', 'WITH w AS MATERIALIZED (SELECT * FROM queries ORDER BY n) SELECT count(*) FROM w'),
	('scalar subquery', 'SELECT (SELECT id FROM queries ORDER BY t LIMIT 1) FROM queries'),
	('correlated subquery', 'SELECT (SELECT id FROM queries b WHERE b.n = a.n ORDER BY t LIMIT 1) FROM queries a WHERE id <= 10'),
	('other bounds', 'SELECT (SELECT id FROM queries b WHERE b.n = a.n ORDER BY t OFFSET a.id LIMIT 1) FROM queries a WHERE id <= 3'),
	('CREATE TABLE AS', 'CREATE TABLE queries_as AS SELECT * FROM queries ORDER BY t'),
	('INSERT', 'INSERT INTO queries_as SELECT * FROM queries ORDER BY t'),
	('FOR UPDATE', 'SELECT * FROM queries ORDER BY t FOR UPDATE')) v (what, query);
DROP TABLE queries_as;
-- (the number of sorts depends on the server's version)
SELECT what, left(taken(query), 14) FROM (VALUES
	('UNION', 'SELECT n FROM queries UNION SELECT id FROM queries'),
	('EXCEPT', 'SELECT n, t FROM queries EXCEPT SELECT id, t FROM queries')) v (what, query);
-- with duplicates, a merge join makes its inner sort go back to earlier rows,
-- unless a Materialize node goes back instead
SET enable_material = off;
SELECT taken('SELECT count(*) FROM (SELECT * FROM queries WHERE id > 990) a JOIN queries b USING (n)');
RESET enable_material;
-- scans of several partitions share a subplan
CREATE TABLE queries_parted (id int, n int) PARTITION BY HASH (id);
CREATE TABLE queries_part_1 PARTITION OF queries_parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE queries_part_2 PARTITION OF queries_parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO queries_parted SELECT id, n FROM queries;
ANALYZE queries_parted;
SELECT taken('SELECT (SELECT b.id FROM queries b WHERE b.n = a.n ORDER BY ROW(t) LIMIT 1) FROM queries_parted a WHERE id <= 10');
SELECT taken('SELECT (SELECT b.id FROM queries b WHERE b.n = a.n ORDER BY t LIMIT 1) FROM queries_parted a WHERE id <= 10');
SELECT count(*) FROM (SELECT (SELECT b.id FROM queries b WHERE b.n = a.n ORDER BY t, id LIMIT 1) AS x, n FROM queries_parted a) s
WHERE x IS DISTINCT FROM (SELECT min(id) FROM queries b WHERE b.n = s.n AND t = (SELECT min(t) FROM queries c WHERE c.n = s.n));
-- the server does the sorts inside nodes other than Sort
SET enable_incremental_sort = on;
CREATE INDEX queries_n ON queries (n);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM queries ORDER BY n, t;
SELECT taken('SELECT * FROM queries ORDER BY n, t');
RESET enable_seqscan;
DROP INDEX queries_n;
SET enable_incremental_sort = off;
SELECT taken('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM queries');

-- cursors: the server sorts for cursors that may scroll backward
BEGIN;
SELECT FROM mark();
DECLARE s SCROLL CURSOR FOR SELECT t FROM queries ORDER BY t;
FETCH LAST FROM s;
CLOSE s;
DECLARE d CURSOR FOR SELECT t FROM queries ORDER BY t;
FETCH 1 FROM d;
CLOSE d;
SELECT keys = 7 AS the_servers FROM ptsort_last_sort();
DECLARE c NO SCROLL CURSOR FOR SELECT id, t FROM queries ORDER BY t, id;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT id, t FROM queries ORDER BY t DESC, id DESC LIMIT 3;
FETCH 2 FROM c;
FETCH PRIOR FROM c;
ROLLBACK;
BEGIN;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT id, t FROM queries ORDER BY t DESC, id DESC LIMIT 3;
FETCH 1 FROM h;
COMMIT;
SELECT keys, tuples, sorts FROM ptsort_last_sort();
FETCH ALL FROM h;
CLOSE h;

-- EXPLAIN shows the server's plans.  EXPLAIN ANALYZE shows a line of ptsort if
-- the server has a hook for such lines, and never shows a wrong line.
EXPLAIN (COSTS OFF) SELECT n, t FROM queries ORDER BY t, n DESC LIMIT 5;
CREATE FUNCTION explained(query text, format text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	PERFORM mark();
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT %s) %s', format, query) LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN format('%s sorted %s rows; %s', CASE WHEN (SELECT keys = 7 FROM ptsort_last_sort()) THEN 'the server' ELSE 'ptsort' END,
		substring(plan, '(?i)actual.rows[^0-9]*([0-9]+)'),
		CASE WHEN plan !~* 'sort.method|Memory|Disk' THEN 'right'
			WHEN plan ~ 'Sort.Method' AND plan ~ '(in-memory|top-N) sort by ptsort' AND current_setting('server_version_num')::int >= 180000 THEN 'right'
			ELSE plan END);
END $$;
SELECT format, explained('SELECT n, t FROM queries ORDER BY t, n DESC', format), explained('SELECT n FROM queries ORDER BY n LIMIT 5', format)
FROM unnest(ARRAY['text', 'xml', 'json', 'yaml']) format;

-- Gather Merge: workers sort, and the rows must be in the right order
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT id, t FROM queries ORDER BY t, id;
SELECT FROM mark();
SELECT count(*), count(*) FILTER (WHERE id < before) AS wrong
FROM (SELECT id, t, lag(id) OVER (PARTITION BY t ORDER BY r) AS before FROM
	(SELECT id, t, row_number() OVER () AS r FROM (SELECT id, t FROM queries ORDER BY t, id OFFSET 0) s) s) s;
ROLLBACK;

-- a prepared statement: one generic plan with different limits
SET plan_cache_mode = force_generic_plan;
PREPARE q (int) AS SELECT id FROM queries ORDER BY t, id LIMIT $1;
EXECUTE q (2);
SELECT keys, tuples, method FROM ptsort_last_sort();
EXECUTE q (3);
EXECUTE q (0);
EXECUTE q (NULL) \g /dev/null
SELECT keys, tuples, method FROM ptsort_last_sort();
RESET plan_cache_mode;
-- a query uses the value that ptsort.sort has when the query starts
SET ptsort.sort = off;
SELECT FROM mark();
EXECUTE q (2);
SELECT keys FROM ptsort_last_sort();
SET ptsort.sort = on;

-- top N by a number and text, descending: the sort returns the server's rows,
-- although its keys do not learn from the text
CREATE TABLE queries_top AS SELECT i AS id, CASE WHEN i % 50 = 0 THEN i END AS n, md5(i::text) COLLATE "en-x-icu" AS t FROM generate_series(1, 1500) i;
ANALYZE queries_top;
SET ptsort.sort = off;
CREATE TEMPORARY TABLE top_server AS SELECT id FROM queries_top ORDER BY n DESC NULLS FIRST, t DESC LIMIT 50;
SET ptsort.sort = on;
CREATE TEMPORARY TABLE top_ours AS SELECT id FROM queries_top ORDER BY n DESC NULLS FIRST, t DESC LIMIT 50;
SELECT keys, tuples, method FROM ptsort_last_sort();
SELECT count(*) FROM (TABLE top_server EXCEPT ALL TABLE top_ours) s;
DROP TABLE queries_top, top_server, top_ours;

-- Few rows of text in an ICU collation, after the session read the collation's
-- tables.  The first rows have a common prefix: the sort compares strings
-- instead of using words, even if later rows lack the prefix.
CREATE TABLE queries_alike AS SELECT i AS id, CASE WHEN i % 9 > 0 THEN CASE WHEN i <= 60 THEN 'https://www.example.com/' ELSE '' END || md5(i::text) END COLLATE "en-x-icu" AS t FROM generate_series(1, 500) i;
ANALYZE queries_alike;
CREATE FUNCTION ids(query text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	result int[];
BEGIN
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION servers_ids(query text) RETURNS int[] LANGUAGE plpgsql
	SET ptsort.sort = off AS $$ BEGIN RETURN ids(query); END $$;
CREATE FUNCTION has_compared() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT comparisons > 1000 FROM ptsort_last_sort()); END $$;
SELECT query, ids(query) = servers_ids(query) AS same, has_compared()
FROM unnest(ARRAY['SELECT * FROM queries_alike ORDER BY t, id', 'SELECT * FROM queries_alike ORDER BY t DESC, id', 'SELECT * FROM queries_alike ORDER BY t NULLS FIRST, id',
	'SELECT * FROM queries_alike ORDER BY t, id LIMIT 100', 'SELECT * FROM queries_alike ORDER BY id % 3, t, id',
	'SELECT * FROM queries_alike WHERE id > 60 ORDER BY t, id']) query;
DROP FUNCTION ids, servers_ids, has_compared;
DROP TABLE queries_alike;

-- a column without a comparison function; earlier columns distinguish the rows
SELECT count(*) FROM (SELECT * FROM queries ORDER BY id * 7919 % 1009, ('x' || id - id)::text COLLATE "C", ROW('{}'::json, id) OFFSET 0) s;
-- more columns than ptsort packs
SELECT taken('SELECT * FROM queries ORDER BY ' || string_agg(format('id %% %s = 0', i), ', ') || ', big') FROM generate_series(2, 64) i;

-- errors
SELECT n FROM queries ORDER BY 1 / (id - 700);
SELECT keys, tuples FROM ptsort_last_sort();
SELECT taken('SELECT * FROM queries ORDER BY n');

-- only the user who ran the sort sees the report; DISCARD ALL removes it
CREATE ROLE regress_queries;
SET ROLE regress_queries;
SELECT count(*) FROM ptsort_last_sort();
RESET ROLE;
SELECT count(*) FROM ptsort_last_sort();
DROP ROLE regress_queries;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'ptsort%';
DROP FUNCTION taken, explained, mark;
DROP TABLE queries, queries_parted;
DISCARD ALL;
LOAD 'ptsort';
SELECT count(*) FROM ptsort_last_sort();
