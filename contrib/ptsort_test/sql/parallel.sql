-- Parallel sorts: the leader merges the runs of real parallel workers.

-- With any number of participants, with or without the leader's process, the sort
-- returns the same tuples in the same order as the serial sort.
SELECT variant, sorts, results, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, count(*) AS sorts, count(DISTINCT s.checksum) AS results
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 unnest('{shape_int8_i,shape_text_i,shape_numeric_i,shape_default_i,shape_own_i}'::regclass[]) index,
	 (VALUES (0, true), (1, true), (1, false), (2, false), (3, true)) p (workers, leader),
	 ptsort_test_sort(variant, index, 3000, workers => workers, leader_takes_part => leader,
					  null_every => 30, distinct_keys => 300) s
GROUP BY variant, index) r
GROUP BY variant, sorts, results ORDER BY variant COLLATE "C", results;

-- Some participants, or all participants, have no tuples.
SELECT shares, count(*) AS sorts, count(*) FILTER (WHERE s.tuples <> n) AS wrong
FROM unnest(ARRAY['1,0,0', '0,1,0', '0,0,1', '0,1,1', '1,100,1']) shares, unnest('{5000,1,0}'::int[]) n,
	 ptsort_test_sort('tuple', 'shape_int8_i', n, workers => 2,
					  shares => string_to_array(shares, ',')::int[]) s
GROUP BY shares ORDER BY shares COLLATE "C";

-- Several sorts in one segment.
SELECT count(*) AS variants, min(s.tuples) AS tuples
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int4_i', 5000, workers => 2, sorts => 3) s;

-- Each participant spills, and leaves all of its runs to the leader.
SELECT count(*) AS variants, min(s.tuples) AS tuples, min(s.runs) > 3 AS runs
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int8_i', 200000, workers => 2) s;
SET ptsort_test.spill_entries = 200;
SELECT count(*) AS variants, min(s.tuples) AS tuples, min(s.runs) AS least_runs, max(s.runs) AS most_runs
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_text_i', 6000, workers => 2) s;
-- If a participant has more runs than the merge order, it merges its runs into
-- one run.
SET ptsort_test.spill_entries = 50;
SET ptsort_test.merge_order = 2;
SELECT count(*) AS variants, min(s.tuples) AS tuples, min(s.runs) > 200 AS runs
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_text_i', 5000, workers => 2) s;
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;

-- Pre-sorted shares, whose runs do not overlap.
SELECT pattern, s.tuples
FROM unnest('{ascending,descending}'::text[]) pattern,
	 ptsort_test_sort('index', 'shape_int8_i', 50000, workers => 2, pattern => pattern) s;

-- Large tuples across processes.
SELECT s.tuples
FROM ptsort_test_sort('tuple', 'shape_int8_i', 9, workers => 2, width => 5000000) s;

-- A duplicate within one run, and a duplicate that only the merge can find.
\set VERBOSITY terse
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 20000, workers => 2, pattern => 'permuted', is_unique => true);
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 2, workers => 1, pattern => 'permuted',
	distinct_keys => 1, is_unique => true);
DO $$
BEGIN
	PERFORM ptsort_test_sort('index', 'shape_int8_i', 5000, workers => 2, shares => '{1,0,0}',
		pattern => 'permuted', distinct_keys => 4000, is_unique => true);
EXCEPTION WHEN unique_violation THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 1000, workers => 2);
SELECT ptsort_test_temp_files();
