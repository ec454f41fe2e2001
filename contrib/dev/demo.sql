-- demo.sql - the tables of `make demo`, and its functions for builds and
-- checks.
--
-- demo.build builds each index with the server (ptsort.enable = off) and
-- immediately afterwards with ptsort.  Both builds use one worker and the
-- leader, and the same maintenance_work_mem; the server builds GiST indexes without
-- the worker.  demo.build reads the server's index and drops it.  demo.check later
-- reads and checks ptsort's index.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION ptsort;
CREATE EXTENSION amcheck;
CREATE SCHEMA demo;

CREATE TABLE demo.builds (
	n				int GENERATED ALWAYS AS IDENTITY,
	tab				text,			-- table
	label			text,			-- the key's name in the report
	ordering		text,			-- the index's columns, as in ORDER BY
	search			text,			-- GiST: the condition of a search; else null
	tuples			bigint,
	server_s		numeric,
	ptsort_s		numeric,
	server_bytes	bigint,
	ptsort_bytes	bigint,
	built_by		text,
	server_result	text,			-- digest of the TIDs that the index returns
	ptsort_result	text,
	checks			text			-- 'ok' or the error that a check found
);

-- demo.seconds runs one statement and returns its time.
CREATE FUNCTION demo.seconds(statement text) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
BEGIN
	EXECUTE statement;
	RETURN round(extract(epoch FROM clock_timestamp() - start), 3);
END $$;

