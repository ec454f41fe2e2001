-- A variant that ptsort does not know: records of 64 bytes with a key of three
-- parts.  Two words hold the key except for half of the last part.
CREATE TABLE shape_record (k int4, name text COLLATE "C", number int8);
CREATE INDEX shape_record_i ON shape_record (k, name, number);

-- Sorts in memory, and in many runs.  There are few groups, so that names and
-- numbers decide the order.
SELECT distinct_keys, pattern, budget_kb, s.tuples, s.runs > 1 AS runs
FROM (VALUES (0, 'random', 65536), (1, 'random', 65536), (3, 'random', 1024), (0, 'ascending', 1024),
	(0, 'descending', 1024), (0, 'permuted', 1024)) p (distinct_keys, pattern, budget_kb),
	 ptsort_test_sort('record', 'shape_record_i', 50000, budget_kb => budget_kb, distinct_keys => distinct_keys,
		pattern => pattern) s;
SELECT n, s.tuples FROM unnest('{0,1,2}'::int[]) n, ptsort_test_sort('record', 'shape_record_i', n) s;

-- The order is the same for any number of participants, in a stream and in slices.
SET ptsort_test.slices = 8;
SELECT count(*) AS sorts, count(DISTINCT s.checksum) AS results, max(s.filled_slices) AS slices
FROM (VALUES (0, true), (1, true), (1, false), (3, true), (4, false)) p (workers, leader), (VALUES (true), (false)) q (slices),
	 ptsort_test_sort('record', 'shape_record_i', 6000, workers => workers, leader_takes_part => leader,
		distinct_keys => 5, slices => slices AND workers > 0) s;
SET ptsort_test.spill_entries = 100;
SET ptsort_test.merge_order = 2;
SELECT slices, s.tuples, s.runs > 60 AS runs, s.filled_slices
FROM (VALUES (true), (false)) q (slices),
	 ptsort_test_sort('record', 'shape_record_i', 6000, workers => 2, distinct_keys => 2, slices => slices) s;
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;
RESET ptsort_test.slices;

-- Random access: backward reads, rescan, mark and restore, in memory and in runs.
SELECT budget_kb, s.tuples, s.runs > 1 AS runs
FROM (VALUES (65536), (1024)) p (budget_kb),
	 ptsort_test_sort('record', 'shape_record_i', 40000, budget_kb => budget_kb, distinct_keys => 9, random_access => true) s;
SELECT ptsort_test_temp_files();
