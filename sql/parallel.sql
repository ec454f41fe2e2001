-- Builds by one, two and four participants: the index is always the same, and
-- the report shows each participant's share.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
SET max_parallel_maintenance_workers = 4;

CREATE TABLE parallels AS
SELECT i * 7919 % 15013 AS a, CASE WHEN i % 3 > 0 THEN i % 11 END AS few, md5(i::text) AS word, i AS up
FROM generate_series(1, 6000) i;
DELETE FROM parallels WHERE up % 10 = 3;
ANALYZE parallels;

SELECT what, same('parallels', what, kind, 1) AS one, same('parallels', what, kind, 2) AS two, same('parallels', what, kind, 4) AS four
FROM (VALUES ('(a)', ''), ('(few DESC)', ''), ('(few NULLS FIRST, word)', ''), ('(word COLLATE "en_US.utf8")', ''), ('(up)', 'UNIQUE'),
	('(word) INCLUDE (few)', 'UNIQUE'), ('(lower(word), (up % 7))', ''), ('(a) WHERE few = 5', ''), ('(few) WITH (deduplicate_items = off)', ''),
	('(up) WITH (fillfactor = 50)', '')) v (what, kind);

-- only the workers build the index
SET ptsort_test.leader_participates = off;
CREATE INDEX parallels_i ON parallels (word) WITH (parallel_workers = 2);
SELECT index_name, participant, role FROM ptsort_last_build();
SELECT role, sum(tuples) AS tuples, sum(runs) > 0 AS runs, sum(scan_ms) > 0 AS scan, sum(sort_ms) > 0 AS sort
FROM ptsort_last_build() GROUP BY role ORDER BY role;
SELECT bt_index_parent_check('parallels_i', true, true);
-- without workers, the leader builds the index
DROP INDEX parallels_i;
CREATE INDEX parallels_i ON parallels (word) WITH (parallel_workers = 0);
SELECT participant, role, tuples FROM ptsort_last_build();
DROP INDEX parallels_i;
RESET ptsort_test.leader_participates;

-- every participant is in the report, and the total is the participants' sum
CREATE INDEX parallels_i ON parallels (word, a) WITH (parallel_workers = 3);
SELECT participant, role FROM ptsort_last_build();
SELECT count(*) FILTER (WHERE participant IS NULL) AS totals,
	sum(tuples) FILTER (WHERE participant IS NULL) = sum(tuples) FILTER (WHERE participant IS NOT NULL) AS tuples,
	sum(pages) FILTER (WHERE participant IS NULL) = pg_relation_size('parallels_i') / current_setting('block_size')::int AS pages,
	max(scan_ms) FILTER (WHERE participant IS NULL) = max(scan_ms) FILTER (WHERE participant IS NOT NULL) AS scan_ms,
	sum(comparisons) FILTER (WHERE participant IS NULL) = sum(comparisons) FILTER (WHERE participant IS NOT NULL) AS comparisons,
	sum(run_bytes) FILTER (WHERE participant IS NULL) = sum(run_bytes) FILTER (WHERE participant IS NOT NULL) AS run_bytes
FROM ptsort_last_build();

-- The number of workers comes from WITH; without WITH, from
-- ptsort.parallel_workers; and if that setting is -1, from the table's option
-- or the server's cost model.  max_parallel_maintenance_workers limits the
-- number.
CREATE FUNCTION participants(statement text) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS parallels_i;
	EXECUTE statement;
	RETURN (SELECT count(*) FROM ptsort_last_build() WHERE index_name = 'parallels_i' AND participant IS NOT NULL);
