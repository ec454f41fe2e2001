-- For tests that compare only the order of an index, and not its pages:
-- ptsort's order must be the server's.  These tests are faster than those of
-- same.sql.  Tests that include order.sql need the extensions ptsort and
-- amcheck, and a session that loaded ptsort.

-- Returns a digest of the table's rows in the order of an index.  Only one
-- index of the table may have this order.
CREATE OR REPLACE FUNCTION rows_by_index(tbl text, name text, columns text, condition text)
RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
SET enable_incremental_sort = off SET max_parallel_workers_per_gather = 0 SET jit = off
AS $$
DECLARE
	query text := format('SELECT ctid FROM %s WHERE %s ORDER BY %s', tbl, condition, columns);
	plan json;
	result text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	IF plan #>> '{0,Plan,Index Name}' IS DISTINCT FROM name THEN
		RAISE EXCEPTION 'not by index: %', plan;
	END IF;
	EXECUTE format('SELECT count(*) || '' rows '' || md5(string_agg(ctid::text, '''')) FROM (%s) s', query) INTO result;
	RETURN result;
END $$;

CREATE SEQUENCE IF NOT EXISTS same_order_calls;

-- Runs CREATE kind INDEX ON tbl (columns) rest, once by the server and once by
-- ptsort with each element of settings ("name = value, ...", including
-- ptsort.parallel_workers).  Returns 'same', or the difference.  condition is
-- the predicate of a partial index.
CREATE OR REPLACE FUNCTION same_order(tbl text, columns text, settings text[],
	kind text DEFAULT '', rest text DEFAULT '', condition text DEFAULT 'true')
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	name text;
	create_it text := format('CREATE %s INDEX %%I ON %s (%s) %s WHERE %s', kind, tbl, columns, rest, condition);
	servers text;
	ours text;
	setting text;
	part text;
	workers int;
	built int;
BEGIN
	PERFORM set_config('ptsort.enable', 'off', true);
	EXECUTE format(create_it, 'servers');
	servers := rows_by_index(tbl, 'servers', columns, condition);
	DROP INDEX servers;
	PERFORM set_config('ptsort.enable', 'on', true);
	FOREACH setting IN ARRAY settings LOOP
		PERFORM set_config(s.name, s.reset_val, true) FROM pg_settings s
		WHERE (s.name LIKE 'ptsort\_test.%' OR s.name = 'ptsort.parallel_workers')
			AND s.setting <> s.reset_val;
		-- a new name for every build, so that the report tells builds apart
		name := format('ours_%s', nextval('same_order_calls'));
		FOREACH part IN ARRAY string_to_array(setting, ', ') LOOP
			PERFORM set_config(split_part(part, ' = ', 1), split_part(part, ' = ', 2), true);
		END LOOP;
		workers := current_setting('ptsort.parallel_workers')::int;
		EXECUTE format(create_it, name);
		SELECT count(*) INTO built FROM ptsort_last_build()
		WHERE index_name = name AND participant IS NOT NULL;
		IF built <> workers + 1 THEN
			EXECUTE format('DROP INDEX %I', name);
			RETURN format('%s participants (%s)', built, setting);
		END IF;
		PERFORM bt_index_parent_check(name::regclass, true, true);
		ours := rows_by_index(tbl, name, columns, condition);
		EXECUTE format('DROP INDEX %I', name);
		IF ours IS DISTINCT FROM servers THEN
			RETURN format('%s, not %s (%s)', ours, servers, setting);
		END IF;
	END LOOP;
	RETURN 'same';
END $$;
