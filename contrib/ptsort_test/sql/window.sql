-- Guided merges: what hints decide is verified in a window, or by a list where
-- that does not pay; wrong hints, any number of runs, runs that are done early,
-- large tuples, ties.  The server's sort is the model.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE guided AS
SELECT g, md5(g::text) COLLATE "en-x-icu" AS random,
	md5((g % 50)::text) || CASE WHEN g % 3 = 0 THEN 'É' ELSE 'e' END COLLATE "en-x-icu" AS few,
	lpad(g::text, 8, '0') COLLATE "en-x-icu" AS ascending,
	CASE WHEN g < 2000 THEN 'a' ELSE 'z' END || md5(g::text) COLLATE "en-x-icu" AS late,
	repeat('x', CASE WHEN g % 999 = 0 THEN 70000 WHEN g % 7 = 0 THEN 300 ELSE g % 13 END) AS filler
FROM generate_series(1, 4000) g;
ANALYZE guided;
CREATE FUNCTION guided_sort(k text, what text, spill int, merge_order int, wrong int, stable bool, kb int, bound int,
	OUT tuples int8, OUT runs int8, OUT comparisons int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true),
		set_config('ptsort_test.spill_entries', spill::text, true),
		set_config('ptsort.debug_wrong_hints', wrong::text, true),
		set_config('ptsort_test.learn_tuples', '1', true);
	SELECT m.tuples, m.runs, m.comparisons INTO tuples, runs, comparisons
	FROM ptsort_test_model(format('SELECT %s FROM guided ORDER BY %I', what, k), budget_kb => kb, stable => stable, bound => bound) m;
END $$;

-- With good hints: less than two comparisons of each tuple, one of them when
-- its run is written.  With bad ones no more than the list's.
SELECT k, spill, wrong, r.tuples, r.runs > 4 AS runs, r.comparisons <= most * r.tuples AS few
FROM (VALUES ('random', 600, 0, 2.0), ('random', 100, 0, 2.2), ('late', 600, 0, 2.0), ('random', 600, 1000, 2.3),
			 ('random', 600, 100, 4), ('random', 600, 10, 8), ('random', 600, 1, 16)) v (k, spill, wrong, most),
	 guided_sort(k, k, spill, 0, wrong, false, 16384, 0) r;

-- Any number of runs, and merges that write runs.
SELECT k, what, count(*) AS sorts, min(r.tuples) AS least, max(r.tuples) AS most, max(r.runs) > 100 AS many_runs
FROM unnest('{random,few,ascending,late}'::text[]) k,
	 unnest('{"few, g","late, filler"}'::text[]) what,
	 (VALUES (40, 0), (100, 7), (700, 0), (1900, 0)) o (spill, merge_order),
	 unnest('{0,1,10,300}'::int[]) wrong,
	 unnest('{false,true}'::bool[]) stable,
	 guided_sort(k, what || ',' || k || ' AS k2', spill, merge_order, wrong, stable, CASE WHEN spill < 200 THEN 1024 ELSE 8192 END, 0) r
GROUP BY k, what
ORDER BY k COLLATE "C", what COLLATE "C";

-- Only the first ones.
SELECT bound, wrong, count(*) AS sorts, max(r.runs) > 2 AS runs
FROM unnest('{100,2500}'::int[]) bound, unnest('{0,3,50}'::int[]) wrong, unnest('{random,few}'::text[]) k,
	 guided_sort(k, 'g,' || k, 700, 0, wrong, false, 8192, bound) r
GROUP BY bound, wrong
ORDER BY bound, wrong;
