-- Permissions: settings, the report of other users' builds, and the user as
-- whom the functions of an index run.
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

-- Only the role that ran the last build sees the report of the build
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

-- In every participant, a function of an index runs as the table's owner, in a
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

DROP TABLE security;
DROP FUNCTION as_owner, escapes;
REVOKE CREATE ON SCHEMA public FROM ptsort_security_owner;
DROP ROLE ptsort_security_owner, ptsort_security_user;
