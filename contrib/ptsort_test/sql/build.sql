-- Index builds by ptsort_parallel(): in slices and as a stream, with and without
-- workers.  The test function checks every call of a callback; this file tests
-- the results and the errors.
CREATE TABLE build (k int8, pad text);
INSERT INTO build SELECT (i * 7919) % 20011, 'row ' || i
	FROM generate_series(1, 20010) i;
CREATE INDEX build_k ON build (k);
SELECT count(*), sum(k) FROM build;
LOAD 'ptsort';
SET ptsort_test.slices = 12;
-- without workers: one slice with all tuples, or a stream
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices');
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream');
-- with workers: twelve slices, or a stream
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices', workers => 2);
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream', workers => 2);
-- with and without workers, with runs in files
SET ptsort_test.spill_entries = 3000;
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices');
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream');
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices', workers => 2);
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream', workers => 2);
RESET ptsort_test.spill_entries;
-- without the leader's process as a participant of the sort
SET ptsort_test.leader_participates = off;
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices', workers => 2);
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream', workers => 2);
RESET ptsort_test.leader_participates;
-- the caller requests workers, but no worker can start
SET max_parallel_workers = 0;
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_slices', workers => 2);
SELECT * FROM ptsort_test_build('build_k', 'ptsort_test_build_stream', workers => 2);
RESET max_parallel_workers;

-- no tuples
CREATE TABLE build_nothing (k int8);
CREATE INDEX build_nothing_k ON build_nothing (k);
SELECT * FROM ptsort_test_build('build_nothing_k', 'ptsort_test_build_slices');
SELECT * FROM ptsort_test_build('build_nothing_k', 'ptsort_test_build_slices', workers => 2);
SELECT * FROM ptsort_test_build('build_nothing_k', 'ptsort_test_build_stream', workers => 2);

-- missing callbacks, extra callbacks, and no callbacks
\set VERBOSITY default
\set SHOW_CONTEXT never
\set named '\'build_k\', \'ptsort_test_build_named\''
SELECT ptsort_test_build(:named, '{}');
SELECT ptsort_test_build(:named, '{begin}', workers => 2);
SELECT ptsort_test_build(:named, '{put_index}', workers => 2);
SELECT ptsort_test_build(:named, '{begin, put}');
SELECT ptsort_test_build(:named, '{begin, put, put_index}');
SELECT ptsort_test_build(:named, '{begin, put_index, shared_init}');
SELECT ptsort_test_build('build_k', 'ptsort_test_build_none');
SELECT ptsort_test_build('build_k', '');
-- a stream that the caller does not read
SELECT ptsort_test_build('build_k', 'ptsort_test_build_unread');
SELECT ptsort_test_build('build_k', 'ptsort_test_build_unread', workers => 2);
-- slices that no process takes
SELECT ptsort_test_build('build_k', 'ptsort_test_build_lazy');
SELECT ptsort_test_build('build_k', 'ptsort_test_build_lazy', workers => 2);
-- slices that no process reads to the end
SELECT ptsort_test_build('build_k', 'ptsort_test_build_first');
SELECT ptsort_test_build('build_k', 'ptsort_test_build_first', workers => 2);
-- the callback begin returns a sort of the wrong role, or no sort
SELECT ptsort_test_build('build_k', 'ptsort_test_build_alone', workers => 2);
SELECT ptsort_test_build('build_k', 'ptsort_test_build_slices_alone', workers => 2);
SELECT ptsort_test_build('build_k', 'ptsort_test_build_no_sort');
\set VERBOSITY terse
DROP TABLE build, build_nothing;
RESET ptsort_test.slices;
