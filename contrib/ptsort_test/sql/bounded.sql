-- Bounded sorts return the first tuples in order, for every budget, length of
-- runs and order of the input.  With bound >= n, they return all tuples.
CREATE FUNCTION bounded(merge_order int, spill_entries int, learn int, variant text, index regclass,
	n int, budget_kb int, pattern text, distinct_keys int, bound int8, access bool, stable bool,
	OUT tuples int8, OUT checksum int8, OUT runs int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true);
	PERFORM set_config('ptsort_test.spill_entries', spill_entries::text, true);
	PERFORM set_config('ptsort_test.learn_tuples', learn::text, true);
	SELECT s.tuples, s.checksum, s.runs INTO tuples, checksum, runs
	FROM ptsort_test_sort(variant, index, n, budget_kb, pattern => pattern, random_access => access,
						  distinct_keys => distinct_keys, null_every => 50, stable => stable, bound => bound) s;
END $$;
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
	 bounded(merge_order, spill, learn, variant, index, 500, 1024, pattern, keys, bound, access, stable) s
WHERE (index <> 'shape_own_i'::regclass OR keys = 0 AND bound IN (1, 50)) AND (variant <> 'index' OR NOT stable)
GROUP BY variant, index, stable) r
GROUP BY variant, stable, sorts, inputs, results, some_runs ORDER BY variant COLLATE "C", stable, sorts;

-- The first tuples do not fit in memory, barely fit, or easily fit.
SELECT variant, bound, s.tuples, s.runs > 0 AS runs
FROM unnest('{datum,tuple}'::text[]) variant,
	 unnest('{100,8000,12000,30000,60000}'::int[]) bound,
	 ptsort_test_sort(variant, 'shape_text_i', 60000, width => 40, stable => true, bound => bound) s
ORDER BY variant COLLATE "C", bound;

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
