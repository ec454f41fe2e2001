-- Raises an error at each named point of a sort.  The server must report the
-- error, the sort must leave nothing behind, and the session must go on.
LOAD 'ptsort_test';
SET ptsort_test.fault = 'a point:0';
SET ptsort_test.fault = 'a point:1:dance';
SET ptsort_test.fault = 'a point:1:error:nowhere';
SET ptsort_test.fault = 'a point:1:error:any:5';
SET ptsort_test.fault = '';

-- The points that a sort with runs passes.
SET ptsort_test.spill_entries = 500;
SET ptsort_test.merge_order = 2;
SELECT tuples FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => 2);
CREATE TEMP TABLE points AS SELECT point FROM ptsort_test_fault_points();
SELECT point FROM points ORDER BY point COLLATE "C";

-- Runs a sort with a fault; returns the error or the number of tuples.
CREATE FUNCTION with_fault(point text, workers int, location text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('ptsort_test.fault', format('%s:1:error:%s', point, location), false);
	BEGIN
		SELECT s.tuples || ' tuples' INTO result
		FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => workers) s;
	EXCEPTION WHEN OTHERS THEN
		result := SQLERRM;
	END;
	PERFORM set_config('ptsort_test.fault', '', false);
	RETURN result;
END $$;

SELECT point, with_fault(point, 0, 'any') AS serial FROM points ORDER BY point COLLATE "C";
SELECT point, with_fault(point, 2, 'leader') AS leader FROM points ORDER BY point COLLATE "C";
SELECT point, with_fault(point, 2, 'worker') AS worker FROM points ORDER BY point COLLATE "C";
SELECT ptsort_test_temp_files();
SELECT tuples FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => 2);

-- The first sort's worker exits, and the leader notices the exit.  The second
-- sort's worker is slow, and the leader's statement times out.
\set VERBOSITY terse
SET ptsort_test.fault = 'sort: perform:1:fatal:worker';
SELECT tuples FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => 2);
SET ptsort_test.fault = 'sort: perform:1:sleep:worker';
BEGIN;
SET LOCAL statement_timeout = '500ms';
SELECT tuples FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => 2);
ROLLBACK;
SET ptsort_test.fault = '';
SELECT tuples FROM ptsort_test_sort('tuple', 'shape_int8_i', 5000, workers => 2);
SELECT ptsort_test_temp_files();
