-- Runs on tapes: the index is the same for every budget, run length and merge
-- order.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

CREATE TABLE spill AS
SELECT i * 7919 % 12007 AS random, i AS up, -i::int8 AS down, i % 10 AS few,
	CASE WHEN i % 9 > 0 THEN md5(i::text) END AS word, i * 7919 % 501 / 3.0 AS n
FROM generate_series(1, 16000) i;
ANALYZE spill;

-- Calls same() with this budget, run length and merge order.  Also returns data
-- from the report.
CREATE FUNCTION spilled(what text, kb int, spill_entries int, merge_order int, participants int,
	OUT result text, OUT runs int8, OUT temp_bytes int8, OUT run_bytes int8, OUT peak int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('maintenance_work_mem', kb::text, true),
		set_config('ptsort_test.spill_entries', spill_entries::text, true),
		set_config('ptsort_test.merge_order', merge_order::text, true);
	result := same('spill', what, '', participants);
	SELECT b.runs, b.temp_bytes, b.run_bytes, b.peak_memory_bytes INTO runs, temp_bytes, run_bytes, peak
	FROM ptsort_last_build() b WHERE b.participant IS NULL;
END $$;

-- different budgets cause different runs; a serial build in memory has no runs
SELECT what, kb, s.result, s.runs > 1 AS runs, s.temp_bytes > 0 AS files
FROM unnest(ARRAY['(random)', '(word COLLATE "C")', '(few, word)']) what, unnest('{1024,4096,65536}'::int[]) kb,
	spilled(what, kb, 0, 0, 1) s;
SELECT what, kb, s.result, s.temp_bytes > 0 AS files
FROM unnest(ARRAY['(random)', '(word)']) what, unnest('{1024,65536}'::int[]) kb, spilled(what, kb, 0, 0, 3) s;

-- ptsort never merges runs that do not overlap, whatever the order of the
-- runs.  If none of a build's runs overlap, there are only initial runs, and
-- each participant writes at most one run that is not full.
SELECT what, participants, s.result, s.runs > participants AS several, s.runs <= 15 + participants AS unmerged
FROM (VALUES ('(down)', 1), ('(down)', 3), ('(((up - 1) / 1000 * 5 % 16), up)', 1), ('(random)', 1), ('(random)', 3)) o (what, participants),
	spilled(what, 4096, 1000, 2, participants) s;

-- Short and long runs; merges of two runs and of all runs; descending keys,
-- whose runs do not overlap; many equal keys, in TID order.
DELETE FROM spill WHERE up > 2500;
VACUUM spill;
SELECT what, participants, count(*), count(*) FILTER (WHERE result = 'same') AS same, min(s.runs) >= 2 AS runs, max(s.runs) > 50 AS many
FROM unnest(ARRAY['(random)', '(down)', '(few DESC)', '(word COLLATE "C")', '(n NULLS FIRST, word)']) what, unnest('{1,3}'::int[]) participants,
	(VALUES (47, 2), (51, 0), (1299, 2)) o (spill_entries, merge_order),
	spilled(what, 4096, spill_entries, merge_order, participants) s
GROUP BY what, participants ORDER BY what COLLATE "C", participants;
CREATE TABLE spill_few AS SELECT i % 7 AS a, md5(i::text) AS word FROM generate_series(1, 400) i;
SET ptsort_test.spill_entries = 1;
SET ptsort_test.merge_order = 2;
SELECT what, same('spill_few', what), same('spill_few', what, '', 3) AS parallel
FROM unnest(ARRAY['(a)', '(word)', '(a, word DESC)']) what;
-- an index of one row, and an index of no rows
TRUNCATE spill_few;
INSERT INTO spill_few VALUES (1, 'one');
SELECT same('spill_few', '(word)'), same('spill_few', '(word)', '', 3), same('spill_few', '(a) WHERE a > 1', '', 3);
RESET ptsort_test.spill_entries;
RESET ptsort_test.merge_order;

-- keys in ascending order: one run continues each time memory is full
SELECT result, runs FROM spilled('(up)', 4096, 100, 0, 1);

-- with much memory, the runs of a serial build are in memory, unless one merge
-- cannot read all runs
SELECT what, merge_order, s.result, s.runs > 1 AS runs, s.temp_bytes > 0 AS files
FROM unnest(ARRAY['(random)', '(word COLLATE "C")', '(few, word)']) what, unnest('{0,2,9}'::int[]) merge_order,
	spilled(what, 262144, 200, merge_order, 1) s;

-- For any number of merges, temporary files hold the data once, plus a few
-- blocks for each tape.  Memory stays within the budget.
CREATE TABLE spill_large AS SELECT md5(i::text) COLLATE "C" AS word, md5((i % 777)::text) AS more FROM generate_series(1, 60000) i;
CREATE FUNCTION spill_space(kb int, spill_entries int, merge_order int, workers int,
	OUT participants int8, OUT runs int8, OUT run_bytes int8, OUT temp_bytes int8, OUT peak int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('maintenance_work_mem', kb::text, true),
		set_config('ptsort_test.spill_entries', spill_entries::text, true),
		set_config('ptsort_test.merge_order', merge_order::text, true),
		set_config('ptsort.parallel_workers', workers::text, true);
	CREATE INDEX spill_space_i ON spill_large (word, more);
	DROP INDEX spill_space_i;
	SELECT max(b.participant) + 1, sum(b.runs), sum(b.run_bytes), sum(b.temp_bytes), sum(b.peak_memory_bytes)
	INTO participants, runs, run_bytes, temp_bytes, peak
	FROM ptsort_last_build() b WHERE index_name = 'spill_space_i' AND participant IS NOT NULL;
END $$;
WITH data AS (SELECT run_bytes AS bytes FROM spill_space(1024, 0, 0, 0))
SELECT o.*, participants, runs > 20 AS many_runs,
	temp_bytes BETWEEN 0.99 * bytes AND 1.1 * bytes + runs * 8192 AS space,
	peak <= 1.3 * 1024 * greatest(kb, participants * 1024) AS memory
FROM data, (VALUES (1024, 0, 0, 0), (1024, 2000, 0, 0), (1024, 2000, 2, 0), (1024, 1000, 3, 0), (4096, 0, 0, 0),
		(1024, 0, 0, 2), (1024, 700, 2, 2), (8192, 0, 0, 2)) o (kb, spill_entries, merge_order, workers),
	spill_space(kb, spill_entries, merge_order, workers);

-- One merge reads all runs (here 55) if the budget has room for their buffers.
-- A participant writes only initial runs, except that a worker also writes the
-- run that it leaves for the final merge.
CREATE FUNCTION spill_passes(spill_entries int, workers int, OUT runs int8, OUT one_pass bool, OUT two_passes bool)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('maintenance_work_mem', CASE WHEN spill_entries > 1000 THEN '4MB' ELSE '1MB' END, true), set_config('ptsort_test.spill_entries', spill_entries::text, true),
		set_config('ptsort.parallel_workers', workers::text, true);
	CREATE INDEX spill_space_i ON spill_large (word, more);
	DROP INDEX spill_space_i;
	SELECT sum(b.runs), bool_and(b.runs <= ceil(b.tuples::numeric / spill_entries) + least(workers, 1)),
		bool_or(b.runs > ceil(b.tuples::numeric / spill_entries) + 1)
	INTO runs, one_pass, two_passes
	FROM ptsort_last_build() b WHERE index_name = 'spill_space_i' AND participant IS NOT NULL;
END $$;
SELECT spill_entries, workers, runs > 50 AS many, one_pass, two_passes
FROM (VALUES (1100, 0), (1100, 1), (250, 0), (250, 1)) o (spill_entries, workers), spill_passes(spill_entries, workers);

-- keys of up to a third of a page, out of line and compressed in the table
CREATE TABLE spill_wide AS
SELECT i, (SELECT string_agg(md5((i * 100 + j)::text), '') FROM generate_series(1, 81 - i % 3 * 20) j) AS wide FROM generate_series(1, 700) i;
ALTER TABLE spill_wide ALTER wide SET STORAGE EXTERNAL;
UPDATE spill_wide SET wide = wide WHERE i % 2 = 0;
SET maintenance_work_mem = '1MB';
SELECT what, same('spill_wide', what), same('spill_wide', what, '', 3) AS parallel
FROM unnest(ARRAY['(wide COLLATE "C")', '(wide COLLATE "en_US.utf8")', '((i % 3)) INCLUDE (wide)']) what;
SELECT participant, tuples, runs > 1 AS runs FROM ptsort_last_build() WHERE participant IS NULL;

-- Even with ample memory, a run that another participant will read fits into
-- the CPU's cache, unless the run's writer would then write more than 16 runs.
-- A run has at least 10 MB.  (A key learns when 200,000 tuples are in memory.)
CREATE TABLE spill_short AS SELECT hashint8(i::int8) AS a, md5(i::text) COLLATE "C" AS word, i % 7 AS few FROM generate_series(1, 1300000) i;
VACUUM ANALYZE spill_short;
CREATE FUNCTION spill_short(columns text, OUT participants int8, OUT most int8, OUT several bool, OUT memory bool, OUT entries bool)
LANGUAGE plpgsql SET maintenance_work_mem = '400MB' SET ptsort.parallel_workers = 1 SET max_parallel_maintenance_workers = 1 AS $$
BEGIN
	EXECUTE format('CREATE INDEX spill_short_i ON spill_short %s', columns);
	PERFORM bt_index_parent_check('spill_short_i', true, true);
	SELECT max(b.participant) + 1, max(b.runs) / 16, bool_or(b.runs >= 2 AND b.tuples > 500000), max(b.peak_memory_bytes) < 48 << 20, sum(b.tuples) = 1300000
	INTO participants, most, several, memory, entries
	FROM ptsort_last_build() b WHERE index_name = 'spill_short_i' AND participant IS NOT NULL;
	DROP INDEX spill_short_i;
END $$;
SELECT columns, s.* FROM unnest(ARRAY['(a)', '(word)', '(few, a)']) columns, spill_short(columns) s;

DROP TABLE spill, spill_few, spill_large, spill_wide, spill_short;
DROP FUNCTION spilled, spill_space, spill_passes, spill_short;
