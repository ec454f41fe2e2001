-- What callers must not do ends in an error that says what was wrong.
\set VERBOSITY terse
SELECT ptsort_test_misuse('get before perform');
SELECT ptsort_test_misuse('put after perform');
SELECT ptsort_test_misuse('perform twice');
SELECT ptsort_test_misuse('get of another variant');
SELECT ptsort_test_misuse('put of another variant');
SELECT ptsort_test_misuse('rescan without random access');
SELECT ptsort_test_misuse('mark without random access');
SELECT ptsort_test_misuse('restore without random access');
SELECT ptsort_test_misuse('backward without random access');
SELECT ptsort_test_misuse('rescan before perform');
SELECT ptsort_test_misuse('bad operator');
SELECT ptsort_test_misuse('bad column');
SELECT ptsort_test_misuse('no columns');
SELECT ptsort_test_misuse('worker without block');
SELECT ptsort_test_misuse('leader without block');
SELECT ptsort_test_misuse('slice without block');
-- With detail and hint: what a caller of a parallel sort gets wrong first.
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT ptsort_test_misuse('leader forgets participants');
SELECT ptsort_test_misuse('slice leader forgets participants');
SELECT ptsort_test_misuse('negative participants');
SELECT ptsort_test_misuse('leader of too few');
SELECT ptsort_test_misuse('slice leader of too few');
SELECT ptsort_test_misuse('leader of too many');
SELECT ptsort_test_misuse('slice leader of too many');
SELECT ptsort_test_misuse('leader that did not sort');
SELECT ptsort_test_misuse('participant too late');
SELECT ptsort_test_misuse('participant twice');
SELECT ptsort_test_misuse('participant number too large');
SELECT ptsort_test_misuse('participant number negative');
SELECT ptsort_test_misuse('worker counts participants');
SELECT ptsort_test_misuse('slice counts participants');
SELECT ptsort_test_misuse('serial sort counts participants');
SELECT ptsort_test_misuse('random access of a worker');
SELECT ptsort_test_misuse('random access of a leader');
SELECT ptsort_test_misuse('unknown role');
SELECT ptsort_test_misuse('block for nobody');
\set VERBOSITY terse
SELECT ptsort_test_misuse('next slice while putting');
SELECT ptsort_test_misuse('next slice of a leader');
SELECT ptsort_test_misuse('next slice before perform');
SELECT ptsort_test_misuse('put into a slice');
SELECT ptsort_test_misuse('get before a slice');
SELECT ptsort_test_misuse('get after all slices');
SELECT ptsort_test_misuse('rescan of a slice');
SELECT ptsort_test_misuse('another API version');
SELECT ptsort_test_misuse('larger API table');
SELECT tuples FROM ptsort_test_sort('datum', 'shape_int8_i', 100);
SELECT ptsort_test_temp_files();
