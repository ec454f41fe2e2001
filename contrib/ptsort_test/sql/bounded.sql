-- Bounded sorts return the first tuples in order, for every budget, length of
-- runs and order of the input.  With bound >= n, they return all tuples.
SELECT variant, stable, sorts, inputs, results, some_runs, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, stable, count(*) AS sorts, count(DISTINCT (pattern, keys, least(bound, 500))) AS inputs,
		   count(DISTINCT (pattern, keys, least(bound, 500), s.checksum)) AS results, max(s.runs) > 2 AS some_runs
	FROM unnest('{datum,tuple,index}'::text[]) variant,
		 unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
		 unnest('{random,descending}'::text[]) pattern,
		 unnest('{0,20}'::int[]) keys,
		 unnest('{1,50,499,9223372036854775807}'::int8[]) bound,
		 unnest('{false,true}'::bool[]) stable,
		 (VALUES (0, 0, false, -1), (0, 0, true, 0), (2, 35, false, 0), (3, 160, true, -1)) o (merge_order, spill, access, learn),
		 forced_sort(variant, index, 500, random_access => access, pattern => pattern, distinct_keys => keys, null_every => 50, stable => stable,
			bound => bound, merge_order => merge_order, spill => spill, learn => learn) s
	WHERE (index <> 'shape_own_i'::regclass OR keys = 0 AND bound IN (1, 50)) AND (variant <> 'index' OR NOT stable)
	GROUP BY variant, index, stable) r
GROUP BY variant, stable, sorts, inputs, results, some_runs ORDER BY variant COLLATE "C", stable, sorts;

-- The first tuples do not fit in memory, barely fit, or easily fit.
SELECT bound, count(*) AS variants, min(s.tuples) AS tuples, min(s.runs) > 0 AS runs
FROM unnest('{datum,tuple}'::text[]) variant,
	 unnest('{100,8000,12000,30000,60000}'::int[]) bound,
	 ptsort_test_sort(variant, 'shape_text_i', 60000, width => 40, stable => true, bound => bound) s
GROUP BY bound ORDER BY bound;

-- Large images, which have chunks of their own, among small images.
SELECT bound, width, s.tuples, s.runs > 0 AS runs
FROM (VALUES (3, 9000), (100, 9000), (700, 9000), (10, 300000)) v (bound, width),
	 ptsort_test_sort('tuple', 'shape_int8_i', 1000, 2048, width => width, stable => true, bound => bound) s;

-- Memory has room for twice as many tuples as the bound.
SELECT pattern, s.tuples, s.runs, s.peak_memory < 200000 AS memory, s.comparisons < 1000 AS comparisons
FROM unnest('{random,ascending}'::text[]) pattern,
	 ptsort_test_sort('tuple', 'shape_int8_i', 20000, width => 200, pattern => pattern, bound => 100) s;

\set VERBOSITY terse
SELECT ptsort_test_sort('index', 'shape_int8_i', 1, is_unique => true, bound => 1);