-- demo.digest reads a table through the only index that has the given order, or
-- that can do the given search, and returns a digest of the TIDs.  It does a
-- search for each corner (x, y) of a grid.
CREATE FUNCTION demo.digest(tab text, index_name text, ordering text, search text)
RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
SET enable_incremental_sort = off SET max_parallel_workers_per_gather = 0
AS $$
DECLARE
	query text := CASE WHEN search IS NULL THEN
		format('SELECT md5(string_agg(tidsend(ctid), ''''::bytea)) '
			'FROM (SELECT ctid FROM %s ORDER BY %s) AS s', tab, ordering)
	ELSE
		format('SELECT md5(string_agg(tids, '','' ORDER BY x, y)) FROM ('
			'SELECT x, y, (SELECT string_agg(ctid::text, '' '' ORDER BY ctid) '
			'FROM %s WHERE %s) AS tids '
			'FROM generate_series(0, 90, 10) AS x, generate_series(0, 90, 10) AS y) AS s',
			tab, search)
	END;
	line text;
	used bool := false;
	result text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		used := used OR line LIKE '%Index Scan using ' || index_name || ' %';
	END LOOP;
	IF NOT used THEN
		RAISE EXCEPTION 'index % is not used', index_name;
	END IF;
	EXECUTE query INTO result;
	RETURN result;
END $$;

-- demo.built_by returns the builder of an index, according to ptsort.
CREATE FUNCTION demo.built_by(index_name text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	participants int := 0;
BEGIN
	IF to_regprocedure('ptsort_last_build()') IS NOT NULL THEN
		EXECUTE 'SELECT count(*) FROM ptsort_last_build()
			WHERE index_name::text LIKE ''%'' || $1 AND participant IS NOT NULL'
			INTO participants USING index_name;
	END IF;
	RETURN CASE WHEN participants > 0 THEN 'ptsort, ' || participants
		ELSE 'server' END;
END $$;

-- demo.build builds the same index with the server and with ptsort, and returns
-- a line about both builds.
CREATE PROCEDURE demo.build(tab text, label text, ordering text,
	uniqueness text DEFAULT '', search text DEFAULT NULL, INOUT line text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	b demo.builds;
	name text;
	method text := CASE WHEN search IS NULL THEN 'btree' ELSE 'gist' END;
	request text := CASE WHEN current_setting('ptsort.enable', true) IS NULL
		THEN '' ELSE ' WITH (parallel_workers = 1)' END;
BEGIN
	INSERT INTO demo.builds (tab, label, ordering, search)
		VALUES (tab, label, ordering, search) RETURNING * INTO b;
	name := 'demo_' || b.n;
	EXECUTE format('ALTER TABLE %s SET (parallel_workers = 1)', tab);
	COMMIT;

	PERFORM set_config('ptsort.enable', 'off', false);
	b.server_s := demo.seconds(format('CREATE %s INDEX %s_server ON %s USING %s (%s)',
		uniqueness, name, tab, method, ordering));
	COMMIT;
	b.server_bytes := pg_relation_size('demo.' || name || '_server');
	b.server_result := demo.digest(tab, name || '_server', ordering, search);
	EXECUTE format('DROP INDEX demo.%s_server', name);
	COMMIT;

	PERFORM set_config('ptsort.enable', 'on', false);
	b.ptsort_s := demo.seconds(format('CREATE %s INDEX %s ON %s USING %s (%s)%s',
		uniqueness, name, tab, method, ordering, request));
	b.built_by := demo.built_by(name);
	COMMIT;
	b.ptsort_bytes := pg_relation_size('demo.' || name);
	EXECUTE format('SELECT count(*) FROM %s', tab) INTO b.tuples;

	UPDATE demo.builds AS d
		SET (tuples, server_s, ptsort_s, server_bytes, ptsort_bytes, built_by,
			server_result) = (b.tuples, b.server_s, b.ptsort_s, b.server_bytes,
			b.ptsort_bytes, b.built_by, b.server_result)
		WHERE d.n = b.n;
	COMMIT;
	line := format('%s server %s s, ptsort %s s', rpad(label, 30),
		to_char(b.server_s, '990.00'), to_char(b.ptsort_s, '990.00'));
END $$;

-- demo.check_one checks an index with ptsort_check, and a btree also with
-- amcheck.
CREATE FUNCTION demo.check_one(index regclass, is_btree bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text := 'ok';
BEGIN
	IF is_btree THEN
		PERFORM bt_index_parent_check(index, true, true);
	END IF;
	SELECT details::text INTO result FROM ptsort_check(index, true) WHERE problems > 0;
	RETURN coalesce(result, 'ok');
END $$;

-- demo.check checks all of ptsort's indexes that have no result yet.  Several
-- sessions can share this work.
CREATE PROCEDURE demo.check()
LANGUAGE plpgsql AS $$
DECLARE
	b demo.builds;
BEGIN
	LOOP
		SELECT * INTO b FROM demo.builds AS d
			WHERE d.checks IS NULL AND d.built_by IS NOT NULL
			ORDER BY d.server_s DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
		EXIT WHEN NOT FOUND;
		BEGIN
			b.ptsort_result := demo.digest(b.tab, 'demo_' || b.n, b.ordering, b.search);
			b.checks := demo.check_one(format('demo.demo_%s', b.n), b.search IS NULL);
		EXCEPTION WHEN OTHERS THEN
			b.checks := SQLERRM;
		END;
		UPDATE demo.builds AS d
			SET (ptsort_result, checks) = (b.ptsort_result, b.checks)
			WHERE d.n = b.n;
		COMMIT;
	END LOOP;
END $$;

-- The report, with one row for each index.
CREATE VIEW demo.report AS
	SELECT label AS "key", tuples AS "rows", server_s AS "server s",
		ptsort_s AS "ptsort s", round(server_s / ptsort_s, 2) AS "ratio",
		pg_size_pretty(server_bytes) AS "server size",
		pg_size_pretty(ptsort_bytes) AS "ptsort size",
		built_by AS "built by",
		CASE WHEN server_result = ptsort_result THEN 'yes' ELSE 'NO' END
			AS "same result",
		checks AS "checks"
	FROM demo.builds ORDER BY n;

-- Two million generated rows, with one column for each kind of key.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE demo.events AS
	SELECT i AS id,
		(random() * 9e18)::int8 AS account,
		gen_random_uuid() AS session,
		timestamptz '2026-01-01 00:00:00+00' + random() * interval '300 days' AS at,
		(random() * 1e7)::numeric(12, 2) AS amount,
		md5(i::text) AS token,
		(random() * 1023)::int4 AS shop
	FROM generate_series(1::int8, 2000000) AS i;

-- A smaller table for keys that are expensive to compare: amcheck compares each
-- key about 20 times.
CREATE TABLE demo.tokens AS SELECT token FROM demo.events WHERE id <= 500000;

-- Places in a few thousand towns.
CREATE TABLE demo.places AS
	SELECT point(x + random() * random(), y + random() * random()) AS place
	FROM (SELECT random() * 100 AS x, random() * 100 AS y
			FROM generate_series(1, 2500)) AS towns, generate_series(1, 200);

-- The same places as houses of PostGIS, if the server has it.
SELECT count(*) > 0 AS has_postgis FROM pg_available_extensions WHERE name = 'postgis' \gset
\if :has_postgis
CREATE EXTENSION postgis;
CREATE TABLE demo.houses AS
	SELECT ST_MakeEnvelope(place[0], place[1], place[0] + 0.001, place[1] + 0.001, 4326)
		AS outline FROM demo.places;
VACUUM (ANALYZE) demo.houses;
\endif

-- Data found on this machine.
CREATE TABLE demo.files (path text, bytes int8, changed timestamptz);
\copy demo.files from 'files.tsv'
CREATE TABLE demo.words (word text);
\copy demo.words from 'words.tsv'

VACUUM (ANALYZE) demo.events, demo.tokens, demo.places, demo.files, demo.words;
CHECKPOINT;
