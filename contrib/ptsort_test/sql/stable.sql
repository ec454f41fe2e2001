-- Stable sorts: equal tuples come out in the order of the puts, for every
-- budget, merge order, length of runs and order of the input.
CREATE FUNCTION stable(merge_order int, spill_entries int, variant text, index regclass,
	n int, budget_kb int, pattern text, distinct_keys int, access bool, width int,
	OUT tuples int8, OUT checksum int8, OUT runs int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true);
	PERFORM set_config('ptsort_test.spill_entries', spill_entries::text, true);
	SELECT s.tuples, s.checksum, s.runs INTO tuples, checksum, runs
	FROM ptsort_test_sort(variant, index, n, budget_kb, pattern => pattern, random_access => access,
						  distinct_keys => distinct_keys, null_every => 50, width => width, stable => true) s;
END $$;
SELECT variant, index, count(*) AS sorts, count(DISTINCT (pattern, keys)) AS inputs,
	   count(DISTINCT (pattern, keys, s.checksum)) AS results,
	   min(s.runs) AS least_runs, max(s.runs) > 50 AS many_runs
FROM unnest('{datum,tuple}'::text[]) variant,
	 unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
	 unnest('{random,ascending,descending,permuted}'::text[]) pattern,
	 unnest('{0,70,2}'::int[]) keys,
	 (VALUES (0, 0, 65536, false), (0, 0, 1, false), (2, 13, 1024, false), (3, 100, 1024, false),
			 (0, 17, 1024, false), (3, 50, 1024, true)) o (merge_order, spill, kb, access),
	 stable(merge_order, spill, variant, index, 500, kb, pattern, keys, access, 0) s
GROUP BY variant, index
ORDER BY variant COLLATE "C", index::text COLLATE "C";

-- Many equal keys, and images that have chunks of their own.
SELECT n, width, kb, s.tuples, s.runs > 0 AS runs
FROM (VALUES (70000, 0, 65536), (70000, 0, 1024), (600, 9000, 65536), (600, 9000, 1024),
			 (40, 300000, 65536)) v (n, width, kb),
	 ptsort_test_sort('tuple', 'shape_int8_i', n, kb, width => width, distinct_keys => 7, stable => true) s;

-- In parallel, equal tuples are in the order of participants, then in the order
-- of each participant's puts.  The leader reads a stream, or all processes read slices.
CREATE FUNCTION stable_parallel(merge_order int, spill_entries int, nslices int, index regclass, n int,
	pattern text, distinct_keys int, slices bool, shares int[],
	OUT tuples int8, OUT runs int8, OUT filled_slices int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true);
	PERFORM set_config('ptsort_test.spill_entries', spill_entries::text, true);
	PERFORM set_config('ptsort_test.slices', nslices::text, true);
	SELECT s.tuples, s.runs, s.filled_slices INTO tuples, runs, filled_slices
	FROM ptsort_test_sort('tuple', index, n, workers => 2, slices => slices, shares => shares,
						  pattern => pattern, distinct_keys => distinct_keys, stable => true) s;
END $$;
SELECT index, slices, count(*) AS sorts, min(s.tuples) AS least, max(s.tuples) AS most,
	   min(s.runs) AS least_runs, max(s.runs) > 30 AS many_runs, max(s.filled_slices) > 10 AS many_slices
FROM unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
	 unnest('{random,descending}'::text[]) pattern,
	 unnest('{5}'::int[]) keys,
	 (VALUES (0, 0, false, '{1,1,1}'::int[]), (2, 90, false, '{1,2,1}'), (0, 0, true, '{1,1,1}'),
			 (2, 90, true, '{3,1,2}')) o (merge_order, spill, slices, shares),
	 stable_parallel(merge_order, spill, 24, index, 1500, pattern, keys, slices, shares) s
GROUP BY index, slices
ORDER BY index::text COLLATE "C", slices;
