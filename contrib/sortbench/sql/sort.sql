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

-- Sorts all three files.  Returns those figures that do not depend on chance.
-- The used memory may exceed the limit, because the last block of memory may be
-- larger than needed.
CREATE FUNCTION sort(arguments text, OUT passes text, OUT processes text, OUT temporary text, OUT result text)
LANGUAGE plpgsql AS $$
DECLARE
	e expected;
	r record;
BEGIN
	FOR e IN SELECT * FROM expected ORDER BY file LOOP
		EXECUTE format('SELECT * FROM sortbench_sort(ARRAY[place(%L)], ARRAY[place(''out'')], overwrite => true, %s)', e.file, arguments) INTO r;
		passes := concat_ws(' ', passes, r.passes_made);
		processes := concat_ws(' ', processes, r.participants);
		temporary := concat_ws(' ', temporary, CASE WHEN r.temp_bytes > r.bytes THEN 'records' WHEN r.temp_bytes > 0 THEN 'keys' ELSE 'none' END);
		result := concat_ws(' ', result, CASE WHEN digest('out') <> e.digest THEN 'WRONG' WHEN r.records <> e.count THEN 'COUNT'
			WHEN r.memory_used > r.memory_allowed + 8192 THEN format('%s of %s bytes', r.memory_used, r.memory_allowed) ELSE 'right' END);
	END LOOP;
END $$;
SELECT workers, asked, s.*
FROM generate_series(0, 2) workers, generate_series(0, 2) asked,
	sort(format('workers => %s, passes => %s, memory => ''64MB''', workers, asked)) s ORDER BY 1, 2;

-- With little memory, sortbench_sort() chooses two passes.
SELECT workers, s.* FROM generate_series(0, 2) workers, sort(format('workers => %s, memory => ''%s MB''', workers, (workers + 1) * 2)) s ORDER BY 1;

-- Sorts with many runs and merges, through the cache and with direct output.
LOAD 'ptsort_test';	-- settings that force code paths
SET ptsort_test.spill_entries = 1000;
SET ptsort_test.merge_order = 2;
SET ptsort_test.slices = 5;
SELECT workers, asked, direct, s.*
FROM generate_series(0, 2) workers, generate_series(1, 2) asked, unnest('{f,t}'::bool[]) direct,
	sort(format('workers => %s, passes => %s, memory => ''64MB'', direct_output => %L', workers, asked, direct)) s ORDER BY 1, 2, 3;
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;
RESET ptsort_test.slices;

-- Sorts without an available worker, and with maintenance_work_mem as the
-- memory limit.
SET max_parallel_workers = 0;
SELECT * FROM sort('workers => 2, passes => 1, memory => ''64MB''');
RESET max_parallel_workers;
SET maintenance_work_mem = '3MB';
SELECT * FROM sort('workers => 0');
RESET maintenance_work_mem;

-- With overwrite, a sort replaces its input.
SELECT try($$SELECT s.records FROM sortbench_sort('{@uniform@}', '{@uniform@}', overwrite => true) s$$);
SELECT digest('uniform') = digest FROM expected WHERE file = 'uniform';

-- The report shows phases in turn, and numbers of bytes.  A participant's number
-- of bytes depends on timing, so the test only checks the sum.
SELECT participant, array_agg(phase ORDER BY start_ms), bool_and(start_ms >= end_ms) AS in_turn,
	bool_and(elapsed_ms >= 0 AND user_ms >= 0 AND system_ms >= 0 AND busy_percent >= 0 AND io_ms >= 0 AND mb_per_second >= 0) AS figures
FROM (SELECT *, lag(start_ms + elapsed_ms - 1, 1, 0) OVER (PARTITION BY participant ORDER BY start_ms) AS end_ms FROM sortbench_report()) r GROUP BY 1;
SELECT phase, sum(bytes) FROM sortbench_report() GROUP BY phase HAVING sum(bytes) > 0 ORDER BY 1;

-- Records of other sizes, keys of other lengths and at other places, and few
-- records or none.  The files have sizes that are not whole blocks.
CREATE FUNCTION differences(n int, size int, start int, length int, passes int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	PERFORM write_file('in', substring(pg_read_binary_file(place('ascii')) FROM 1 FOR n * size));
	said := try(format('SELECT s.records FROM sortbench_sort(''{@in@}'', ''{@out@}'', 1, ''64MB'', %s, %s, %s, passes => %s, overwrite => true, direct_output => %L) s',
		size, start, length, passes, n % 2 = 1));
	RETURN CASE WHEN said <> format('(%s)', n) THEN said
		WHEN digest('out') <> (SELECT md5(coalesce(string_agg(record, '' ORDER BY substr(record, start + 1, length), r.n), '')) FROM records('in', size) r) THEN 'WRONG' END;
END $$;
SELECT count(*), array_agg(DISTINCT differences(n, size, start, length, passes)) AS differences
FROM (VALUES (0, 3, 0, 1), (1, 3, 0, 1), (3, 3, 1, 2), (4097, 1, 0, 1), (2000, 2, 1, 1), (20011, 7, 0, 7), (700, 4095, 20, 10), (301, 4096, 4000, 8), (40, 60000, 59980, 10)) r (n, size, start, length),
	generate_series(1, 2) passes;
SELECT count(*), array_agg(DISTINCT differences(3001, 40, 3, length, passes)) AS differences
FROM generate_series(1, 37) length, generate_series(1, 2) passes WHERE length < 20 OR passes = 2;
SELECT try($$SELECT sortbench_sort(NULL, '{@out@}')$$);
SELECT count(sortbench_remove(place(f))) FROM unnest('{uniform,ascii,equal,in,out}'::text[]) f;
DROP FUNCTION sort, differences;
DROP TABLE expected;
