\set ECHO none
-- For the tests that build an index twice, with ptsort and with the server,
-- and compare both indexes.  The tests include this file by
--
--   \getenv source PG_ABS_SRCDIR
--   \i :source/sql/include/same.sql
\ir session.sql
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE SEQUENCE IF NOT EXISTS same_calls;

-- Wait until the sessions of earlier tests end.  Rows that these sessions
-- still see would make the indexes differ.
DO $$
BEGIN
	FOR i IN 1 .. 1000 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid());
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END $$;

-- Returns the contents of the tree.  shape has data of the metapage.  pages is
-- a digest of everything on the pages except block numbers, level by level
-- from the root and from left to right.  keys is a digest of (key, TID) of all
-- entries in the index's order; pages and posting lists do not affect this
-- digest.
CREATE OR REPLACE FUNCTION tree(index text, want_keys bool, OUT shape text, OUT pages text,
	OUT keys text, OUT entries int8, OUT leaves int8)
LANGUAGE plpgsql AS $$
DECLARE
	block int8;
	level int;
	page record;
	child int8;		-- leftmost page of the level below
	edge int;
	piece text;
	downlink text;
	n int8;
BEGIN
	SELECT root, m.level, concat_ws(' ', m.level, m.level - fastlevel, version, allequalimage)
	INTO block, level, shape FROM bt_metap(index) m;
	pages := '';
	keys := '';
	entries := 0;
	leaves := 0;
	LOOP
		child := NULL;
		WHILE block <> 0 LOOP
			SELECT * INTO page FROM bt_page_stats(index, block);
			edge := (page.btpo_next <> 0)::int;	-- offset of the high key, or 0
			SELECT string_agg(
					CASE WHEN level > 0 OR itemoffset = edge
						THEN concat_ws(':', itemlen, nulls, vars, data, split_part(ctid::text, ',', 2), htid)
						ELSE i::text END,
					' ' ORDER BY itemoffset),
				min(split_part(ctid::text, ',', 1)) FILTER (WHERE level > 0 AND itemoffset = 1 + edge),
				sum(coalesce(array_length(tids, 1), 1)) FILTER (WHERE level = 0 AND itemoffset > edge)
			INTO piece, downlink, n FROM bt_page_items(index, block) i;
			pages := md5(pages || concat_ws(' ', page.btpo_level, page.btpo_flags, page.free_size, piece));
			child := coalesce(child, substr(downlink, 2)::int8);
			IF level = 0 THEN
				leaves := leaves + 1;
				entries := entries + coalesce(n, 0);
				IF want_keys THEN
					SELECT string_agg(md5(data) || tid, ' ' ORDER BY itemoffset, at) INTO piece
					FROM bt_page_items(index, block),
						unnest(coalesce(tids, ARRAY[ctid])) WITH ORDINALITY u (tid, at)
					WHERE itemoffset > edge;
					keys := keys || coalesce(piece || ' ', '');
				END IF;
			END IF;
			block := page.btpo_next;
		END LOOP;
		EXIT WHEN level = 0;
		block := child;
		level := level - 1;
	END LOOP;
	keys := md5(keys);
END $$;

-- Runs CREATE kind INDEX ON tbl what; returns 'same', or the difference.  A
-- serial build must write the same pages as the server.  A parallel build must
-- write the same keys as the server, and within one percent the same number of
-- leaves.  The server builds the index again only if the previous call in the
-- same statement was for another index or file.
CREATE OR REPLACE FUNCTION same(tbl text, what text, kind text DEFAULT '',
	participants int DEFAULT 1)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	name text := 'ours_' || nextval('same_calls');
	call text := concat_ws(' ', statement_timestamp(), pg_relation_filenode(tbl::regclass), kind, tbl, what);
	ours record;
	servers record;
	built record;
