-- Indexes on expressions and with predicates, and side effects of their
-- functions.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

CREATE TABLE expressions (a int, b text, c jsonb, d int, e numeric[], f timestamp);
INSERT INTO expressions
SELECT i, CASE WHEN i % 11 > 0 THEN 'Word ' || i * 7919 % 5003 END, jsonb_build_object('k', i % 100, 'l', 'x' || i),
	nullif(i % 10, 4), ARRAY[i, i % 3], timestamp '2020-01-01' + i * interval '1 hour'
FROM generate_series(1, 3000) i;
DELETE FROM expressions WHERE a % 13 = 5;
UPDATE expressions SET d = d + 1 WHERE a % 13 = 6;
ANALYZE expressions;

CREATE FUNCTION safe_sql(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN $1 * 7919 % 1009;
CREATE FUNCTION safe_plpgsql(int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN RETURN CASE WHEN $1 % 5 > 0 THEN md5($1::text) END; END$$;
-- reads a table while the build scans another
CREATE TABLE expressions_names AS SELECT i, 'name ' || i % 4 AS name FROM generate_series(0, 9) i;
CREATE FUNCTION safe_lookup(int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql SET search_path = public AS
$$BEGIN RETURN (SELECT name FROM expressions_names WHERE i = $1); END$$;
CREATE FUNCTION unsafe(int) RETURNS int IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS $$BEGIN RETURN -$1; END$$;
CREATE FUNCTION restricted(int) RETURNS int IMMUTABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS $$BEGIN RETURN $1 % 100; END$$;

SELECT what, same('expressions', what), same('expressions', what, '', 3) AS parallel
FROM unnest(ARRAY[
	'((a % 100))',
	'(lower(b))',
	'(lower(b) COLLATE "en_US.utf8" DESC NULLS LAST, a)',
	'((a % 10), (d + 1), b)',
	'(a, (a))',
	'((c ->> ''l''))',
	'((c -> ''k''), (c ->> ''l'') DESC)',
	'((e[2]), (e[1]))',
	'(date_trunc(''day'', f))',
	'((b IS NULL), (d IS NOT DISTINCT FROM 3))',
	'((NULL::int))',
	'((1), (''one''::text))',
	'((expressions IS NULL))',
	'(safe_sql(a))',
	'(safe_plpgsql(a))',
	'(safe_lookup(d), a)',
	'((a % 100)) INCLUDE (b, d)',
	'((a % 100), lower(b)) WITH (fillfactor = 60)',
	-- predicates
	'(a) WHERE d = 3',
	'(b) WHERE b IS NOT NULL',
	'(a, b) WHERE d IS NULL OR a < 100',
	'((a + d)) WHERE safe_sql(a) < 500',
	'(a) WHERE safe_plpgsql(a) > ''8''',
	'(b) WHERE d > 3 AND lower(b) LIKE ''word 1%''',
	-- predicates that are true for all rows, and predicates that are true for
	-- none
	'(a) WHERE a > 0',
	'(a) WHERE a < 0',
	'(a) WHERE NULL',
	'(lower(b)) WHERE d = 1000']) what;

-- Functions that are not parallel safe: the build has one participant, even if
-- the statement requests more
SELECT what, same('expressions', what), same('expressions', what, '', 3) AS parallel
FROM unnest(ARRAY['(unsafe(a))', '((a + unsafe(1)))', '(b) WHERE a > unsafe(-5)', '(restricted(a), b)', '(a) WHERE unsafe(a) < -10', '(b) WHERE restricted(d) = 2', '(lower(b), unsafe(d))']) what;

-- Functions that fail: for one row, in the predicate, in each participant
CREATE FUNCTION fails(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN
	IF $1 = 2500 THEN RAISE EXCEPTION 'no index for %', $1 USING ERRCODE = 'PT001', DETAIL = 'It is too round.'; END IF;
	RETURN $1;
END$$;
SELECT what, attempt('CREATE INDEX attempted ON expressions ' || what)
FROM unnest(ARRAY['((10 / (a - 2000)))', '(fails(a))', '(d) WHERE fails(a) > 0', '((CASE WHEN a = 1234 THEN b::int END))',
	'(fails(a - 1))']) what;
SELECT attempt('CREATE UNIQUE INDEX attempted ON expressions ((a % 2900)) WHERE a IN (1, 2901)');
-- An expression runs as the owner of the table, in every participant
CREATE ROLE ptsort_expressions_owner;
GRANT CREATE ON SCHEMA public TO ptsort_expressions_owner;
CREATE FUNCTION who(int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN RETURN current_user; END$$;
ALTER TABLE expressions OWNER TO ptsort_expressions_owner;
CREATE INDEX expressions_who ON expressions (who(a)) WITH (parallel_workers = 2);
SELECT index_name, count(*) FROM ptsort_last_build() GROUP BY 1;
SET enable_seqscan = off;
SELECT count(*) > 2000 AS found FROM expressions WHERE who(a) = 'ptsort_expressions_owner';

DROP TABLE expressions, expressions_names;
DROP FUNCTION fails, who, safe_sql, safe_plpgsql, safe_lookup, unsafe, restricted;
REVOKE CREATE ON SCHEMA public FROM ptsort_expressions_owner;
DROP ROLE ptsort_expressions_owner;

-- During the build, the index's function runs a query, and the planner looks
-- at the unfinished index.  With and without workers, the error is the one
-- that the server raises for a file without a metapage.
CREATE TABLE expressions_own AS SELECT i FROM generate_series(1, 1000) i;
CREATE FUNCTION look_at_own(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql SET search_path = public AS
$$BEGIN PERFORM FROM expressions_own WHERE i = $1; RETURN $1; END$$;
CREATE INDEX expressions_own_i ON expressions_own (i);
\set VERBOSITY sqlstate
SET ptsort.enable = off;
CREATE INDEX expressions_own_look ON expressions_own (look_at_own(i));
SET ptsort.enable = on;
CREATE INDEX expressions_own_look ON expressions_own (look_at_own(i)) WITH (parallel_workers = 0);
CREATE INDEX expressions_own_look ON expressions_own (look_at_own(i)) WITH (parallel_workers = 2);
\set VERBOSITY default
DROP TABLE expressions_own;
DROP FUNCTION look_at_own;
