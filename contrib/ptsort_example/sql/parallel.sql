-- The leader and workers compute the median of a table's column.
CREATE EXTENSION ptsort_example CASCADE;
LOAD 'ptsort_test';	-- settings that force rare paths
CREATE TABLE numbers (pad text, n bigint, small int);
INSERT INTO numbers SELECT repeat('x', i % 50), CASE WHEN i % 10 > 0 THEN hashint8(i) END FROM generate_series(1, 100000) i;
CREATE FUNCTION medians(workers int, OUT parallel bigint, OUT same bool)
LANGUAGE plpgsql AS $$
BEGIN
	parallel := table_median('numbers', 'n', workers);
	same := parallel IS NOT DISTINCT FROM
		(SELECT n FROM numbers WHERE n IS NOT NULL ORDER BY n OFFSET (SELECT count(n) / 2 FROM numbers) LIMIT 1);
END $$;

SET client_min_messages = debug1;
SELECT table_median('numbers', 'n');
RESET client_min_messages;
SELECT workers, m.* FROM generate_series(1, 4) workers, medians(workers) m;

-- In the first test, each process writes runs; in the second, no worker can start.
SET ptsort_test.spill_entries = 1000;
SET ptsort_test.merge_order = 2;
SELECT workers, m.* FROM generate_series(1, 2) workers, medians(workers) m;
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;
SET max_parallel_workers = 0;
SET client_min_messages = debug1;
SELECT table_median('numbers', 'n');
RESET client_min_messages;
RESET max_parallel_workers;

-- The caller requests no worker, or workers cannot read the table.
SELECT * FROM medians(0);
CREATE TEMP TABLE temporary AS SELECT n FROM numbers;
SET client_min_messages = debug1;
SELECT table_median('temporary', 'n');
RESET client_min_messages;

-- A table with one value, and a table without values.
DELETE FROM numbers WHERE ctid <> (SELECT min(ctid) FROM numbers WHERE n IS NOT NULL);
SELECT * FROM medians(2);
UPDATE numbers SET n = NULL;
SELECT * FROM medians(2);

-- Invalid calls.
SELECT table_median('numbers', 'small');
SELECT table_median('numbers', 'nothing');
SELECT table_median('pg_views', 'viewname');
CREATE ROLE ptsort_example_other;
SET ROLE ptsort_example_other;
SELECT table_median('numbers', 'n');
RESET ROLE;
DROP ROLE ptsort_example_other;
DROP FUNCTION medians;
DROP TABLE numbers;
DROP EXTENSION ptsort_example;
