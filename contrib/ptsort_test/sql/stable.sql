-- Stable sorts: equal tuples come out in the order of the puts, for every
-- budget, merge order, length of runs and order of the input.
SELECT variant, sorts, inputs, results, many_runs, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, count(*) AS sorts, count(DISTINCT (pattern, keys)) AS inputs,
		   count(DISTINCT (pattern, keys, s.checksum)) AS results, max(s.runs) > 50 AS many_runs
	FROM unnest('{datum,tuple}'::text[]) variant,
		 unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
		 unnest('{random,ascending,descending,permuted}'::text[]) pattern,
		 unnest('{0,70,2}'::int[]) keys,
		 (VALUES (0, 0, 65536, false), (0, 0, 1, false), (2, 13, 1024, false), (3, 100, 1024, false),
				 (0, 17, 1024, false), (3, 50, 1024, true)) o (merge_order, spill, kb, access),
		 forced_sort(variant, index, 500, kb, random_access => access, pattern => pattern, distinct_keys => keys, null_every => 50,
			stable => true, merge_order => merge_order, spill => spill) s
	GROUP BY variant, index) r
GROUP BY variant, sorts, inputs, results, many_runs ORDER BY variant COLLATE "C";

-- Many equal keys, and images that have chunks of their own.
SELECT n, width, kb, s.tuples, s.runs > 0 AS runs
FROM (VALUES (70000, 0, 65536), (70000, 0, 1024), (600, 9000, 65536), (600, 9000, 1024),
			 (40, 300000, 65536)) v (n, width, kb),
	 ptsort_test_sort('tuple', 'shape_int8_i', n, kb, width => width, distinct_keys => 7, stable => true) s;

-- In parallel, equal tuples are in the order of participants, then in the order
-- of each participant's puts.  The leader reads a stream, or all processes read slices.
SELECT slices, sorts, many_runs, many_slices, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT index, slices, count(*) AS sorts, max(s.runs) > 30 AS many_runs, max(s.filled_slices) > 10 AS many_slices
	FROM unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
		 unnest('{random,descending}'::text[]) pattern,
		 (VALUES (0, 0, false, '{1,1,1}'::int[]), (2, 90, false, '{1,2,1}'), (0, 0, true, '{1,1,1}'),
				 (2, 90, true, '{3,1,2}')) o (merge_order, spill, slices, shares),
		 forced_sort('tuple', index, 1500, workers => 2, shares => shares, pattern => pattern, distinct_keys => 5, slices => slices,
			stable => true, merge_order => merge_order, spill => spill, nslices => 24) s
	GROUP BY index, slices) r
GROUP BY slices, sorts, many_runs, many_slices ORDER BY slices;
