-- Random access: compares the results of rescans, backward reads, marks and
-- restores with those of a cursor over the sorted array.
-- Sorts in memory, with one run, with runs that one merge can read, and with
-- runs that need several merges.
SELECT n, merge_order, spill, count(*) AS variants, min(a.tuples) AS tuples,
	   CASE WHEN n >= 500 THEN min(a.runs) > 1 END AS runs
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 (VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (500, 0, 0),
			 (0, 0, 10), (1, 0, 1), (2, 0, 1), (500, 0, 100), (500, 2, 10),
			 (20000, 0, 0)) v (n, merge_order, spill),
	 forced_sort(variant, 'shape_text_i', n, random_access => true, null_every => 20, distinct_keys => n / 2, merge_order => merge_order, spill => spill) a
GROUP BY n, merge_order, spill ORDER BY n, merge_order, spill;

-- Tuples larger than a block, larger than a buffer, and larger than the budget.
SELECT width, s.tuples
FROM (VALUES (30, 30000), (60, 100000), (9, 3000000)) v (n, width),
	 ptsort_test_sort('tuple', 'shape_int8_i', n, width => width, random_access => true) s;
