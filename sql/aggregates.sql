-- Sorts for aggregates with ORDER BY or DISTINCT inside.  Since PostgreSQL
-- 16, a Sort node below the Aggregate node sorts the rows in the order of one of
-- the aggregates, and ptsort performs the sort of that node.  In 15 the plans
-- have no such node (aggregates_1.out).  The server does the sorts
-- inside Aggregate nodes in all versions.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_hashagg = off;
SET enable_incremental_sort = off;
SET ptsort.min_sort_rows = 0;
CREATE TABLE aggregates (id int, n int, big numeric, c text COLLATE "C", t text COLLATE "en-x-icu");
INSERT INTO aggregates SELECT i, i * 7919 % 100, i::numeric / 7, md5(i::text), CASE WHEN i % 9 > 0 THEN md5((i % 100)::text) END
FROM generate_series(1, 1000) i;
ANALYZE aggregates;

\i :source/sql/include/mark.sql
-- Runs a query with ptsort.sort off, then with the session's value.  Returns the
-- number of rows that ptsort sorted, or 'the server', and the keys of the plan's
-- Sort nodes.
CREATE FUNCTION taken(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	keys text := '';
	mode text := current_setting('ptsort.sort');
	servers text;
	ours text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		keys := keys || coalesce('; ' || substring(line, '(?:Sort|Presorted) Key: .*'), '');
	END LOOP;
	SET LOCAL ptsort.sort = off;
	EXECUTE format('SELECT array_agg(s::text)::text FROM (%s) s', query) INTO servers;
	PERFORM mark(), set_config('ptsort.sort', mode, true);
	EXECUTE format('SELECT array_agg(s::text)::text FROM (%s) s', query) INTO ours;
	IF ours IS DISTINCT FROM servers THEN
		RAISE 'the server: %, ptsort: %', left(servers, 1000), left(ours, 1000);
	END IF;
	RETURN (SELECT CASE WHEN s.keys = 7 THEN 'the server' ELSE format('ptsort: %s rows, %s', tuples, method) END
		FROM ptsort_last_sort() s) || keys;
END $$;
-- ptsort does small sorts of text in an ICU collation only after the session
-- read the collation's tables
SET ptsort.sort = text;
SELECT count(*) FROM (SELECT md5(i::text) COLLATE "en-x-icu" AS t FROM generate_series(1, 30000) i ORDER BY t OFFSET 0) s;

-- 15: the server does these sorts inside Aggregate nodes
SELECT current_setting('server_version_num')::int < 160000 AS old \gset
\if :old
SELECT taken(format('SELECT count(DISTINCT t), string_agg(t, '','' ORDER BY t), count(DISTINCT n), json_agg(id ORDER BY n, id) FROM aggregates%s', clause))
FROM unnest(ARRAY['', ' GROUP BY t', ' WHERE id > 500']) clause;
DROP FUNCTION taken, mark;
DROP TABLE aggregates;
\quit
\endif

-- text: the first key decides whether ptsort does the sort; with GROUP BY, this
-- key is the first column of GROUP BY
SELECT what, taken(format('SELECT %s FROM aggregates', what))
FROM unnest(ARRAY['count(DISTINCT t)', 'string_agg(t, '','' ORDER BY t)', 'array_agg(t ORDER BY t DESC)', 'string_agg(DISTINCT t, '','')',
	'array_agg(id ORDER BY t, id)', 'count(DISTINCT lower(t))', 'count(DISTINCT n)', 'array_agg(t ORDER BY n, t)', 'count(DISTINCT c)']) what;
SELECT what, taken(format('SELECT %s FROM aggregates GROUP BY t', what)) FROM unnest(ARRAY['count(DISTINCT n)', 'array_agg(id ORDER BY id)', 'count(*)']) what;
SELECT taken('SELECT count(DISTINCT t) FROM aggregates GROUP BY n');

-- on
SET ptsort.sort = on;
SELECT what, taken(format('SELECT %s FROM aggregates', what))
FROM unnest(ARRAY['count(DISTINCT n)', 'sum(DISTINCT big)', 'count(DISTINCT c)', 'array_agg(t ORDER BY n, t)', 'string_agg(c, '','' ORDER BY big DESC)',
	'json_agg(id ORDER BY n, id)', 'count(DISTINCT (n, t))']) what;
SELECT taken('SELECT n, count(DISTINCT t) FROM aggregates GROUP BY n');
SELECT taken('SELECT n, string_agg(c, '','' ORDER BY c) FROM aggregates GROUP BY n HAVING count(*) > 5');
SELECT taken('SELECT a.n, count(DISTINCT b.t) FROM aggregates a JOIN aggregates b USING (id) WHERE a.id <= 500 GROUP BY a.n');
-- one sort for each outer row
SELECT taken('SELECT id, (SELECT string_agg(b.c, '','' ORDER BY b.c) FROM aggregates b WHERE b.n = a.n) FROM aggregates a WHERE id <= 10');
SELECT sorts FROM ptsort_last_sort();

-- several orders: the planner sorts by the order that serves the most
-- aggregates; of orders that serve equally many aggregates, the planner uses
-- the first
SELECT what, taken(format('SELECT %s FROM aggregates', what))
FROM unnest(ARRAY['count(DISTINCT t), count(DISTINCT n)', 'count(DISTINCT n), count(DISTINCT t)',
	'count(DISTINCT n), count(DISTINCT t), string_agg(t, '','' ORDER BY t)', 'string_agg(t, '','' ORDER BY t), array_agg(id ORDER BY t, id)',
	'count(*), count(DISTINCT t), max(n)']) what;
-- FILTER: the planner sorts all rows
SELECT what, taken(format('SELECT %s FROM aggregates', what))
FROM unnest(ARRAY['count(DISTINCT t) FILTER (WHERE id > 500)', 'array_agg(id ORDER BY n, id) FILTER (WHERE id > 500), count(DISTINCT t)']) what;
SELECT taken('SELECT count(DISTINCT t) FROM aggregates WHERE id > 500');
-- no Sort node for ordered-set aggregates and volatile keys; with grouping sets,
-- a Sort node only for the groups
SELECT what, taken(format('SELECT %s FROM aggregates', what))
FROM unnest(ARRAY['percentile_cont(0.5) WITHIN GROUP (ORDER BY n)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY t)', 'mode() WITHIN GROUP (ORDER BY t)',
	'rank(50) WITHIN GROUP (ORDER BY n)', 'count(DISTINCT n + random() * 0)', 'mode() WITHIN GROUP (ORDER BY t), count(DISTINCT t)']) what;
SELECT taken('SELECT n, t, count(DISTINCT id) FROM aggregates GROUP BY ROLLUP (n, t)');
-- fewer rows than ptsort.min_sort_rows
SET ptsort.min_sort_rows = 1001;
SELECT taken('SELECT count(DISTINCT t) FROM aggregates');
SET ptsort.min_sort_rows = 0;

-- input in the right order, and Incremental Sort
CREATE INDEX aggregates_n ON aggregates (n);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT taken('SELECT count(DISTINCT n) FROM aggregates');
SELECT taken('SELECT array_agg(id ORDER BY n, id) FROM aggregates');
SET enable_incremental_sort = on;
SELECT taken('SELECT array_agg(id ORDER BY n, id) FROM aggregates');
SELECT taken('SELECT n, count(DISTINCT t) FROM aggregates GROUP BY n');
SET enable_incremental_sort = off;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX aggregates_n;

-- the planner's setting
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate';
SELECT taken('SELECT count(DISTINCT t) FROM aggregates');
SELECT taken('SELECT t, count(DISTINCT n) FROM aggregates GROUP BY t');
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate';

-- errors in the keys, in the rows and in the aggregate
SELECT count(DISTINCT 1 / (id - 700)) FROM aggregates;
SELECT sum(1 / (id - 700) ORDER BY t) FROM aggregates;
SELECT taken('SELECT count(DISTINCT t) FROM aggregates');
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'ptsort%';
DROP FUNCTION taken, mark;
DROP TABLE aggregates;
