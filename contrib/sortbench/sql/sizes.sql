-- Sets every numeric argument to 0, 1, -1, 2^31, 2^62, 2^63 - 1, and the
-- largest int4.  Each call fails because the value is out of range, or gives a
-- correct result.  Calls that would make a file of 200 GB name a missing
-- directory, so that they fail (58P01).
CREATE TABLE sizes (size int8, place serial);
INSERT INTO sizes VALUES (0), (1), (-1), (2147483647), (2147483648), (4611686018427387904), (9223372036854775807);
SELECT try($$SELECT sortbench_generate('@in@', 1000)$$);
CREATE TABLE calls (call text, argument text, place serial);
INSERT INTO calls (call, argument)
SELECT call, string_to_table(arguments, '; ')
FROM (VALUES
		($$sortbench_generate('@nothing@/new', %s)$$, 'records => *'),
		($$sortbench_generate('@new@', 10, overwrite => true, %s)$$, 'seed => *'),
		($$s.records FROM sortbench_sort('{@in@}', '{@new@}', overwrite => true, %s) s$$, 'workers => *; memory => ''* kB''; record_size => *, key_length => 1; key_offset => *; key_length => *; keys => ''{* 4}''; keys => ''{0 *}''; passes => *; input_stripe => *; output_stripe => *'),
		($$v.records FROM sortbench_validate('{@in@}', %s) v$$, 'workers => *; record_size => *, key_length => 1; key_offset => *; key_length => *; stripe => *'),
		($$count(*) FROM datamation(current_setting('data_directory'), %s)$$, 'workers => *'),
		($$m.bytes FROM minutesort(current_setting('data_directory'), %s) m$$, 'seconds => *, max_bytes => 200000; workers => *, max_bytes => 200000'),
		($$count(*) > 0 FROM minutesort(current_setting('data_directory'), 1e-6, %s) m$$, 'max_bytes => *'),
		($$p.bytes FROM pennysort(current_setting('data_directory'), %s) p$$, 'price_of_machine => *, max_bytes => 200000; price_of_machine => 1, years => *, max_bytes => 200000; price_of_machine => 1, workers => *, max_bytes => 200000')
	) c (call, arguments);
SELECT regexp_replace(call, '^(.* FROM )?(\w+).*$', '\2') AS function, argument,
	string_agg(size::text, ', ' ORDER BY s.place) AS sizes, result
FROM (SELECT call, argument, c.place AS number, s.*, regexp_replace(try('SELECT ' || format(call, replace(argument, '*', size::text))), '(: could not |\n).*', '') AS result
	FROM calls c, sizes s OFFSET 0) s
WHERE result !~ '^42883'	-- the value is out of range for int4
GROUP BY number, call, argument, result ORDER BY number, min(s.place);
SELECT sortbench_generate(place('new'), n, overwrite => true) FROM unnest('{0,1}'::int8[]) n;
SELECT count(sortbench_remove(place(f))) FROM unnest('{in,new}'::text[]) f;
DROP TABLE sizes, calls;
