-- Passes 0, 1, -1, 2^31, 2^62, 2^63 - 1 and the largest int4 as every number that
-- a caller can pass.  If the number is out of range, an error must state the
-- mistake; otherwise the call must succeed.
\set SHOW_CONTEXT never
SET max_parallel_maintenance_workers = 2;
CREATE TABLE sizes_of (size int8);
INSERT INTO sizes_of VALUES (0), (1), (-1), (2147483647), (2147483648), (4611686018427387904), (9223372036854775807);
CREATE TABLE sizes (k int8);
INSERT INTO sizes SELECT i % 1000 FROM generate_series(1, 5000) i;
CREATE INDEX sizes_k ON sizes (k);

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

-- The public headers.  A block of 2^31 bytes is possible, but this test makes no
-- block of this size.
SELECT argument, string_agg(size::text, ', ' ORDER BY ordinality) AS sizes, result
FROM (SELECT *, sizes_try(format('SELECT ptsort_test_size(%L, %s)', argument, size)) AS result
	FROM unnest(ptsort_test_size_arguments()) WITH ORDINALITY a (argument, place),
		(SELECT size, row_number() OVER () AS ordinality FROM sizes_of) s
	WHERE NOT (argument LIKE '%shared_size%' AND size IN (2147483647, 2147483648))
	OFFSET 0) a
GROUP BY place, argument, result ORDER BY place, min(ordinality);

-- The arguments for amounts of memory and numbers of tuples, in sorts with runs and
-- merges.
SET ptsort_test.spill_entries = 20000;
SELECT argument, string_agg(size::text, ', ' ORDER BY ordinality) AS sizes, result
FROM (SELECT *, sizes_try(format('SELECT ptsort_test_size(%L, %s)', argument, size)) AS result
	FROM unnest(ptsort_test_size_arguments()) WITH ORDINALITY a (argument, place),
		(SELECT size, row_number() OVER () AS ordinality FROM sizes_of) s
	WHERE argument ~ 'budget|expected|bound'
	OFFSET 0) a
GROUP BY place, argument, result ORDER BY place, min(ordinality);
RESET ptsort_test.spill_entries;

-- The functions of ptsort_test.
CREATE TABLE sizes_calls (call text, argument text, place serial);
INSERT INTO sizes_calls (call, argument)
SELECT call, string_to_table(arguments, '; ')
FROM (VALUES
		('tuples FROM ptsort_test_sort(''tuple'', ''shape_int8_i'', %s)', 'n => *'),
		('tuples FROM ptsort_test_sort(''tuple'', ''shape_text_i'', 2000, %s)', 'budget_kb => *; workers => *; shares => ''{*}'', workers => 1, leader_takes_part => false; sorts => *; distinct_keys => *; pattern => ''permuted'', distinct_keys => *; pattern => ''ascending'', distinct_keys => *; null_every => *; width => *; seed => *; pattern => ''permuted'', seed => *; live_rows => *; expected_tuples => *; bound => *'),
		('tuples FROM ptsort_test_sort(''datum'', ''shape_icu_i'', 20000, %s)', 'expected_tuples => *; expected_tuples => *, budget_kb => 1000000; bound => *; budget_kb => *'),
		('tuples > 0 FROM ptsort_test_reset(''tuple'', ''shape_int8_i'', %s)', 'sorts => *, max_n => 500; sorts => 20, max_n => *; sorts => 20, max_n => 500, budget_kb => *; sorts => 20, max_n => 500, bound => *; sorts => 20, max_n => 500, seed => *'),
		('tuples FROM ptsort_test_model(''SELECT k %% 7, k FROM sizes ORDER BY 1, 2'', %s)', 'budget_kb => *; participants => *; seed => *; expected_tuples => *; rounds => *; bound => *'),
		('tuples FROM ptsort_test_server(''sizes_k'', %s)', 'budget_kb => *'),
		('ptsort_test_array(''{3,1,2}''::int[], ''<(int,int)''::regoperator, %s)', 'budget_kb => *'),
		('tuples FROM ptsort_test_reserve(%s)', 'n => *, budget_kb => 1024; n => 1000, budget_kb => *'),
		('tuples FROM ptsort_test_build(''sizes_k'', ''ptsort_test_build_stream'', %s)', 'workers => *; budget_kb => *'),
		('tuples FROM ptsort_test_parallel(NULL, %s)', 'fill => *; fill => 1000, workers => *; fill => 1000, budget_kb => *; fill => 1000, reads => *; fill => 1, reads => *, slices => true'),
		('ptsort_test_file(false, %s)', 'size => *, offsets => ''{0,100}''; size => 100, offsets => ''{0,*}''')
	) c (call, arguments);
SELECT substring(call FROM 'ptsort_test_\w+') AS function, argument,
	string_agg(size::text, ', ' ORDER BY ordinality) AS sizes, result
FROM (SELECT *, sizes_try('SELECT ' || format(call, replace(argument, '*', size::text))) AS result
	FROM sizes_calls, (SELECT size, row_number() OVER () AS ordinality FROM sizes_of) s
	OFFSET 0) a
WHERE result !~ '^42883'	-- an int4 has no such number
GROUP BY place, call, argument, result ORDER BY place, min(ordinality);
SELECT ptsort_test_size('nothing', 1);

DROP TABLE sizes, sizes_of, sizes_calls;
DROP FUNCTION sizes_try;
