-- Parallel sorts by real workers: the leader merges the runs and reads a stream, or
-- all participants merge, and the leader checks the slices in the order of their
-- numbers.
SET ptsort_test.slices = 8;

-- With any number of participants, with or without the leader's process, the sort
-- returns the same tuples in the same order as the serial sort.
SELECT variant, sorts, results, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, count(*) AS sorts, count(DISTINCT s.checksum) AS results
	FROM unnest('{datum,tuple,index}'::text[]) variant,
		 unnest('{shape_int8_i,shape_text_i,shape_numeric_i,shape_default_i,shape_own_i,shape_bool_i}'::regclass[]) index,
		 unnest('{f,t}'::bool[]) slices, (VALUES (0, true), (1, true), (1, false), (2, false), (3, true)) p (workers, leader),
		 ptsort_test_sort(variant, index, 3000, workers => workers, leader_takes_part => leader,
						  null_every => 30, distinct_keys => 300, slices => slices) s
	GROUP BY variant, index) r
GROUP BY variant, sorts, results ORDER BY variant COLLATE "C", results;

-- Some participants, or all participants, have no tuples.
SELECT shares, count(*) AS sorts, count(*) FILTER (WHERE s.tuples <> n) AS wrong
FROM unnest('{datum,tuple,index}'::text[]) variant, unnest('{f,t}'::bool[]) slices,
	 unnest(ARRAY['1,0,0', '0,1,0', '0,0,1', '0,1,1', '1,100,1']) shares, unnest('{5000,1,0}'::int[]) n,
	 ptsort_test_sort(variant, 'shape_int8_i', n, workers => 2, slices => slices,
					  shares => string_to_array(shares, ',')::int[]) s
WHERE slices OR variant = 'tuple'
GROUP BY shares ORDER BY shares COLLATE "C";

-- Several sorts in one segment.
SELECT count(*) AS sorts, min(s.tuples) AS tuples
FROM unnest('{datum,tuple,index}'::text[]) variant, unnest('{f,t}'::bool[]) slices,
	 ptsort_test_sort(variant, 'shape_int4_i', 5000, workers => 2, sorts => 3, slices => slices) s;

-- Each participant spills, and leaves all of its runs to the merge; if it has more
-- runs than the merge order, it merges its runs into one run.
SELECT count(*) AS variants, min(s.tuples) AS tuples, min(s.runs) > 3 AS runs
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int8_i', 200000, workers => 2) s;
SELECT merge_order, count(*) AS sorts, min(s.tuples) AS tuples, min(s.runs) >= CASE merge_order WHEN 0 THEN 30 ELSE 200 END AS runs,
	min(s.filled_slices) FILTER (WHERE slices) > 1 AS cut
FROM unnest('{datum,tuple,index}'::text[]) variant, unnest('{f,t}'::bool[]) slices, (VALUES (0, 200), (2, 50)) o (merge_order, spill),
	 forced_sort(variant, 'shape_text_i', 6000, workers => 2, slices => slices, merge_order => merge_order, spill => spill, nslices => 8) s
GROUP BY merge_order ORDER BY merge_order;

-- Pre-sorted shares, whose runs do not overlap; large tuples across processes.
SELECT slices, count(*) AS patterns, min(s.tuples) AS tuples, min(s.filled_slices) > 1 AS cut
FROM unnest('{ascending,descending}'::text[]) pattern, unnest('{f,t}'::bool[]) slices,
	 ptsort_test_sort('index', 'shape_int8_i', 50000, workers => 2, pattern => pattern, slices => slices) s
GROUP BY slices ORDER BY slices;
SELECT slices, s.tuples, s.filled_slices > 1 AS cut
FROM unnest('{f,t}'::bool[]) slices, ptsort_test_sort('tuple', 'shape_int8_i', 9, workers => 2, width => 5000000, slices => slices) s;

-- A duplicate within one run, and a duplicate that only the merge can find.
CREATE FUNCTION unique_sort(slices bool, n int, keys int, shares int[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', n, workers => 2, pattern => 'permuted', distinct_keys => keys,
		shares => shares, is_unique => true, slices => slices));
EXCEPTION WHEN unique_violation THEN
	RETURN SQLERRM;
END $$;
SELECT slices, n, keys, unique_sort(slices, n, keys, shares) AS result
FROM unnest('{f,t}'::bool[]) slices, (VALUES (20000, 0, NULL::int[]), (2, 1, '{1,1,0}'), (5000, 4000, '{1,0,0}')) v (n, keys, shares)
ORDER BY slices, keys;
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 1000, workers => 2);
SELECT ptsort_test_temp_files();
DROP FUNCTION unique_sort;
