-- Sorts with several files: consecutive inputs, outputs for ranges of the
-- result, and striped files.
SELECT count(try(format($$SELECT sortbench_generate('@in%s@', %s, %s)$$, i, n, i * 10000))) FROM (VALUES (1, 3000), (2, 0), (3, 1), (4, 7000)) f(i, n);
CREATE TABLE expected AS SELECT row_number() OVER (ORDER BY substr(record, 1, 10)) - 1 AS n, record FROM generate_series(1, 4) i, records('in' || i);
SELECT try($$SELECT * FROM sortbench_validate('{@in1@,@in2@,@in3@,@in4@}', 0)$$);
SELECT try($$SELECT s.records, s.bytes FROM sortbench_sort('{@in1@,@in2@,@in3@,@in4@}', '{@a@,@b@,@c@}', 2) s$$);
SELECT f, count(*) FROM unnest('{a,b,c}'::text[]) f, records(f) GROUP BY f ORDER BY f;
SELECT count(*), count(*) FILTER (WHERE e.record = o.record) AS equal FROM expected e
JOIN (SELECT row_number() OVER (ORDER BY f, n) - 1 AS n, record FROM unnest('{a,b,c}'::text[]) f, records(f)) o USING (n);
SELECT try($$SELECT * FROM sortbench_validate('{@a@,@b@,@c@}', 1)$$), try($$SELECT * FROM sortbench_validate('{@b@,@a@,@c@}', 1)$$);

-- 10001 records of 100 bytes do not fill a whole number of stripes.
SELECT workers, passes, try(format($$SELECT s.records FROM sortbench_sort('{@a@,@b@,@c@}', '{@s1@,@s2@,@s3@}', %s, passes => %s, output_stripe => 4097, overwrite => true) s$$, workers, passes)),
	try($$SELECT * FROM sortbench_validate('{@s1@,@s2@,@s3@}', 1, stripe => 4097)$$),
	try($$SELECT s.records FROM sortbench_sort('{@s1@,@s2@,@s3@}', '{@whole@}', 1, input_stripe => 4097, overwrite => true) s$$),
	digest('whole') = (SELECT md5(string_agg(record, '' ORDER BY n)) FROM expected)
FROM generate_series(0, 2) workers, generate_series(1, 2) passes;
SELECT f, length(pg_read_binary_file(place(f))) FROM unnest('{s1,s2,s3}'::text[]) f;
WITH bytes AS (SELECT pg_read_binary_file(place('s1')) AS s1, pg_read_binary_file(place('s2')) AS s2, pg_read_binary_file(place('s3')) AS s3)
SELECT string_agg(substr(s1, i * 4097 + 1, 4097) || substr(s2, i * 4097 + 1, 4097) || substr(s3, i * 4097 + 1, 4097), '' ORDER BY i) = pg_read_binary_file(place('whole'))
FROM bytes, generate_series(0, length(s1) / 4097) i GROUP BY s1;

-- There are more output files than records.
SELECT try($$SELECT s.records FROM sortbench_sort('{@in3@}', '{@a@,@b@}', overwrite => true) s$$), length(pg_read_binary_file(place('a'))) AS a, length(pg_read_binary_file(place('b'))) AS b;

-- Invalid arguments.
SELECT try($$SELECT * FROM sortbench_sort('{@s1@,@s2@,@s3@}', '{@x@}', input_stripe => 5000)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@s2@,@s1@,@s3@}', '{@x@}', input_stripe => 4097)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@s1@,@s2@}', '{@x@}', input_stripe => 4097)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@s1@}', '{@x@}', input_stripe => 100)$$);
SELECT stripe, try(format($$SELECT s.records FROM sortbench_sort('{@in1@}', '{@x@,@y@}', output_stripe => %s, overwrite => true) s$$, stripe))
FROM unnest('{-1,1,2147483648,1099511627776,1099511627777,4611686018427387904,9223372036854775807}'::int8[]) stripe;
SELECT try($$SELECT * FROM sortbench_sort('{@in1@}', array_fill('@x@'::text, '{33}'))$$);
SELECT count(sortbench_remove(place(f))) FROM unnest('{in1,in2,in3,in4,a,b,c,s1,s2,s3,whole,x,y}'::text[]) f;
DROP TABLE expected;
