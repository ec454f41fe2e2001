-- Keys that repeat take at most two comparisons a row, in memory and in runs,
-- and rows with equal keys come out in the order in which the sort read them.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET ptsort.sort = on;
SET ptsort.min_sort_rows = 0;

-- the session reads the tables of the collation; otherwise the server would
-- sort small inputs
SELECT count(*) FROM (SELECT md5(i::text) COLLATE "en-x-icu" AS t FROM generate_series(1, 30000) i ORDER BY t OFFSET 0) s;

-- Text that words distinguish, text whose common prefix is longer than a word,
-- and types whose words decide the order.  In part 6, only the last rows have
-- more than 3 different values.
CREATE TABLE few AS
SELECT i AS id, n, p,
	('v' || v) COLLATE "en-x-icu" AS word,
	(repeat('the same beginning, ', 4) || v) COLLATE "en-x-icu" AS long,
	(repeat('the same beginning, ', 4) || v) COLLATE "C" AS bytes,
	v::numeric AS big,
	v AS num,
	CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 ELSE v END AS ends
FROM (VALUES (1, 1), (2, 2), (3, 10), (4, 250), (5, 3), (6, 3)) parts(p, n), generate_series(1, 20000) i,
	LATERAL (SELECT i * 7919::int8 % CASE WHEN p = 6 AND i > 19900 THEN 90 ELSE n END AS v) v;
ANALYZE few;

-- Sorts a part of the table.  Returns the number of rows, 'memory' or 'runs',
-- and the number of comparisons a row.
CREATE FUNCTION sort_few(part int, keys text, memory text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	last record;
BEGIN
	PERFORM set_config('work_mem', memory, true);
	EXECUTE format('SELECT count(*) FROM (SELECT * FROM few WHERE p = %2$s ORDER BY %1$s OFFSET 0) s', keys, part);
	SELECT * INTO last FROM ptsort_last_sort();
	RETURN format('%s rows, %s, %s', last.tuples, CASE WHEN last.runs > 0 THEN 'runs' ELSE 'memory' END,
		CASE WHEN last.comparisons <= 2 * last.tuples THEN 'at most 2 comparisons a row'
			ELSE round(last.comparisons / last.tuples::numeric, 1) || ' comparisons a row' END);
END $$;
SELECT p, keys, memory, sort_few(p, keys, memory)
FROM generate_series(1, 5) p, unnest(ARRAY['word', 'bytes', 'big', 'num', 'word, num']) keys,
	unnest(ARRAY['64MB', '1MB']) memory
ORDER BY keys, memory, p;
-- keys that words do not distinguish: comparisons find the different values
SELECT p, memory, sort_few(p, 'long', memory)
FROM unnest(ARRAY[1, 2, 5]) p, unnest(ARRAY['64MB', '1MB']) memory
ORDER BY memory, p;

-- rows with equal keys keep their input order
CREATE FUNCTION came_in_order(part int, keys text, memory text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	sorted int[];
	expected int[];
BEGIN
	PERFORM set_config('work_mem', memory, true);
	PERFORM set_config('ptsort.sort', 'on', true);
	EXECUTE format('SELECT array(SELECT id FROM (SELECT id FROM few WHERE p = %2$s ORDER BY %1$s OFFSET 0) s)',
		keys, part) INTO sorted;
	PERFORM set_config('ptsort.sort', 'off', true);
	EXECUTE format('SELECT array(SELECT id FROM (SELECT id FROM few WHERE p = %2$s ORDER BY %1$s, id OFFSET 0) s)',
		keys, part) INTO expected;
	RETURN sorted = expected;
END $$;
SELECT p, keys, memory
FROM generate_series(1, 6) p, unnest(ARRAY['word', 'long', 'bytes', 'big', 'num', 'ends', 'ends DESC']) keys,
	unnest(ARRAY['64MB', '1MB']) memory
WHERE NOT came_in_order(p, keys, memory);

-- sorts that return only the first rows
CREATE FUNCTION first_few(part int, keys text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	last record;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT * FROM few WHERE p = %2$s ORDER BY %1$s LIMIT 1000) s', keys, part);
	SELECT * INTO last FROM ptsort_last_sort();
	RETURN CASE WHEN last.comparisons <= 2 * 20000 THEN 'at most 2' ELSE (last.comparisons / 20000.0)::text END;
END $$;
SELECT first_few(p, keys) AS comparisons, count(*)
FROM generate_series(1, 3) p, unnest(ARRAY['word', 'long', 'bytes', 'big', 'num', 'word, num']) keys
GROUP BY 1;

CREATE EXTENSION IF NOT EXISTS amcheck;
-- Builds, in which TIDs decide between equal keys.  (learn_tuples lets keys
-- learn from any number of rows, even if the process did not read ICU's tables
-- before.)
SET ptsort_test.learn_tuples = 0;
SET max_parallel_maintenance_workers = 4;
CREATE FUNCTION build_few(part int, keys text, kb int, workers int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ratio numeric;
BEGIN
	PERFORM set_config('maintenance_work_mem', kb::text, true), set_config('ptsort.parallel_workers', workers::text, true);
	EXECUTE format('CREATE INDEX few_i ON few (%s) WHERE p = %s', keys, part);
	PERFORM bt_index_parent_check('few_i', true, true);
	SELECT round(sum(comparisons) / sum(tuples), 1) INTO ratio FROM ptsort_last_build()
	WHERE index_name = 'few_i' AND participant IS NOT NULL;
	DROP INDEX few_i;
	RETURN CASE WHEN ratio <= 2 THEN 'at most 2' ELSE ratio::text END;
END $$;
SELECT build_few(p, keys, kb, workers) AS comparisons, count(*)
FROM generate_series(2, 3) p, unnest(ARRAY['word', 'long', 'big', 'num, long']) keys,
	unnest(ARRAY[65536, 1024]) kb, unnest(ARRAY[0, 2]) workers
GROUP BY 1 ORDER BY 1;
-- two keys that words do not distinguish
SELECT build_few(2, keys, kb, workers) AS comparisons, count(*)
FROM unnest(ARRAY['left(long, 60), big', 'left(long, 60), word']) keys,
	unnest(ARRAY[65536, 1024]) kb, unnest(ARRAY[0, 2]) workers
GROUP BY 1 ORDER BY 1;
DROP TABLE few;
DROP FUNCTION sort_few, came_in_order, first_few, build_few;
