-- A sort that trusts hints and meets a wrong one ends before all tuples have
-- been returned.  That cannot be taken for the end of the tuples: any further
-- use is an error, until somebody has asked what happened.
-- (Parallel sorts of so few tuples would not learn.)
SET ptsort_test.learn_tuples = 0;
SET ptsort.debug_wrong_hints = 50;
SET ptsort_test.spill_entries = 500;
SELECT ptsort_test_failed('shape_icu_i', 'end');
SELECT ptsort_test_failed('shape_icu_i', 'get');
SELECT ptsort_test_failed('shape_icu_i', 'slices');
SELECT ptsort_test_failed('shape_icu_i', 'ask');
-- With right hints the same sorts return all.
RESET ptsort.debug_wrong_hints;
SELECT what, ptsort_test_failed('shape_icu_i', what) AS failed
FROM unnest('{end,get,slices}'::text[]) what;
RESET ptsort_test.spill_entries;
SELECT ptsort_test_temp_files();
