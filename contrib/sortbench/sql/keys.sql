-- Keys with various offsets, lengths and types give the same order as ORDER
-- BY in SQL.  A record has 40 bytes, with these fields at these offsets: 0 four
-- letters, 4 an int4, 8 an int8, 16 a float8, 24 a float4, 28 the record's
-- number, 32 random bytes.
CREATE TABLE rows AS
SELECT n, a, b, c, d, e, f,
	convert_to(a, 'UTF8') || int4send(b) || int8send(c) || float8send(d) || float4send(e) || int4send(n) || f AS record
FROM (SELECT n, repeat(chr(97 + n % 3), 3) || chr(97 + n % 2) AS a, hashint4(n) % 50 AS b, hashint8extended(n, 1) AS c,
		(CASE n % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '0' WHEN 3 THEN '-0' ELSE (hashint4(n) / 3e3)::text END)::float8 AS d,
		(CASE n % 11 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '0' WHEN 3 THEN '-0' ELSE (hashint4(n) % 100)::text END)::float4 AS e,
		substr(sha256(n::text::bytea), 1, 8) AS f
	FROM generate_series(1, 3000) n) r;
SELECT write_file('in', string_agg(record, '' ORDER BY n)) FROM rows;

-- The same records with little-endian numbers.
CREATE FUNCTION backward(b bytea) RETURNS bytea LANGUAGE sql
RETURN (SELECT string_agg(substr(b, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(b)) i);
SELECT write_file('little', string_agg(convert_to(a, 'UTF8') || backward(int4send(b)) || backward(int8send(c)) || backward(float8send(d)) || backward(float4send(e)) || int4send(n) || f, '' ORDER BY n)) FROM rows;

CREATE FUNCTION in_order(key text, file text, keys text, passes int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected int[];
	sorted int[];
	validated record;
BEGIN
	EXECUTE format('SELECT array_agg(n ORDER BY %s, n) FROM rows', key) INTO expected;
	PERFORM sortbench_sort(ARRAY[place(file)], ARRAY[place('out')], workers => passes - 1, record_size => 40, keys => keys::text[], passes => passes, overwrite => true);
	SELECT array_agg(('x' || encode(substr(record, 29, 4), 'hex'))::bit(32)::int ORDER BY n) FROM records('out', 40) INTO sorted;
	SELECT * FROM sortbench_validate(ARRAY[place('out')], record_size => 40, keys => keys::text[]) INTO validated;
	RETURN CASE WHEN sorted IS DISTINCT FROM expected THEN 'WRONG' WHEN validated.unordered > 0 THEN 'not validated'
		ELSE 'right, ' || validated.duplicates END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT key, keys, file, in_order(key, file, keys, 1) AS one_pass, in_order(key, file, keys, 2) AS two_passes
FROM (VALUES ('a COLLATE "C"', 'in', '{0 4}'),
	('a COLLATE "C" DESC', 'in', '{0 4 desc}'),
	('b', 'in', '{4 4 int}'),
	('b DESC', 'in', '{4 4 int big desc}'),
	('b', 'little', '{4 4 int little}'),
	('c', 'in', '{8 8 int asc}'),
	('c DESC', 'little', '{8 8 int little desc}'),
	('int8send(c)', 'in', '{8 8 uint}'),
	('int8send(c)', 'little', '{8 8 uint little}'),
	('d', 'in', '{16 8 float}'),
	('d DESC', 'little', '{16 8 float little desc}'),
	('e', 'little', '{24 4 float little}'),
	('e DESC', 'in', '{24 4 float desc}'),
	('a COLLATE "C" DESC, b, e', 'in', '{0 4 desc,4 4 int,24 4 float}'),
	('b DESC, c', 'in', '{4 4 int desc,8 8 int}'),
	('b, d, a COLLATE "C"', 'in', '{4 4 int,16 8 float,0 4}'),
	('b, d DESC, e', 'little', '{4 4 int little,16 8 float little desc,24 4 float little}'),
	('a COLLATE "C", b, c, d', 'in', '{0 4,4 4 int,8 8 int,16 8 float}'),
	('a COLLATE "C", e, f DESC', 'in', '{0 4,24 4 float,32 8 desc}'),
	('a COLLATE "C", e, b, f DESC', 'in', '{0 4,24 4 float,4 4 int,32 8 desc}'),
	('substr(record, 1, 8), n', 'in', '{0 3,3 1,4 1,5 1,6 1,7 1}'),
	('substr(record, 21, 20)', 'in', '{20 20}'),
	('record', 'in', '{0 40}'),
	('f', 'in', '{32 8}')) k(key, file, keys);

-- Key lengths near the maximum that fits into the words of a sort.
SELECT array_agg(DISTINCT in_order(format('substr(record, 1, %s)', length), 'in', format('{0 %s}', length), passes)) FROM generate_series(1, 40) length, generate_series(1, 2) passes WHERE length < 20 OR passes = 2;
SELECT in_order('record', 'in', '{0 20}', 1);

-- Records that are smaller than a word.
SELECT try(format($$SELECT s.records FROM sortbench_sort('{@in@}', '{@out@}', record_size => %s, key_offset => %s, key_length => %s, passes => %s, overwrite => true) s$$, size, size / 2, size - size / 2, passes)),
	digest('out') = (SELECT md5(string_agg(record, '' ORDER BY substr(record, size / 2 + 1), n)) FROM records('in', size))
FROM unnest('{1,2,5,8,10}'::int[]) size, generate_series(1, 2) passes;

-- Large records.
SELECT try(format($$SELECT s.records FROM sortbench_sort('{@in@}', '{@out@}', record_size => 60000, key_offset => %s, key_length => %s, passes => %s, memory => '64MB', overwrite => true) s$$, 59980, length, passes)),
	digest('out') = (SELECT md5(string_agg(record, '' ORDER BY substr(record, 59981, length), n)) FROM records('in', 60000))
FROM (VALUES (10, 1), (10, 2), (20, 2)) l(length, passes);

-- Invalid keys.
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', record_size => 0)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', record_size => 65537)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', key_offset => 91)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', key_offset => -1)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', key_length => 0)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', key_length => 2147483647)$$);
SELECT k, split_part(try(format($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', keys => %L)$$, k)), E'\n', 1)
FROM unnest(ARRAY['{}', '{NULL}', '{""}', '{0}', '{0 x}', '{-1 1}', '{0 4 text}', '{0 101}', '{100 1}', '{0 0}', '{0 9 int}', '{0 5 float}', '{0 4 little}', '{0 4,97 4 int}', '{0 4 int desc little big}']) k;
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', keys => '{0 4 number}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}', keys => array_fill('0 1'::text, '{17}'))$$);
SELECT count(sortbench_remove(place(f))) FROM unnest('{in,little,out}'::text[]) f;
DROP FUNCTION in_order, backward;
DROP TABLE rows;
