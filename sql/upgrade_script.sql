-- Upgrading from every older version gives the same extension as installing
-- the newest: the same members, with the same rows in the catalogs, the same
-- comments and privileges.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION IF EXISTS ptsort CASCADE;
CREATE SCHEMA upgraded;
SET search_path = upgraded, public;

-- Returns the columns of a table, and their privileges and comments.
CREATE FUNCTION table_definition(oid) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod),
		attcollation::regcollation, attnotnull, attacl::text,
		pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)), ', ' ORDER BY attnum)
	FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
	WHERE attrelid = $1 AND attnum > 0);

-- Returns the rows of a table.
CREATE FUNCTION table_rows(oid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(t::text, E''\n'' ORDER BY t::text)) FROM %s t', $1::regclass) INTO result;
	RETURN result;
END $$;

-- Returns a row for each member of the extension, with the member's catalog
-- row.  The function leaves out numbers that differ between any two
-- installations; a definition replaces those of other objects.
CREATE FUNCTION members(
	OUT member text, OUT "row" jsonb, OUT definition text, OUT comment text,
	OUT initial_privileges text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	object record;
BEGIN
	FOR object IN
		SELECT d.classid, d.objid, d.objsubid FROM pg_depend d
		JOIN pg_extension e ON e.oid = d.refobjid
		WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND d.classid <> 'pg_type'::regclass -- row types are members since 18
			AND e.extname = 'ptsort'
		UNION ALL
		SELECT 'pg_extension'::regclass, oid, 0 FROM pg_extension
		WHERE extname = 'ptsort'
	LOOP
		member := pg_describe_object(object.classid, object.objid, object.objsubid);
		EXECUTE format('SELECT to_jsonb(c) - $2 FROM %s c WHERE oid = $1',
			object.classid::regclass) INTO STRICT "row"
		USING object.objid, '{oid, prosqlbody, proargdefaults, reltype,
			relfilenode, reltoastrelid, relfrozenxid, relminmxid, relpages,
			reltuples, extconfig}'::text[];
		definition := CASE object.classid
			WHEN 'pg_proc'::regclass THEN pg_get_functiondef(object.objid)
			WHEN 'pg_class'::regclass THEN concat_ws(' ', table_definition(object.objid), table_rows(object.objid))
			WHEN 'pg_extension'::regclass THEN (SELECT
				extconfig::regclass[]::text || extcondition::text
				FROM pg_extension WHERE oid = object.objid) END;
		comment := obj_description(object.objid, object.classid::regclass::name);
		initial_privileges := (SELECT initprivs FROM pg_init_privs i
			WHERE (i.classoid, i.objoid) = (object.classid, object.objid)
			ORDER BY objsubid LIMIT 1);
		RETURN NEXT;
	END LOOP;
END $$;

-- Installs a version and upgrades it to the default version.
CREATE FUNCTION upgraded_from(version text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE EXTENSION ptsort VERSION %L', version);
	CREATE TEMP TABLE old ON COMMIT DROP AS SELECT * FROM members();
	ALTER EXTENSION ptsort UPDATE;
	CREATE TEMP TABLE new ON COMMIT DROP AS SELECT * FROM members();
	DROP EXTENSION ptsort;
	CREATE EXTENSION ptsort;
	CREATE TEMP TABLE fresh ON COMMIT DROP AS SELECT * FROM members();
	DROP EXTENSION ptsort;
	RETURN QUERY
		SELECT 'only when upgraded: ' || u::text FROM
			(SELECT * FROM new EXCEPT SELECT * FROM fresh) u
		UNION ALL
		SELECT 'only when fresh: ' || f::text FROM
			(SELECT * FROM fresh EXCEPT SELECT * FROM new) f
		UNION ALL
		SELECT 'changed by the upgrade: ' || n.member FROM new n
		JOIN old o USING (member) WHERE n IS DISTINCT FROM o
		ORDER BY 1;
	DROP TABLE old, new, fresh;
END $$;

-- The older versions, each with an upgrade path to the newest
SELECT source, path LIKE '%--' || default_version AS "to the newest"
FROM pg_available_extensions, pg_extension_update_paths(name)
WHERE name = 'ptsort' AND target = default_version
ORDER BY 1;

SELECT source, upgraded_from(source)
FROM pg_available_extensions, pg_extension_update_paths(name)
WHERE name = 'ptsort' AND target = default_version
ORDER BY 1, 2;

-- The comparison notices differences
CREATE EXTENSION ptsort;
CREATE TABLE before AS SELECT * FROM members();
ALTER FUNCTION ptsort_last_build() STABLE;
REVOKE EXECUTE ON FUNCTION ptsort_last_build() FROM public;
COMMENT ON FUNCTION ptsort_last_build() IS 'another';
SELECT member, b."row" -> 'provolatile' AS old, m."row" -> 'provolatile' AS new,
	m."row" -> 'proacl' = b."row" -> 'proacl' AS "same privileges",
	b.definition = m.definition AS "same definition", m.comment
FROM members() m JOIN before b USING (member)
WHERE m IS DISTINCT FROM b;
DROP EXTENSION ptsort;

-- The newest library works with the oldest script as well
CREATE EXTENSION ptsort VERSION '1.0.0';
SET ptsort.min_table_size = 0;
CREATE TABLE t AS SELECT generate_series(1, 5000) AS a;
CREATE INDEX t_a ON t (a) WITH (parallel_workers = 1);
SELECT index_name, role, participant FROM ptsort_last_build();
ALTER EXTENSION ptsort UPDATE;
SELECT index_name, role, participant FROM ptsort_last_build();
SELECT extversion = default_version AS newest
FROM pg_extension JOIN pg_available_extensions ON name = extname
WHERE extname = 'ptsort';
DROP EXTENSION ptsort;
DROP SCHEMA upgraded CASCADE;
