-- The number of comparisons of a sort: none if words decide, and at most two
-- for each tuple of random text in "C", with any memory and number of workers.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET max_parallel_maintenance_workers = 4;

CREATE TABLE comparisons AS
SELECT hashint8(i)::int4 AS i4, hashint8extended(i, 0) AS i8, (hashint8(i) % 1000)::int2 AS i2,
	hashint8(i) / 7.0::float8 AS f8, md5(i::text)::uuid AS u, hashint8(i) % 2 = 0 AS b,
	timestamptz '2000-01-01 00:00+00' + hashint8(i) * interval '1 s' AS at, md5(i::text) COLLATE "C" AS word, 1 AS one
FROM generate_series(1, 30000) i;

CREATE FUNCTION comparisons(what text, workers int, kb int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	result float8;
BEGIN
	PERFORM set_config('ptsort.parallel_workers', workers::text, true),
		set_config('maintenance_work_mem', kb::text, true);
	EXECUTE format('CREATE INDEX comparisons_i ON comparisons %s', what);
	SELECT sum(comparisons) / sum(tuples) INTO result FROM ptsort_last_build()
	WHERE index_name = 'comparisons_i' AND participant IS NOT NULL;
	DROP INDEX comparisons_i;
	RETURN result;
END $$;

SELECT what, count(*) AS builds, max(c) AS comparisons
FROM unnest(ARRAY['(i4)', '(i8 DESC)', '(i2)', '(f8)', '(u)', '(b, i2)', '(at)', '(one)', '(i2, i4 DESC NULLS LAST)']) what,
	(VALUES (0, 65536), (0, 1024), (2, 65536), (3, 1024)) o (workers, kb),
	comparisons(what, workers, kb) c
GROUP BY what ORDER BY what COLLATE "C";
SELECT what, count(*) AS builds, max(c) <= 2 AS few
FROM unnest(ARRAY['(word)', '(word DESC)', '(word, i4)']) what,
	(VALUES (0, 65536), (0, 1024), (2, 65536), (3, 1024)) o (workers, kb),
	comparisons(what, workers, kb) c
GROUP BY what ORDER BY what COLLATE "C";

DROP TABLE comparisons;
DROP FUNCTION comparisons;
