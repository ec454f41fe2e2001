-- Builds images in the sort's own memory: without runs, with runs between reserve
-- and commit, and with really full memory.  Unused reservations have no effect.
-- (Merges may exceed the budget: they hold a tuple of each run, and some tuples are
-- large.)
SELECT kb, spill, is_inline, s.tuples, s.runs > 0 AS runs, s.forgotten,
	s.peak_memory <= kb * 1024 OR (runs > 1 AND kb < 20000) AS within_budget
FROM (VALUES (100000, 0), (20000, 0), (1024, 0), (1024, 1), (1024, 3), (1024, 777)) b (kb, spill), (VALUES (false), (true)) v (is_inline),
	LATERAL ptsort_test_reserve(CASE set_config('ptsort_test.spill_entries', spill::text, true) WHEN '0' THEN 100000 ELSE 2000 + spill END,
		kb, is_inline) s
ORDER BY kb, spill, is_inline;
SELECT n, s.tuples, s.runs, s.forgotten FROM generate_series(0, 2) n, LATERAL ptsort_test_reserve(n, 1024) s ORDER BY n;
-- The last reservation makes the sort write its tuples, and the test does not
-- use the reserved place.  So a run is still open, and memory has no tuple.
SELECT is_inline, in_worker, s.tuples
FROM unnest('{f,t}'::bool[]) is_inline, unnest('{f,t}'::bool[]) in_worker,
	LATERAL ptsort_test_reserve(2 * set_config('ptsort_test.spill_entries', '1000', true)::int, 1024, is_inline, in_worker) s
ORDER BY is_inline, in_worker;
-- A key learns between the reservation and the use of a place.
SET ptsort_test.learn_tuples = 0;
SELECT spill, variant, columns, s.tuples, s.runs > 0 AS runs
FROM unnest('{0,1,2,100}'::int[]) spill,
	(VALUES ('tuple', 'md5((g % 200)::text), g'), ('datum', 'md5((g % 200)::text)'), ('tuple', 'md5((g % 200)::text) COLLATE "C", g')) v (variant, columns),
	LATERAL ptsort_test_model(format('SELECT %s FROM generate_series(1, 300) g WHERE %L <> '''' ORDER BY 1', columns,
		set_config('ptsort_test.spill_entries', spill::text, true)), variant, random_access => false) s
ORDER BY spill, variant, columns COLLATE "C";
SELECT ptsort_test_temp_files();