END $$;
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS cost_model;
SET min_parallel_table_scan_size = '8kB';
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS cost_model;
SET ptsort.parallel_workers = 1;
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS setting;
SELECT participants('CREATE INDEX parallels_i ON parallels (a) WITH (parallel_workers = 3)') AS request;
SELECT participants('CREATE INDEX parallels_i ON parallels (a) WITH (parallel_workers = 0)') AS request;
SELECT participants('CREATE INDEX parallels_i ON parallels (a) WITH (parallel_workers = 1000)') AS limited;
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS setting_again;
SET ptsort.parallel_workers = 0;
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS setting;
RESET ptsort.parallel_workers;
ALTER TABLE parallels SET (parallel_workers = 2);
SELECT participants('CREATE INDEX parallels_i ON parallels (a)') AS of_table;
SELECT participants('CREATE INDEX parallels_i ON parallels (a) WITH (parallel_workers = 1)') AS request;
SET max_parallel_maintenance_workers = 0;
SELECT participants('CREATE INDEX parallels_i ON parallels (a) WITH (parallel_workers = 2)') AS none_allowed;
SET max_parallel_maintenance_workers = 4;
RESET min_parallel_table_scan_size;

-- uneven work: one page with all rows, more participants than pages
CREATE TABLE parallel_few (a int);
INSERT INTO parallel_few SELECT i % 5 FROM generate_series(1, 100) i;
SELECT same('parallel_few', '(a)', '', 4);
INSERT INTO parallel_few SELECT 5 FROM generate_series(1, 3000);
DELETE FROM parallel_few WHERE ctid >= '(1,1)' AND ctid < '(10,1)';
SELECT same('parallel_few', '(a)', '', 4), same('parallel_few', '(a) WHERE a = 6', '', 4);
DELETE FROM parallel_few;
SELECT same('parallel_few', '(a)', '', 4), same('parallel_few', '(a)');

-- Participants wait for each other, so that at least two read rows.  TIDs then
-- decide the order of equal keys from different participants.
CREATE TABLE parallel_shares (a int, pad text) WITH (fillfactor = 10);
INSERT INTO parallel_shares SELECT i, repeat('p', 150) FROM generate_series(1, 400) i;
CREATE FUNCTION key(int, int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN RETURN 'key ' || $1 % $2; END$$;
CREATE FUNCTION together(int, int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN
	PERFORM pg_stat_clear_snapshot();
	IF current_setting('ptsort.enable')::bool AND EXISTS (SELECT FROM pg_stat_progress_create_index) THEN
		PERFORM pg_advisory_xact_lock_shared(pg_backend_pid());
		FOR i IN 1 .. 10000 LOOP
			EXIT WHEN (SELECT count(DISTINCT pid) > 1 FROM pg_locks WHERE locktype = 'advisory');
			PERFORM pg_sleep(0.01);
		END LOOP;
	END IF;
	RETURN 'key ' || $1 % $2;
END$$;
SELECT same('parallel_shares', '(together(a, 3))', '', 3);
SELECT count(*) FILTER (WHERE tuples > 0) > 1 AS shared FROM ptsort_last_build() WHERE participant IS NOT NULL;
-- Text in very few rows: no participant learns from its own rows, and some
-- participants have no rows.  Every build must end.
SELECT same('parallel_shares', '(together(a, 300) COLLATE "en_US.utf8")', '', 3);
SET statement_timeout = '60s';
DO $$BEGIN
	FOR i IN 1 .. 20 LOOP
		EXECUTE format('CREATE INDEX parallel_shares_i ON parallel_shares ((a::text) COLLATE "en_US.utf8") WITH (parallel_workers = %s)', 1 + i % 3);
		PERFORM bt_index_parent_check('parallel_shares_i', true, true);
		DROP INDEX parallel_shares_i;
	END LOOP;
END$$;
RESET statement_timeout;
INSERT INTO parallel_shares VALUES (300, '');
-- (later server versions print public.key)
SELECT replace(attempt('CREATE UNIQUE INDEX attempted ON parallel_shares (key(a, 1000)) WHERE a % 50 = 0'), 'public.', '');

DROP TABLE parallels, parallel_few, parallel_shares;
DROP FUNCTION participants, key, together;
