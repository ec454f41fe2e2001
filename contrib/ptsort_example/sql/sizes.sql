-- Requests 0, 1, -1, 2^31, 2^62 and 2^63 - 1 workers, and the largest int4, which
-- stands for all of the server's workers.
CREATE EXTENSION ptsort_example CASCADE;
CREATE TABLE sizes AS SELECT i::int8 * 7919 % 10007 AS n FROM generate_series(1, 10000) i;
CREATE FUNCTION sizes_try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT size, sizes_try(format('SELECT table_median(''sizes'', ''n'', %s)', size))
FROM unnest('{0,1,-1,2147483647,2147483648,4611686018427387904,9223372036854775807}'::int8[]) size;
DROP TABLE sizes;
DROP FUNCTION sizes_try;
DROP EXTENSION ptsort_example;
