-- Sorts of heap tuples in all roles.
CREATE TABLE shape_expression (k int8, k2 text, k3 int4, pad text);
CREATE INDEX shape_expression_i ON shape_expression ((k % 100), upper(k2) DESC, k3);
CREATE VIEW shapes AS
SELECT 'heap' AS variant, index
FROM unnest('{shape_int8_i,shape_int4_i,shape_text_i,shape_icu_i,shape_default_i,shape_name_i,shape_numeric_i,shape_uuid_i,shape_own_i,shape_expression_i}'::regclass[]) index;

-- Serial sorts (from memory and from runs), parallel sorts that the leader merges,
-- and sorts in slices must all return the same tuples in the same order.
SET ptsort_test.slices = 8;
SELECT sorts, results, in_memory, cut, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT index, count(*) AS sorts, count(DISTINCT s.checksum) AS results, count(*) FILTER (WHERE s.runs = 0 AND p.budget > 0) AS in_memory,
		count(*) FILTER (WHERE s.filled_slices > 1) AS cut
	FROM shapes, (VALUES (8192, 0, true, false, false), (0, 0, true, true, false), (0, 0, true, false, true),
			(8192, 1, true, false, false), (0, 2, false, false, true), (0, 3, true, false, true))
			p (budget, workers, leader, random_access, slices),
		ptsort_test_sort(variant, index, 2000, workers => workers, leader_takes_part => leader, budget_kb => budget, width => 100,
			random_access => random_access, slices => slices, null_every => 30, distinct_keys => 300) s
	GROUP BY index) r
GROUP BY sorts, results, in_memory, cut;

-- Participants merge many runs into one run.  The test includes the key classes
-- prefix and compared.
SELECT sorts, results, runs, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT index, count(*) AS sorts, count(DISTINCT f.checksum) AS results, min(f.runs) > 20 AS runs
	FROM shapes, (VALUES ('auto', true), ('auto', false), ('prefix', true), ('compared', true)) p (class, slices),
		 forced_sort(variant, index, 1500, workers => 2, distinct_keys => 500, slices => slices, merge_order => 2, spill => 50,
			class => class, nslices => 8) f
	GROUP BY index) r
GROUP BY sorts, results, runs;

-- All keys different, one key for all tuples, one tuple, and no tuple.  Some
-- inputs are pre-sorted.
SELECT variant, index, count(*) AS sorts, count(*) FILTER (WHERE s.tuples <> n) AS wrong, sum(s.comparisons) AS comparisons
FROM (VALUES ('heap', 'shape_int8_i'::regclass), ('index', 'shape_uuid_i')) v (variant, index),
	 (VALUES ('ascending', 5000, 0), ('descending', 5000, 0), ('random', 5000, 1), ('random', 1, 0), ('random', 0, 0)) p (pattern, n, distinct_keys),
	 ptsort_test_sort(variant, index, n, pattern => pattern, distinct_keys => distinct_keys, workers => 2, budget_kb => 8192) s
GROUP BY variant, index ORDER BY variant COLLATE "C";

-- Tuples larger than a block, larger than a buffer, and larger than the budget.
SELECT width, s.tuples
FROM (VALUES (30, 30000), (60, 100000), (9, 3000000)) v (n, width),
	 ptsort_test_sort('heap', 'shape_int8_i', n, width => width, random_access => true) s;
SELECT s.tuples
FROM ptsort_test_sort('heap', 'shape_int8_i', 9, workers => 2, width => 5000000) s;

-- Several sorts in one segment; more tuples than a key learns from.
SELECT variant, s.tuples
FROM unnest('{heap,index}'::text[]) variant,
	 ptsort_test_sort(variant, 'shape_int4_i', 5000, workers => 2, sorts => 3) s;
SELECT tuples, comparisons < 2 * tuples AS few FROM ptsort_test_sort('heap', 'shape_default_i', 210000, budget_kb => 65536);
RESET ptsort_test.slices;
SELECT ptsort_test_temp_files();
DROP VIEW shapes;
