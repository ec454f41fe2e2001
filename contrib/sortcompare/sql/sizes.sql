-- Sets each numeric argument of the SQL functions to 0, 1, -1, 2^31, 2^62,
-- 2^63 - 1, and the largest int4.
CREATE EXTENSION ptsort;
CREATE EXTENSION sortcompare;
CREATE TABLE sizes AS SELECT 0::int8 AS tag, hashint8extended(i, 1) AS account FROM generate_series(1::int8, 3000) AS i;
CREATE TABLE sizes_of (size int8, place serial);
INSERT INTO sizes_of VALUES (0), (1), (-1), (2147483647), (2147483648), (4611686018427387904), (9223372036854775807);
-- Returns the query's result, or the error
CREATE FUNCTION sizes_try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT argument, string_agg(size::text, ', ' ORDER BY place) AS sizes, result
FROM (SELECT *, sizes_try(format('SELECT format(''%%s sorts, %%s order, %%s tuples'', count(*), count(DISTINCT s.checksum), max(s.tuples)) FROM sortcompare(''sizes'', ''{account}'', %s => %s) s', argument, size)) AS result
	FROM unnest('{budget_kb,bound,group_rows}'::text[]) argument, sizes_of OFFSET 0) s
WHERE result !~ '^42883'	-- the value is out of range for int4
GROUP BY argument, result ORDER BY argument, min(place);
SELECT argument, string_agg(size::text, ', ' ORDER BY place) AS sizes, result
FROM (SELECT *, sizes_try(format('SELECT format(''%%s tuples'', max(s.tuples)) FROM sortcompare_parallel(''sizes'', ''{account}'', %s => %s) s', argument, size)) AS result
	FROM unnest('{budget_kb,workers}'::text[]) argument, sizes_of OFFSET 0) s
WHERE result !~ '^42883'
GROUP BY argument, result ORDER BY argument, min(place);
DROP TABLE sizes, sizes_of;
DROP FUNCTION sizes_try;
DROP EXTENSION sortcompare;
DROP EXTENSION ptsort;
