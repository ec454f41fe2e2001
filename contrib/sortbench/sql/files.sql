-- Sorts with several files: consecutive inputs, and outputs for ranges of the
-- result.  With direct output, all outputs except the last have whole blocks.
SELECT count(try(format($$SELECT sortbench_generate('@in%s@', %s, %s)$$, i, n, i * 10000))) FROM (VALUES (1, 3000), (2, 0), (3, 1), (4, 7000)) f(i, n);
CREATE TABLE expected AS SELECT md5(string_agg(record, '' ORDER BY substr(record, 1, 10), i, n)) AS digest FROM generate_series(1, 4) i, records('in' || i);
SELECT try($$SELECT * FROM sortbench_validate('{@in1@,@in2@,@in3@,@in4@}')$$);
CREATE FUNCTION three_outputs() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	sizes text;
	whole bytea;
BEGIN
	SELECT string_agg(length(file)::text, ' ' ORDER BY f), string_agg(file, '' ORDER BY f)
	FROM unnest('{a,b,c}'::text[]) f, pg_read_binary_file(place(f)) file INTO sizes, whole;
	RETURN sizes || CASE WHEN md5(whole) = (SELECT digest FROM expected) THEN ', right' ELSE ', WRONG' END;
END $$;
SELECT passes, direct, try(format($$SELECT s.records, s.bytes FROM sortbench_sort('{@in1@,@in2@,@in3@,@in4@}', '{@a@,@b@,@c@}', 2, passes => %s, overwrite => true, direct_output => %L) s$$, passes, direct)),
	try($$SELECT * FROM sortbench_validate('{@a@,@b@,@c@}')$$), three_outputs()
FROM generate_series(1, 2) passes, unnest('{f,t}'::bool[]) direct;
SELECT try($$SELECT * FROM sortbench_validate('{@b@,@a@,@c@}')$$);

-- There are more output files than records.
SELECT try($$SELECT s.records FROM sortbench_sort('{@in3@}', '{@a@,@b@}', overwrite => true) s$$), length(pg_read_binary_file(place('a'))) AS a, length(pg_read_binary_file(place('b'))) AS b;
SELECT count(sortbench_remove(place(f))) FROM unnest('{in1,in2,in3,in4,a,b,c}'::text[]) f;
DROP FUNCTION three_outputs;
DROP TABLE expected;