BEGIN
	PERFORM set_config('ptsort.enable', 'on', true),
		set_config('ptsort.parallel_workers', (participants - 1)::text, true),
		set_config('max_parallel_maintenance_workers', '4', true);
	EXECUTE format('CREATE %s INDEX %I ON %s %s', kind, name, tbl, what);
	PERFORM bt_index_parent_check(name::regclass, true, true);
	SELECT * INTO ours FROM tree(name, participants > 1);
	EXECUTE format('DROP INDEX %I', name);

	-- check that ptsort built the first index and the server built the second
	PERFORM set_config('ptsort.enable', 'off', true);
	IF call IS DISTINCT FROM current_setting('same.call', true) THEN
		EXECUTE format('CREATE %s INDEX %I ON %s %s', kind, name || 's', tbl, what);
		PERFORM set_config('same.servers', to_jsonb(t)::text, false) FROM tree(name || 's', true) t;
		PERFORM set_config('same.call', call, false);
		EXECUTE format('DROP INDEX %I', name || 's');
	END IF;
	SELECT * INTO servers FROM jsonb_to_record(current_setting('same.servers')::jsonb)
		AS (shape text, pages text, keys text, entries int8, leaves int8);
	SELECT count(*) AS participants, sum(tuples) AS tuples INTO built
	FROM ptsort_last_build() WHERE index_name = name AND participant IS NOT NULL;
	PERFORM set_config('ptsort.enable', 'on', true);

	IF built.participants <> participants THEN
		RETURN format('%s participants', built.participants);
	ELSIF built.tuples <> ours.entries OR built.tuples <> servers.entries THEN
		RETURN format('%s tuples, %s and %s entries', built.tuples, ours.entries, servers.entries);
	ELSIF participants > 1 AND ours.keys <> servers.keys THEN
		RETURN 'other keys';
	ELSIF participants = 1 AND (ours.shape, ours.pages, ours.leaves) IS DISTINCT FROM (servers.shape, servers.pages, servers.leaves) THEN
		RETURN format('other pages: %s, %s', ours, servers);
	ELSIF abs(ours.leaves - servers.leaves) > servers.leaves / 100.0 + 1 THEN
		RETURN format('%s and %s leaves', ours.leaves, servers.leaves);
	END IF;
	RETURN 'same';
END $$;

-- Returns the outcome of a statement that builds the index "attempted" and may
-- fail.  The outcome with ptsort, serial and with two workers, must equal the
-- server's, and another build in the same session must then succeed.  undo
-- removes the index if the statement succeeds.  chance is a pattern of random
-- text that the result leaves out.
CREATE OR REPLACE FUNCTION attempt(statement text, undo text DEFAULT 'DROP INDEX attempted',
	chance text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	said text[] := '{}';
	message text;
	detail text;
	hint text;
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', '4', true);
	CREATE TEMP TABLE attempt_after AS SELECT generate_series(1, 10) AS a;
	FOR workers IN 0 .. 4 BY 2 LOOP
		PERFORM set_config('ptsort.enable', (workers < 4)::text, true),
			set_config('ptsort.parallel_workers', workers::text, true);
		BEGIN
			EXECUTE statement;
			said := said || 'no error'::text;
			IF workers < 4 AND (SELECT count(*) FROM ptsort_last_build() b
					WHERE index_name = 'attempted' AND participant IS NOT NULL) <> 1 + workers THEN
				RETURN 'built by others';
			END IF;
			EXECUTE undo;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			said := said || concat_ws(' | ', SQLSTATE, message, nullif(detail, ''), nullif(hint, ''));
			IF chance IS NOT NULL THEN
				said[array_length(said, 1)] := regexp_replace(said[array_length(said, 1)], chance, '...');
			END IF;
		END;
		SET LOCAL ptsort.enable = on;
		CREATE INDEX attempt_after_a ON attempt_after (a);
		DROP INDEX attempt_after_a;
		IF (SELECT count(*) FROM ptsort_last_build() WHERE index_name = 'attempt_after_a') <> 2 THEN
			RETURN 'no build afterwards';
		END IF;
	END LOOP;
	DROP TABLE attempt_after;
	RETURN CASE WHEN said[1] = said[3] AND said[2] = said[3] THEN said[1] ELSE said::text END;
END $$;
\set ECHO all
