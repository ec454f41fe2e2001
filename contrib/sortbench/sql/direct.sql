-- Sorts give the same bytes with direct I/O as without, even if offsets and
-- sizes are not multiples of the block size.  t/005_direct.pl shows that direct
-- I/O bypasses the cache.
SELECT try($$SELECT sortbench_generate('@in@', 30001)$$), try($$SELECT sortbench_generate('@more@', 11, 30001)$$);

-- Sorts files with these arguments and each combination of cached and direct I/O.
-- Returns the number of records or the error, and the number of distinct results.
CREATE FUNCTION results(inputs text, outputs text, arguments text, OUT records text, OUT results bigint)
LANGUAGE plpgsql AS $$
DECLARE
	said text[];
	digests text[];
BEGIN
	FOR way IN 0 .. 3 LOOP
		said := said || try(format('SELECT s.records FROM sortbench_sort(''{%s}'', ''{%s}'', %s, overwrite => true, direct_input => %L, direct_output => %L) s',
			inputs, outputs, arguments, way % 2 = 1, way > 1));
		digests := digests || md5((SELECT string_agg(pg_read_binary_file(place(trim(name, '@'))), '' ORDER BY i)
			FROM string_to_table(outputs, ',') WITH ORDINALITY o (name, i)));
	END LOOP;
	SELECT string_agg(DISTINCT s, ' '), count(DISTINCT digest) FROM unnest(said, digests) r (s, digest) INTO records, results;
END $$;
LOAD 'ptsort_test';	-- settings that force code paths
SET ptsort_test.slices = 5;
SELECT workers, passes, r.* FROM generate_series(0, 2) workers, generate_series(1, 2) passes,
	results('@in@', '@out@', format('%s, passes => %s', workers, passes)) r;
SELECT passes, r.* FROM generate_series(1, 2) passes, results('@in@,@more@', '@out@,@out2@', format('2, passes => %s', passes)) r;

-- Sorts records of sizes other than 100 bytes; the size of each file is a
-- multiple of its record size.
CREATE TABLE sizes (size, n) AS VALUES (1, 4097), (7, 20011), (4095, 700), (4096, 300), (5000, 400), (65536, 20);
SELECT write_file('sized' || size, substring(pg_read_binary_file(place('in')) FROM 1 FOR size * n)) FROM sizes;
SELECT size, n, passes, r.*
FROM sizes, generate_series(1, 2) passes,
	results(format('@sized%s@', size), '@out@', format('1, ''64MB'', record_size => %s, key_length => 1, passes => %s', size, passes)) r ORDER BY 1, 3;
SELECT count(sortbench_remove(place('sized' || size))) FROM sizes;
DROP TABLE sizes;

-- Output files have whole blocks, except the last one.  The tests also sort an
-- input of less than one block, and an empty input.
SELECT r.* FROM results('@in@', '@a@,@b@,@c@', '1') r;
SELECT f, size, size % 4096 AS rest, size % 100 AS of_record FROM unnest('{a,b,c}'::text[]) f, length(pg_read_binary_file(place(f))) size;
SELECT r.* FROM results('@more@', '@a@,@b@', '1') r;
SELECT f, length(pg_read_binary_file(place(f))) FROM unnest('{a,b}'::text[]) f;
SELECT write_file('none', '');
SELECT r.* FROM results('@none@', '@a@', '1') r;

-- Stripes of output files have whole blocks as well.
SELECT passes, r.* FROM generate_series(1, 2) passes, results('@in@', '@a@,@b@,@c@', format('2, passes => %s, output_stripe => 8192', passes)) r;
SELECT r.* FROM results('@a@,@b@,@c@', '@out@', '2, input_stripe => 8192') r;
SELECT try($$SELECT * FROM sortbench_validate('{@out@}')$$) = try($$SELECT * FROM sortbench_validate('{@a@,@b@,@c@}', stripe => 8192)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@x@,@y@}', output_stripe => 5000, direct_output => true)$$);
RESET ptsort_test.slices;

-- The memory limit includes the buffers for direct I/O.
SELECT try($$SELECT s.memory_used < s.memory_allowed + 8192 FROM sortbench_sort('{@in@}', '{@out@}', 1, '10MB', passes => 2, overwrite => true, direct_input => true, direct_output => true) s$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@x@}', 1, '5MB', passes => 2, direct_input => true, direct_output => true)$$);
SELECT count(sortbench_remove(place(f))) FROM unnest('{in,more,out,out2,none,a,b,c}'::text[]) f;
DROP FUNCTION results;
