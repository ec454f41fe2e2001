\echo Use "CREATE EXTENSION ptsort" to load this file. \quit

-- Creating a C function loads the library into the session.  Once the library
-- is loaded, ptsort does the session's index builds.
CREATE FUNCTION ptsort_last_build(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT merge_load_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_build'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_last_build() IS
	'what the participants of this session''s last ptsort index build did';

CREATE FUNCTION ptsort_last_sort(
	OUT sorts pg_catalog.int8,
	OUT keys pg_catalog.int4,
	OUT tuples pg_catalog.int8,
	OUT method pg_catalog.text,
	OUT runs pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_sort'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

COMMENT ON FUNCTION ptsort_last_sort() IS
	'what the last query sort by ptsort in this session did';

CREATE FUNCTION ptsort_last_copy(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT write_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_copy'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_last_copy() IS
	'what the participants of this session''s last CLUSTER by ptsort did';

CREATE FUNCTION ptsort_check(
	index pg_catalog.regclass,
	heap pg_catalog.bool DEFAULT false,
	workers pg_catalog.int4 DEFAULT NULL,
	"full" pg_catalog.bool DEFAULT false,
	OUT index_name pg_catalog.text,
	OUT pages pg_catalog.int8,
	OUT tuples pg_catalog.int8,
	OUT problems pg_catalog.int8,
	OUT bad_pages pg_catalog.int8,
	OUT out_of_order pg_catalog.int8,
	OUT broken_links pg_catalog.int8,
	OUT duplicates pg_catalog.int8,
	OUT entries_without_row pg_catalog.int8,
	OUT rows_without_entry pg_catalog.int8,
	OUT details pg_catalog.text[],
	OUT participants pg_catalog.int4,
	OUT elapsed_ms pg_catalog.float8)
RETURNS pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_check'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION
	ptsort_check(pg_catalog.regclass, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool)
	IS 'checks a btree index with all processors';

-- The bodies are parsed here, so the search_path of a call does not matter.
CREATE FUNCTION ptsort_check_all(
	heap pg_catalog.bool DEFAULT false,
	changed_collations pg_catalog.bool DEFAULT false,
	workers pg_catalog.int4 DEFAULT NULL,
	"full" pg_catalog.bool DEFAULT false)
RETURNS TABLE (
	index pg_catalog.regclass,
	"table" pg_catalog.regclass,
	problems pg_catalog.int8,
	details pg_catalog.text[],
	elapsed_ms pg_catalog.float8,
	repair pg_catalog.text,
	duplicates pg_catalog.text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 100
BEGIN ATOMIC
	WITH changed AS (
		SELECT c.oid FROM pg_catalog.pg_collation c
		WHERE c.collversion <> pg_catalog.pg_collation_actual_version(c.oid)
		UNION ALL
		SELECT 'pg_catalog."default"'::pg_catalog.regcollation
		FROM pg_catalog.pg_database d
		WHERE d.datname = pg_catalog.current_database() AND
			d.datcollversion <> pg_catalog.pg_database_collation_actual_version(d.oid)
	), chosen AS MATERIALIZED (
		SELECT i.indexrelid, i.indrelid, i.indnkeyatts, i.indisunique,
			i.indnullsnotdistinct, i.indisexclusion, i.indcollation, i.indpred,
			c.relpersistence, t.relnamespace
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
		JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
		JOIN pg_catalog.pg_am a ON a.oid = c.relam
		WHERE c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid AND
			pg_catalog.pg_has_role(t.relowner, 'USAGE') AND
			NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace) AND
			NOT (c.relpersistence = 'u' AND pg_catalog.pg_is_in_recovery()) AND
			(NOT changed_collations OR
				EXISTS (SELECT FROM changed JOIN pg_catalog.unnest(i.indcollation) u
					ON u = changed.oid) OR
				EXISTS (SELECT FROM changed JOIN pg_catalog.pg_depend d
					ON d.refobjid = changed.oid AND
						d.refclassid = 'pg_catalog.pg_collation'::pg_catalog.regclass AND
						d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND
						d.objid = i.indexrelid))
		ORDER BY pg_catalog.pg_relation_size(i.indexrelid) DESC, i.indexrelid
	)
	SELECT indexrelid, indrelid, k.problems, k.details, k.elapsed_ms,
		CASE WHEN k.problems > 0 THEN
			pg_catalog.concat('REINDEX INDEX ',
				CASE WHEN indisexclusion OR relpersistence = 't' OR
					relnamespace = 'pg_catalog'::pg_catalog.regnamespace
				THEN '' ELSE 'CONCURRENTLY ' END, indexrelid::pg_catalog.regclass)
		END,
		CASE WHEN k.problems > 0 AND indisunique THEN
			pg_catalog.concat('SELECT * FROM (SELECT ctid, *, count(*) OVER (PARTITION BY ',
				keys, ') AS rows_with_equal_keys FROM ', indrelid::pg_catalog.regclass,
				' WHERE ', '(' || pg_catalog.pg_get_expr(indpred, indrelid) || ') AND ',
				CASE WHEN indnullsnotdistinct THEN 'true'
				ELSE 'num_nulls(' || keys || ') = 0' END,
				') s WHERE rows_with_equal_keys > 1')
		END
	FROM chosen
	CROSS JOIN LATERAL ptsort_check(indexrelid, heap, workers, "full") k
	CROSS JOIN LATERAL (
		SELECT pg_catalog.string_agg(
			pg_catalog.pg_get_indexdef(indexrelid, n, true) ||
				CASE WHEN o.oid IS NULL OR o.collname = 'default' THEN ''
				ELSE ' COLLATE ' || o.oid::pg_catalog.regcollation END,
			', ' ORDER BY n) AS keys
		FROM pg_catalog.generate_series(1, indnkeyatts) n
		LEFT JOIN pg_catalog.pg_collation o ON o.oid = indcollation[n - 1]) e;
END;

COMMENT ON FUNCTION
	ptsort_check_all(pg_catalog.bool, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool)
	IS 'checks the btree indexes of this database, and shows how to repair them';

CREATE FUNCTION ptsort_collation_digest("collation" pg_catalog.regcollation)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'ptsort_collation_digest'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION ptsort_collation_digest(pg_catalog.regcollation) IS
	'a digest of the order of strings; NULL if nothing is proved about it';

-- The digests of the collations at a time when all indexes were in order.
-- pg_dump dumps the rows, so there are no OIDs in them.  The table is small: it
-- needs no index, and the types of the columns need no TOAST table.
CREATE TABLE ptsort_collation_digests (
	schema_name pg_catalog.name NOT NULL,
	collation_name pg_catalog.name NOT NULL,
	provider pg_catalog.name NOT NULL,
	locale pg_catalog.varchar(255) COLLATE pg_catalog."C" NOT NULL,
	encoding pg_catalog.name NOT NULL,
	digest pg_catalog.name,
	version pg_catalog.name,
	remembered pg_catalog.timestamptz NOT NULL
);

COMMENT ON TABLE ptsort_collation_digests IS
	'what ptsort_remember_collations() remembers';

GRANT SELECT ON ptsort_collation_digests TO PUBLIC;
GRANT INSERT, DELETE ON ptsort_collation_digests TO pg_database_owner;

SELECT pg_catalog.pg_extension_config_dump('ptsort_collation_digests', '');

-- The digests of the locales of released C libraries (glibc), in UTF-8.  The
-- tables below belong to the extension, so pg_dump does not dump their rows.
-- contrib/collations made the rows.
CREATE TABLE ptsort_known_digests (
	release pg_catalog.name NOT NULL,
	locale pg_catalog.name NOT NULL,
	digest pg_catalog.name NOT NULL
);

COMMENT ON TABLE ptsort_known_digests IS
	'digests of the locales of released C libraries';

GRANT SELECT ON ptsort_known_digests TO PUBLIC;

-- What changed between these digests: the number of characters that changed
-- their place, and pairs of characters in the order before.  unistr() makes
-- characters of the numbers: the script must be in ASCII.
CREATE TABLE ptsort_known_changes (
	digest_before pg_catalog.name NOT NULL,
	digest_after pg_catalog.name NOT NULL,
	characters pg_catalog.int8 NOT NULL,
	examples pg_catalog.varchar(100) COLLATE pg_catalog."C" NOT NULL
);

COMMENT ON TABLE ptsort_known_changes IS
	'how the orders of released C libraries differ';

GRANT SELECT ON ptsort_known_changes TO PUBLIC;

-- BEGIN of what contrib/collations/known.py makes
-- END

-- The bodies of the functions below refer to objects by OID, not by name.
-- Therefore they are the same in any search path and schema.  They name no
-- column of the catalogs that only some versions of the server have.
CREATE FUNCTION ptsort_collations(
	OUT "collation" pg_catalog.regcollation,
	OUT provider pg_catalog.text,
	OUT locale pg_catalog.text,
	OUT version_recorded pg_catalog.text,
	OUT version_now pg_catalog.text,
	OUT digest_now pg_catalog.text,
	OUT digest_remembered pg_catalog.text,
	OUT digest_known pg_catalog.text,
	OUT verdict pg_catalog.text,
	OUT changed_characters pg_catalog.int8,
	OUT examples pg_catalog.text[],
	OUT indexes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	-- What initdb makes has OIDs below 16384, and uses only "C".
	WITH uses (used, index) AS (
		SELECT k.used, i.indexrelid
		FROM pg_catalog.pg_index i,
			pg_catalog.unnest(i.indcollation) AS k (used)
		WHERE i.indexrelid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
		UNION
		SELECT k.used, NULL
		FROM pg_catalog.pg_partitioned_table p,
			pg_catalog.unnest(p.partcollation) AS k (used)
		UNION
		SELECT d.refobjid, NULL
		FROM pg_catalog.pg_depend d
		WHERE d.classid OPERATOR(pg_catalog.=)
				'pg_catalog.pg_constraint'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=)
				'pg_catalog.pg_collation'::pg_catalog.regclass
		UNION
		SELECT a.attcollation, NULL
		FROM pg_catalog.pg_constraint s
		JOIN pg_catalog.pg_attribute a
			ON a.attrelid OPERATOR(pg_catalog.=) s.conrelid
			AND a.attnum OPERATOR(pg_catalog.=) ANY (s.conkey)
		WHERE s.contype OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
			AND s.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
		UNION
		SELECT t.typcollation, NULL
		FROM pg_catalog.pg_constraint s
		JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) s.contypid
		WHERE s.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
	), used AS (
		SELECT u.used, pg_catalog.count(u.index) AS indexes
		FROM uses u GROUP BY u.used
	), described AS (
		SELECT c.oid, n.nspname, c.collname, u.indexes,
			CASE WHEN used_default.it THEN d.datlocprovider
				ELSE c.collprovider END AS provider,
			CASE WHEN used_default.it THEN pg_catalog.to_jsonb(d)
				ELSE pg_catalog.to_jsonb(c) END AS "row",
			CASE WHEN used_default.it THEN d.datcollversion
				ELSE c.collversion END AS recorded,
			CASE WHEN used_default.it
				THEN pg_catalog.pg_database_collation_actual_version(d.oid)
				ELSE pg_catalog.pg_collation_actual_version(c.oid) END AS now
		FROM used u
		JOIN pg_catalog.pg_collation c
			ON c.oid OPERATOR(pg_catalog.=) u.used
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
		JOIN pg_catalog.pg_database d
			ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
		CROSS JOIN LATERAL (
			SELECT c.collprovider OPERATOR(pg_catalog.=)
				'd'::pg_catalog."char" AS it) used_default
	), digests AS MATERIALIZED (
		SELECT s.*,
			CASE WHEN s.provider OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
					THEN 'libc'
				WHEN s.provider OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
					THEN 'icu'
				ELSE 'builtin' END AS provider_name,
			COALESCE(
				CASE WHEN s.provider OPERATOR(pg_catalog.=)
						'c'::pg_catalog."char"
					THEN COALESCE(
						s."row" OPERATOR(pg_catalog.->>) 'collcollate',
						s."row" OPERATOR(pg_catalog.->>) 'datcollate')
					ELSE COALESCE(
						s."row" OPERATOR(pg_catalog.->>) 'colllocale',
						s."row" OPERATOR(pg_catalog.->>) 'colliculocale',
						s."row" OPERATOR(pg_catalog.->>) 'datlocale',
						s."row" OPERATOR(pg_catalog.->>) 'daticulocale')
				END, '') AS locale,
			ptsort_collation_digest(s.oid::pg_catalog.regcollation) AS digest
		FROM described s
	), releases AS (
		-- The digest of "C" tells whether digests have the library's format.
		SELECT k.release, k.locale, k.digest
		FROM ptsort_known_digests k
		JOIN ptsort_known_digests c
			ON c.release OPERATOR(pg_catalog.=) k.release
			AND c.locale OPERATOR(pg_catalog.=) 'C'
			AND c.digest OPERATOR(pg_catalog.=)
				ptsort_collation_digest('pg_catalog."C"')
		WHERE pg_catalog.getdatabaseencoding() OPERATOR(pg_catalog.=) 'UTF8'
	)
	SELECT s.oid::pg_catalog.regcollation, s.provider_name, s.locale,
		s.recorded, s.now, s.digest, r.digest, k.digest,
		CASE WHEN s.digest OPERATOR(pg_catalog.=) b.digest THEN 'same order'
			WHEN s.digest OPERATOR(pg_catalog.<>) b.digest THEN 'changed'
			ELSE 'unknown' END,
		d.characters,
		pg_catalog.string_to_array(
			pg_catalog.unistr(d.examples::pg_catalog.text), ', '),
		s.indexes
	FROM digests s
	LEFT JOIN LATERAL (
		SELECT m.digest::pg_catalog.text
		FROM ptsort_collation_digests m
		WHERE m.schema_name OPERATOR(pg_catalog.=) s.nspname
			AND m.collation_name OPERATOR(pg_catalog.=) s.collname
			AND m.provider OPERATOR(pg_catalog.=) s.provider_name
			AND m.locale::pg_catalog.text OPERATOR(pg_catalog.=) s.locale
			AND m.encoding OPERATOR(pg_catalog.=)
				pg_catalog.getdatabaseencoding()
		ORDER BY m.remembered DESC LIMIT 1) r ON true
	-- Another digest than that of the present release means that the machine's
	-- locale is not the release's.  Then it may never have been.
	LEFT JOIN LATERAL (
		SELECT o.digest::pg_catalog.text
		FROM releases o
		LEFT JOIN releases n
			ON n.locale OPERATOR(pg_catalog.=) o.locale
			AND n.release OPERATOR(pg_catalog.=) s.now
		WHERE s.provider OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
			AND o.release OPERATOR(pg_catalog.=) s.recorded
			AND o.locale OPERATOR(pg_catalog.=)
				pg_catalog.regexp_replace(s.locale, '\.[^@]*', '')
			AND (n.digest OPERATOR(pg_catalog.=) s.digest) IS NOT FALSE
		) k ON true
	CROSS JOIN LATERAL (
		SELECT COALESCE(r.digest, k.digest) AS digest) b
	LEFT JOIN ptsort_known_changes d
		ON d.digest_before OPERATOR(pg_catalog.=) b.digest
		AND d.digest_after OPERATOR(pg_catalog.=) s.digest
	ORDER BY s.nspname, s.collname;
END;

COMMENT ON FUNCTION ptsort_collations() IS
	'the collations that indexes and constraints use, and whether their order changed';

-- Without "changed", the function does not touch what it remembers of a
-- collation whose order changed or may have changed since.
CREATE FUNCTION ptsort_remember_collations(
	changed pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.int8
LANGUAGE SQL VOLATILE STRICT
BEGIN ATOMIC
	WITH new AS MATERIALIZED (
		SELECT n.nspname, c.collname, u.provider, u.locale, u.digest_now,
			u.version_now
		FROM ptsort_collations() u
		JOIN pg_catalog.pg_collation c
			ON c.oid OPERATOR(pg_catalog.=) u."collation"::pg_catalog.oid
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
		WHERE ptsort_remember_collations.changed
			OR u.verdict OPERATOR(pg_catalog.=) 'same order'
			OR (u.digest_remembered IS NULL
				AND (u.version_recorded OPERATOR(pg_catalog.=) u.version_now)
					IS NOT FALSE)
	), old AS (
		DELETE FROM ptsort_collation_digests m USING new
		WHERE m.schema_name OPERATOR(pg_catalog.=) new.nspname
			AND m.collation_name OPERATOR(pg_catalog.=) new.collname
			AND m.provider OPERATOR(pg_catalog.=) new.provider
			AND m.locale::pg_catalog.text OPERATOR(pg_catalog.=) new.locale
			AND m.encoding OPERATOR(pg_catalog.=)
				pg_catalog.getdatabaseencoding()
	), written AS (
		INSERT INTO ptsort_collation_digests (schema_name, collation_name,
			provider, locale, encoding, digest, version, remembered)
		SELECT new.nspname, new.collname, new.provider, new.locale,
			pg_catalog.getdatabaseencoding(), new.digest_now, new.version_now,
			pg_catalog.now()
		FROM new
		RETURNING 1
	)
	SELECT pg_catalog.count(*) FROM written;
END;

REVOKE EXECUTE ON FUNCTION ptsort_remember_collations(pg_catalog.bool)
	FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ptsort_remember_collations(pg_catalog.bool)
	TO pg_database_owner;

COMMENT ON FUNCTION ptsort_remember_collations(pg_catalog.bool) IS
	'remembers the digests of the collations that indexes and constraints use';
