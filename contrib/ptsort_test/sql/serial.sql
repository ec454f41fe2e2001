-- Serial sorts of every kind of tuple, in memory and with runs.

-- Sorts every shape and variant in 1 MB; the result equals the result of qsort.
-- "runs" proves that the larger sorts used temporary files.
SELECT variant, n, s.runs > 1 AS runs, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 unnest('{shape_int8_i,shape_int4_i,shape_text_i,shape_icu_i,shape_default_i,shape_numeric_i,shape_name_i,
			  shape_bytea_i,shape_uuid_i,shape_float8_i,shape_bool_i,shape_own_i}'::regclass[]) index,
	 unnest('{300,70000}'::int[]) n,
	 ptsort_test_sort(variant, index, n, null_every => 11, width => 40) s
WHERE n < 1000 OR index::text IN ('shape_int8_i', 'shape_int4_i', 'shape_text_i', 'shape_numeric_i')
GROUP BY variant, n, s.runs > 1 ORDER BY variant COLLATE "C", n, runs;

-- Zero, one and two tuples.
SELECT n, count(*) AS variants, max(s.tuples) AS tuples, max(s.runs) AS runs, max(s.temp_bytes) AS temp_bytes
FROM unnest('{datum,tuple,index}'::text[]) variant, generate_series(0, 2) n,
	 ptsort_test_sort(variant, 'shape_int4_i', n) s
GROUP BY n ORDER BY n;

-- Every budget, merge order and run length must return the same tuples in the
-- same order.  Tuples with equal keys are in the order of their bytes.
SELECT variant, sorts, inputs, results, many_runs, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, count(*) AS sorts, count(DISTINCT (pattern, keys)) AS inputs,
		   count(DISTINCT (pattern, keys, s.checksum)) AS results, max(s.runs) > 50 AS many_runs
	FROM unnest('{datum,tuple,index}'::text[]) variant,
		 unnest('{shape_int8_i,shape_text_i}'::regclass[]) index,
		 unnest('{random,ascending,descending,permuted}'::text[]) pattern,
		 unnest('{0,5,1}'::int[]) keys,
		 (VALUES (0, 0, 65536), (0, 0, 1), (2, 29, 1024), (3, 100, 1024), (0, 17, 1024)) o (merge_order, spill, kb),
		 forced_sort(variant, index, 1500, kb, pattern => pattern, distinct_keys => keys, null_every => 50, merge_order => merge_order, spill => spill) s
	GROUP BY variant, index) r
GROUP BY variant, sorts, inputs, results, many_runs ORDER BY variant COLLATE "C";

-- Large tuples, from some kilobytes to many megabytes.
SELECT n, width, s.tuples, s.runs > 1 AS runs,
	   s.temp_bytes <= 1.1 * s.data_bytes + 1000000 AS space
FROM (VALUES (2000, 2500), (40, 300000), (5, 8000000), (2, 30000000)) v (n, width),
	 ptsort_test_sort('tuple', 'shape_int8_i', n, width => width) s;

-- Index tuples of nearly a third of a page.
SELECT s.tuples, s.runs > 1 AS runs
FROM ptsort_test_sort('index', 'shape_int4_i', 2000, width => 2600) s;

-- Several sorts at the same time.
SELECT s.tuples, s.runs > 8 AS runs
FROM ptsort_test_sort('tuple', 'shape_int8_i', 20000, sorts => 4) s;

-- Memory stays near the budget, and temporary space near the size of the data.
SELECT variant, kb, s.peak_memory < kb * 1024 * 1.1 + 65536 AS memory,
	   s.temp_bytes <= 1.1 * (s.data_bytes + 100000 * 24) + 1000000 AS space
FROM unnest('{tuple,index}'::text[]) variant, unnest('{1024,4096}'::int[]) kb,
	 ptsort_test_sort(variant, 'shape_int8_i', 100000, kb) s
ORDER BY 1, 2;

-- Unique sorts find duplicates only among live tuples.
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 20000, pattern => 'permuted', is_unique => true);
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 20000, pattern => 'permuted',
	distinct_keys => 5000, live_rows => 0, is_unique => true);
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 20000, pattern => 'permuted',
	distinct_keys => 1, null_every => 1, is_unique => true);
\set VERBOSITY terse
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 2000, pattern => 'permuted',
	null_every => 1, is_unique => true, nulls_not_distinct => true);
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 20000, pattern => 'permuted',
	distinct_keys => 19999, is_unique => true);
SELECT tuples FROM ptsort_test_sort('index', 'shape_int8_i', 2, pattern => 'permuted',
	distinct_keys => 1, is_unique => true);

-- If the key has no words, a sort of input in order or in reverse order makes one
-- comparison for each pair of neighbours.  (One more comparison finds the
-- direction, and at most five comparisons find that there are more than three
-- keys.)
SELECT s.comparisons - (n - 1) BETWEEN 0 AND 6 AS once, count(*) AS sorts
FROM unnest('{datum,tuple}'::text[]) variant, unnest('{ascending,descending}'::text[]) pattern,
	 unnest('{100,4096,30000}'::int[]) n,
	 forced_sort(variant, 'shape_int8_i', n, 65536, pattern => pattern, class => 'compared') s
GROUP BY once;

-- Merges of large tuples also stay within the budget: each reader holds a frame (a
-- part of the reader's run) and a copy of one tuple.
SELECT count(*) AS widths, bool_and(runs > 10) AS merged, max(width) FILTER (WHERE peak_memory >= 1.01 * 1024 * 1024) AS too_large
FROM unnest('{400,1000,3000,6000,9000,20000}'::int[]) width,
	ptsort_test_sort('tuple', 'shape_int8_i', 20000000 / width, width => width);
