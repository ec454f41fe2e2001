-- Permissions: who may change settings and see a user's statistics, and which
-- user runs the functions of an index.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
\set SHOW_CONTEXT never
CREATE ROLE ptsort_security_owner;
CREATE ROLE ptsort_security_user;

-- Settings of an ordinary user, and of a superuser
SELECT context, array_agg(name ORDER BY name) AS settings
FROM pg_settings WHERE name LIKE 'ptsort.%' AND name NOT LIKE 'ptsort.debug%' GROUP BY 1 ORDER BY 1;
SET ROLE ptsort_security_user;
SET ptsort.log_build = on;
SET ptsort_test.slices = 4096;
SET ptsort_test.key_class = compared;
SET ptsort.enable = on;
RESET ROLE;

-- Only the user who built the index sees the last build; another role in the
-- session does not.
CREATE TABLE security AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 3000) i;
GRANT CREATE ON SCHEMA public TO ptsort_security_owner;
ALTER TABLE security OWNER TO ptsort_security_owner;
CREATE INDEX security_i ON security (id);
SELECT DISTINCT index_name FROM ptsort_last_build();
SET ROLE ptsort_security_user;
SELECT * FROM ptsort_last_build();
RESET ROLE;
SELECT DISTINCT index_name FROM ptsort_last_build();
SET SESSION AUTHORIZATION ptsort_security_user;
SELECT * FROM ptsort_last_build();
RESET SESSION AUTHORIZATION;
SET ROLE ptsort_security_owner;
CREATE INDEX security_owners ON security (word);
SELECT DISTINCT index_name FROM ptsort_last_build();
RESET ROLE;
SELECT * FROM ptsort_last_build();
REINDEX INDEX security_i;
SELECT DISTINCT index_name FROM ptsort_last_build();
DISCARD PLANS;
SELECT DISTINCT index_name FROM ptsort_last_build();
DISCARD ALL;
SELECT * FROM ptsort_last_build();
\i :source/sql/include/session.sql

-- Every participant calls an index's functions as the table's owner, in a
-- security-restricted operation.
CREATE FUNCTION as_owner(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'ptsort_security_owner' THEN
		RAISE EXCEPTION 'called as %', current_user;
	END IF;
	RETURN $1;
END $$;
CREATE FUNCTION escapes(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', 'none', true);
	RETURN $1;
END $$;
SET ptsort.parallel_workers = 0;
CREATE INDEX security_i1 ON security (as_owner(id), id);
SET ptsort.parallel_workers = 2;
CREATE INDEX security_i2 ON security (as_owner(id), word) WHERE as_owner(id) > 0;
SELECT participant, tuples FROM ptsort_last_build() WHERE participant IS NULL;
REINDEX TABLE security;
\set VERBOSITY sqlstate
CREATE INDEX security_i3 ON security (escapes(id));
SET ptsort.parallel_workers = 0;
CREATE INDEX security_i3 ON security (escapes(id));
\set VERBOSITY default
SELECT current_user = session_user AS same_user;

-- A check, a forecast and a search for duplicates call them as the owner, too,
-- also while the server folds constants, and with a safe search_path.
CREATE FUNCTION says_owner(int) RETURNS int VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'ptsort_security_owner' OR current_setting('search_path') <> 'pg_catalog, pg_temp' THEN
		RAISE WARNING 'called as %, search_path %', current_user, current_setting('search_path');
	END IF;
	RETURN $1;
END $$;
CREATE FUNCTION folded(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE sql AS 'SELECT public.says_owner($1)';
SET client_min_messages = error;
CREATE UNIQUE INDEX security_folded ON security ((id + folded(1))) WHERE id > folded(0);
CREATE STATISTICS security_statistics ON (id + folded(2)), (id + folded(3)) FROM security;
RESET client_min_messages;
\c -
SET client_min_messages = warning;
LOAD 'ptsort';
SELECT problems FROM ptsort_check('security_folded', true, 1);
\c -
SELECT problems FROM ptsort_check_indexes('{security_folded}', true, 1);
\c -
SELECT problems FROM ptsort_check_all(true) WHERE index = 'security_folded'::regclass;
\c -
SELECT count(*) FROM ptsort_forecast('REINDEX INDEX security_folded');
\c -
SELECT count(*) FROM ptsort_forecast('CREATE INDEX ON security ((id + folded(4)))');
\c -
SELECT count(*) FROM ptsort_duplicates('security_folded');
DROP FUNCTION folded, says_owner CASCADE;

DROP TABLE security;
DROP FUNCTION as_owner, escapes;
REVOKE CREATE ON SCHEMA public FROM ptsort_security_owner;
DROP ROLE ptsort_security_owner, ptsort_security_user;
