-- What only slices have: their number, sizes and borders.  parallel.sql runs the
-- same sorts in slices and as a stream.

-- Any number of slices, even more slices than tuples.  Borders also lie between
-- equal keys, but not between equal datums.
SELECT n, distinct_keys, count(DISTINCT (variant, c.checksum)) AS results,
	bool_and(c.filled_slices BETWEEN least(n, 1) AND least(slices, n)) AS in_range,
	string_agg(DISTINCT variant, ', ') FILTER (WHERE c.filled_slices > 2) AS cut
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 (VALUES (2000, 0), (2000, 2), (2000, 1), (20, 0), (1, 0), (0, 0)) p (n, distinct_keys),
	 generate_series(1, 16) slices,
	 forced_sort(variant, 'shape_int4_i', n, workers => 3, distinct_keys => distinct_keys, width => 300, slices => true, nslices => slices) c
WHERE slices IN (1, 16) OR (n = 2000 AND distinct_keys = 2)
GROUP BY n, distinct_keys
ORDER BY n DESC, distinct_keys;

SET ptsort_test.slices = 8;
-- The numbers of tuples in the slices differ by at most 10 %.  Tests keys that are
-- all different, few different keys and one key, and participants with unequal
-- shares.
SELECT variant, distinct_keys, pattern, shares, s.filled_slices, s.largest_slice <= 1.1 * s.smallest_slice AS equal,
	string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM unnest('{shape_int8_i,shape_text_i}'::regclass[]) index,
	 (VALUES ('index', 0, 'random', '1,1,1'), ('index', 0, 'random', '1,10,3'), ('index', 3, 'random', '1,1,1'),
		('index', 1, 'random', '1,1,1'), ('index', 0, 'ascending', '1,1,1'), ('index', 0, 'permuted', '3,1,0'),
		('tuple', 40, 'random', '1,2,3')) p (variant, distinct_keys, pattern, shares),
	 ptsort_test_sort(variant, index, 60000, budget_kb => 4096, workers => 2, distinct_keys => distinct_keys, pattern => pattern,
		slices => true, shares => string_to_array(shares, ',')::int[]) s
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY variant COLLATE "C", distinct_keys, pattern COLLATE "C", shares COLLATE "C", s.filled_slices;

-- Fewer workers than requested, and no workers.
SET max_parallel_workers = 1;
SELECT tuples, filled_slices > 1 AS cut FROM ptsort_test_sort('index', 'shape_int8_i', 5000, workers => 3, slices => true);
SET max_parallel_workers = 0;
SELECT tuples, filled_slices > 1 AS cut FROM ptsort_test_sort('index', 'shape_int8_i', 5000, workers => 3, slices => true,
	leader_takes_part => false);
RESET max_parallel_workers;

-- The smallest budget, with data that does not fit in memory: wide tuples, and tuples
-- that are larger than the budget.
SELECT variant, s.tuples, s.data_bytes > 10 * 1024 * 1024 AS more, s.filled_slices > 1 AS cut
FROM unnest('{tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int4_i', 6000, budget_kb => 0, workers => 3, width => 2000,
					  distinct_keys => 50, slices => true) s;

-- ptsort makes only one slice for 100 tuples.
RESET ptsort_test.slices;
SELECT count(*) AS variants, min(s.tuples) AS tuples, max(s.filled_slices) AS slices
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int8_i', 100, workers => 2, slices => true) s;

-- Slices lack random access.
\set VERBOSITY terse
SELECT ptsort_test_sort('tuple', 'shape_int8_i', 10, workers => 1, slices => true, random_access => true);
-- A serial sort is one slice, whether it reads from memory, from runs, or from one
-- run with random access.
SELECT n, random_access, s.tuples, s.runs > 0 AS runs
FROM (VALUES (0, false), (10, false), (20000, false), (20000, true)) v (n, random_access),
	 ptsort_test_sort('tuple', 'shape_text_i', n, slices => true, random_access => random_access,
					  width => 100) s;
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 1000, workers => 2, slices => true);
SELECT ptsort_test_temp_files();
RESET ptsort_test.slices;
