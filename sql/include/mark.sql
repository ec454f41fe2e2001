\set ECHO none
-- For tests that must know whether ptsort did the last sort.  mark() does a sort
-- by 7 keys; if ptsort_last_sort() then shows another number of keys, ptsort did
-- a later sort.  No query of these tests sorts by 7 keys.
CREATE FUNCTION mark() RETURNS void LANGUAGE plpgsql
	SET ptsort.sort = on SET ptsort.min_sort_rows = 0 SET work_mem = '4MB'
	SET enable_incremental_sort = off AS $$
BEGIN
	PERFORM FROM (SELECT FROM generate_series(1, 4) i ORDER BY i % 2, i % 3, i % 5, i % 7, i + 1, i + 2, i + 3) s;
END $$;
\set ECHO all
