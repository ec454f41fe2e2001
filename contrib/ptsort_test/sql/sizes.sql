-- Passes 0, 1, -1, 2^31, 2^62, 2^63 - 1 and the largest int4 as every number that
-- a caller can pass.  If the number is out of range, an error must state the
-- mistake; otherwise the call must succeed.
\set SHOW_CONTEXT never
SET max_parallel_maintenance_workers = 2;
CREATE TABLE sizes_of (size int8);
INSERT INTO sizes_of VALUES (0), (1), (-1), (2147483647), (2147483648), (4611686018427387904), (9223372036854775807);

-- Runs a query that returns a text; returns the text or the error.
CREATE FUNCTION sizes_try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;

-- The public headers.  In the results, N stands for the number.  A block of 2^31
-- bytes is possible, but this test makes no block of this size.
SELECT argument, string_agg(size::text, ', ' ORDER BY ordinality) AS sizes, result
FROM (SELECT *, regexp_replace(sizes_try(format('SELECT ptsort_test_size(%L, %s)', argument, size)), ' (-1|0|1|\d{10,})\M', ' N') AS result
	FROM unnest(ptsort_test_size_arguments()) WITH ORDINALITY a (argument, place),
		(SELECT size, row_number() OVER () AS ordinality FROM sizes_of) s
	WHERE NOT (argument LIKE '%shared_size%' AND size IN (2147483647, 2147483648))
	OFFSET 0) a
WHERE result <> 'not a number of this type'
GROUP BY place, argument, result ORDER BY place, min(ordinality);

-- The arguments for amounts of memory and numbers of tuples, in sorts with runs and
-- merges.
SET ptsort_test.spill_entries = 20000;
SELECT count(*) AS calls, string_agg(concat_ws(' ', argument, size, result), '; ') FILTER (WHERE (result = 'ok') <> (size >= 0)) AS wrong
FROM (SELECT *, sizes_try(format('SELECT ptsort_test_size(%L, %s)', argument, size)) AS result
	FROM unnest(ptsort_test_size_arguments()) argument, sizes_of
	WHERE argument ~ 'budget|expected|bound'
	OFFSET 0) a;
RESET ptsort_test.spill_entries;
DROP TABLE sizes_of;
DROP FUNCTION sizes_try;
