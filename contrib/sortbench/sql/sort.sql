-- All sorts (in one or two passes, by one or more processes, with much or
-- little memory) give the same bytes as a sort by SQL.
SELECT try($$SELECT sortbench_generate('@uniform@', 30000)$$), try($$SELECT sortbench_generate('@ascii@', 30000, 5, 'ascii')$$);
-- Each key occurs four times.  Records with the same key are not in the order
-- of their bytes.
SELECT write_file('equal', string_agg(set_byte(set_byte(r.record, 20, (i * 7 % 4)::int), 21, (n % 256)::int), '' ORDER BY i * 11 % 7, n))
FROM records('ascii') r, generate_series(1, 4) i WHERE n < 5000;
CREATE TABLE expected AS
SELECT f AS file, md5(string_agg(record, '' ORDER BY substr(record, 1, 10), n)) AS digest, count(*)
FROM unnest('{uniform,ascii,equal}'::text[]) f, records(f) GROUP BY f;

-- Returns those figures of a sort that do not depend on chance.  The used
-- memory may exceed the limit, because the last block of memory may be larger
-- than needed.
CREATE FUNCTION sort(file text, arguments text, OUT passes int, OUT processes int, OUT temporary text, OUT result text)
LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	EXECUTE format('SELECT * FROM sortbench_sort(ARRAY[place(%L)], ARRAY[place(''out'')], overwrite => true, %s)', file, arguments) INTO r;
	passes := r.passes_made;
	processes := r.participants;
	temporary := CASE WHEN r.temp_bytes > r.bytes THEN 'records' WHEN r.temp_bytes > 0 THEN 'keys' ELSE 'none' END;
	result := CASE WHEN digest('out') <> e.digest THEN 'WRONG' WHEN r.records <> e.count THEN 'COUNT'
		WHEN r.memory_used > r.memory_allowed + 8192 THEN format('%s of %s bytes', r.memory_used, r.memory_allowed) ELSE 'right' END
	FROM expected e WHERE e.file = sort.file;
END $$;
SELECT file, workers, asked, s.*
FROM expected, generate_series(0, 3) workers, generate_series(0, 2) asked,
	sort(file, format('workers => %s, passes => %s, memory => ''64MB''', workers, asked)) s ORDER BY 1, 2, 3;

-- With little memory, sortbench_sort() chooses two passes.
SELECT file, workers, s.*
FROM expected, generate_series(0, 2) workers, sort(file, format('workers => %s, memory => ''%s MB''', workers, (workers + 1) * 2)) s ORDER BY 1, 2;

-- Sorts with many runs and merges.
LOAD 'ptsort_test';	-- settings that force code paths
SET ptsort_test.spill_entries = 1000;
SET ptsort_test.merge_order = 2;
SET ptsort_test.slices = 5;
SELECT file, workers, asked, s.*
FROM expected, generate_series(0, 2) workers, generate_series(1, 2) asked,
	sort(file, format('workers => %s, passes => %s, memory => ''64MB''', workers, asked)) s ORDER BY 1, 2, 3;
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;
RESET ptsort_test.slices;

-- Sorts without an available worker, and with maintenance_work_mem as the
-- memory limit.
SET max_parallel_workers = 0;
SELECT * FROM sort('equal', 'workers => 2, passes => 1, memory => ''64MB''');
RESET max_parallel_workers;
SET maintenance_work_mem = '6MB';
SELECT * FROM sort('uniform', 'workers => 0');
SET maintenance_work_mem = '3MB';
SELECT * FROM sort('uniform', 'workers => 0');
RESET maintenance_work_mem;

-- With overwrite, a sort replaces its input.
SELECT try($$SELECT s.records FROM sortbench_sort('{@uniform@}', '{@uniform@}', overwrite => true) s$$);
SELECT digest('uniform') = digest FROM expected WHERE file = 'uniform';

-- The report shows phases and numbers of bytes.  A participant's number of bytes
-- depends on timing, so the test only checks the sum over all participants.
SELECT array_agg(DISTINCT phase) AS phases_with_bytes FROM sortbench_report() WHERE participant IS NOT NULL AND bytes > 0;
SELECT participant, phase, elapsed_ms >= 0 AND start_ms >= 0 AND user_ms >= 0 AND system_ms >= 0 AND busy_percent >= 0 AND io_ms >= 0 AND mb_per_second >= 0 AS figures
FROM sortbench_report() WHERE participant = 0 ORDER BY start_ms;
SELECT participant, array_agg(phase ORDER BY start_ms), bool_and(start_ms >= end_ms) AS in_turn FROM
	(SELECT *, lag(start_ms + elapsed_ms - 1, 1, 0) OVER (PARTITION BY participant ORDER BY start_ms) AS end_ms FROM sortbench_report()) r
WHERE participant = 1 GROUP BY 1;
SELECT phase, replace(file, place(''), '') AS file, bytes FROM sortbench_report() WHERE participant IS NULL;
SELECT sum(bytes) FILTER (WHERE phase = 'read') AS read, sum(bytes) FILTER (WHERE phase = 'write') AS written FROM sortbench_report() WHERE participant IS NOT NULL;

-- Sorts few records, and no records.
SELECT write_file('one', 'c'), write_file('few', 'cab'), write_file('none', '');
SELECT f, workers, passes, try(format($$SELECT s.records, s.participants FROM sortbench_sort('{@%s@}', '{@out@}', %s, record_size => 1, key_length => 1, passes => %s, overwrite => true) s$$, f, workers, passes)),
	pg_read_file(place('out'))
FROM unnest('{none,one,few}'::text[]) f, generate_series(0, 2) workers, generate_series(1, 2) passes;
SELECT try($$SELECT sortbench_sort(NULL, '{@out@}')$$);
SELECT count(sortbench_remove(place(f))) FROM unnest('{uniform,ascii,equal,one,few,none,out}'::text[]) f;
DROP FUNCTION sort;
DROP TABLE expected;
