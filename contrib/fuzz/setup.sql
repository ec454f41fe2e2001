-- Objects for the random tables and indexes.  fuzz.py runs this script once in each
-- database.
SET client_min_messages = warning;
CREATE EXTENSION ptsort;
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE EXTENSION pg_visibility;
CREATE EXTENSION citext;
CREATE EXTENSION hstore;
CREATE EXTENSION ltree;
CREATE EXTENSION btree_gin;
CREATE EXTENSION pg_trgm;
-- its operators would hide those of arrays
CREATE SCHEMA fz_ints;
CREATE EXTENSION intarray SCHEMA fz_ints;
-- so that its classes do not keep workers away
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT objid FROM pg_depend d JOIN pg_extension e ON refobjid = e.oid
		WHERE extname = 'btree_gin' AND classid = 'pg_proc'::regclass
	LOOP
		EXECUTE format('ALTER FUNCTION %s PARALLEL SAFE', f);
	END LOOP;
END $$;

CREATE TYPE fz_color AS ENUM ('red', 'green', 'blue', 'Zebra', 'a', 'A', '');
ALTER TYPE fz_color ADD VALUE 'first' BEFORE 'red';
ALTER TYPE fz_color ADD VALUE 'middle' AFTER 'green';
CREATE DOMAIN fz_words AS text CHECK (length(VALUE) < 100000);
CREATE DOMAIN fz_small AS int4 CHECK (VALUE IS NOT NULL OR VALUE IS NULL);
CREATE TYPE fz_pair AS (a int4, b text);
CREATE TYPE fz_nested AS (p fz_pair, c fz_color, n numeric);
CREATE TYPE fz_textrange AS RANGE (subtype = text, collation = "C");

-- Some servers and encodings have no ICU collations.
DO $$
DECLARE
	name text;
	what text;
BEGIN
	FOR name, what IN VALUES
		('fz_level1', 'locale = ''und-u-ks-level1'', deterministic = false'),
		('fz_level2', 'locale = ''de-u-ks-level2'', deterministic = false'),
		('fz_shifted', 'locale = ''en-u-ka-shifted-ks-level3'', deterministic = false'),
		('fz_numbers', 'locale = ''en-u-kn-true-kf-upper'''),
		('fz_phonebook', 'locale = ''de-u-co-phonebk''')
	LOOP
		BEGIN
			EXECUTE format('CREATE COLLATION %I (provider = icu, %s)', name, what);
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END $$;

-- A long string that does not compress well.
CREATE FUNCTION fz_noise(seed int8, size int4) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS $$
	SELECT left(string_agg(md5(seed::text || ' ' || i::text), ''), size)
	FROM generate_series(1, size / 32 + 1) i $$;

-- Functions for index expressions
CREATE FUNCTION fz_unsafe(value text) RETURNS text
IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS $$
BEGIN
	RETURN upper(value);
END $$;
CREATE FUNCTION fz_nested_call(value int8) RETURNS int8
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT sum(i) FROM generate_series(1, 1 + value % 3) i);
END $$;
CREATE FUNCTION fz_guarded(value int8) RETURNS int8
IMMUTABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS $$
BEGIN
	RETURN 100 / (value % 10);
EXCEPTION WHEN division_by_zero THEN
	RETURN NULL;
END $$;
CREATE FUNCTION fz_picky(value int8, enemy int8) RETURNS int8
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	IF value = enemy THEN
		RAISE EXCEPTION 'not with me' USING ERRCODE = 'PT001', DETAIL = 'This is the detail.', HINT = 'Leave it out.';
	END IF;
	RETURN value;
END $$;

-- User-defined operator classes: one sorts backward; in one, many different texts are
-- equal; one has a comparison function in PL/pgSQL; two have the server's own
-- comparison functions under other names.
CREATE FUNCTION fz_backward(int4, int4) RETURNS int4
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT btint4cmp($2, $1)';
CREATE FUNCTION fz_by_length(text, text) RETURNS int4
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT btint4cmp(length($1), length($2))';
CREATE FUNCTION fz_last_digit(int8, int8) RETURNS int4
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS
'BEGIN RETURN btint8cmp(abs($1 % 10), abs($2 % 10)); END';
CREATE FUNCTION fz_float(float8, float8) RETURNS int4
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE internal AS 'btfloat8cmp';
CREATE FUNCTION fz_text(text, text) RETURNS int4
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE internal AS 'bttextcmp';
CREATE FUNCTION fz_text_support(internal) RETURNS void
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE internal AS 'bttextsortsupport';

DO $$
DECLARE
	class text;
	type text;
	comparison text;
	more text;
	number int := 0;
	op text;
	sign text;
	signs text[];
BEGIN
	FOR class, type, comparison, more IN VALUES
		('fz_backward_ops', 'int4', 'fz_backward', ''),
		('fz_length_ops', 'text', 'fz_by_length', ''),
		('fz_digit_ops', 'int8', 'fz_last_digit', ''),
		('fz_float_ops', 'float8', 'fz_float', ''),
		('fz_text_ops', 'text', 'fz_text',
			', FUNCTION 2 fz_text_support(internal), FUNCTION 4 btvarstrequalimage(oid)')
	LOOP
		number := number + 1;
		signs := '{}';
		FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
			sign := repeat('#', number) || op || '#';
			EXECUTE format('CREATE FUNCTION %I(%s, %s) RETURNS bool IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS ''SELECT %I($1, $2) %s 0''',
				class || op, type, type, comparison, op);
			EXECUTE format('CREATE OPERATOR %s (FUNCTION = %I, LEFTARG = %s, RIGHTARG = %s)',
				sign, class || op, type, type);
			signs := signs || sign;
		END LOOP;
		EXECUTE format('CREATE OPERATOR CLASS %I FOR TYPE %s USING btree AS OPERATOR 1 %s, OPERATOR 2 %s, OPERATOR 3 %s, OPERATOR 4 %s, OPERATOR 5 %s, FUNCTION 1 %I(%s, %s) %s',
			class, type, signs[1], signs[2], signs[3], signs[4], signs[5], comparison, type, type, more);
	END LOOP;
END $$;

-- Returns the leaf indexes below an index, or the index itself if it is a leaf.
-- state has the flags and row counts that the build left in the catalogs;
-- table_blocks is the table's number of blocks.
CREATE FUNCTION fz_built(name text, OUT leaf text, OUT blocks int8,
	OUT table_blocks int8, OUT state text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT c.oid::regclass::text, pg_relation_size(c.oid) / current_setting('block_size')::int,
		pg_relation_size(t.oid) / current_setting('block_size')::int,
		concat_ws(' ', indisvalid, indisready, indisunique, indcheckxmin, c.reltuples, t.reltuples, t.relhasindex)
	FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = indrelid
	WHERE c.relkind = 'i' AND (c.oid = to_regclass(name)
		OR c.oid IN (SELECT relid FROM pg_partition_tree(to_regclass(name))))
	ORDER BY 1 $$;

-- Functions for copies of tables.  fz_files returns the tables that have files of their
-- own: a table itself, or its partitions.
CREATE FUNCTION fz_files(name text) RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'm') AND (oid = name::regclass
		OR oid IN (SELECT relid FROM pg_partition_tree(name::regclass))) $$;

-- A count and a digest of the rows that a session sees in a table.
CREATE FUNCTION fz_seen(name text, OUT n int8, OUT digest numeric)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM %s t', name) INTO n, digest;
END $$;

-- The row versions in the table's file: headers and data, but not their
-- places.  Each copy gives new numbers to multixacts, and to values that it
-- moves out of line.  So the digest has the members of a multixact instead of
-- its number.  If a row version has values out of line, the digest has only the
-- length of its data.  The digest leaves out the hint HEAP_XMAX_COMMITTED
-- (1024).  If a copy replaces a multixact with its updater, only an index build
-- sets this hint.  If the index is not logged (wal_level = minimal, checksums),
-- the server does not write a page for a hint.  fz_seen() checks that the hint
-- is right.
CREATE FUNCTION fz_copied(name text, OUT versions int8, OUT digest numeric, OUT visible text, OUT links int8, OUT multis int8, OUT toast text,
	OUT reltuples float4, OUT relpages int4, OUT relallvisible int4, OUT relfrozenxid xid, OUT relminmxid xid)
LANGUAGE plpgsql AS $$
DECLARE
	pages int8 := pg_relation_size(name) / current_setting('block_size')::int;
	toast_table regclass;
BEGIN
	SELECT count(*), sum(hashtextextended(concat_ws(' ', t_xmin, t_field3, t_infomask & ~1024, t_infomask2, t_hoff, t_bits,
			CASE WHEN t_infomask & 4096 = 0 THEN t_xmax::text ELSE
				(SELECT string_agg(concat(m.xid, m.mode), ' ' ORDER BY m.xid::text, m.mode) FROM pg_get_multixact_members(t_xmax) m) END,
			CASE WHEN t_infomask & 4 = 0 THEN md5(t_data) ELSE length(t_data)::text END), 0)::numeric),
		count(*) FILTER (WHERE t_infomask & 8192 <> 0 OR t_ctid <> format('(%s,%s)', b, lp)::tid),
		count(*) FILTER (WHERE t_infomask & 4096 <> 0)
	INTO versions, digest, links, multis
	FROM generate_series(0, pages - 1) b, heap_page_items(get_raw_page(name, b));
	visible := fz_seen(name)::text;
	SELECT c.reltuples, c.relpages, c.relallvisible, c.relfrozenxid, c.relminmxid, nullif(reltoastrelid, 0)::regclass
	INTO reltuples, relpages, relallvisible, relfrozenxid, relminmxid, toast_table
	FROM pg_class c WHERE oid = name::regclass;
	toast := '';
	IF toast_table IS NOT NULL THEN
		EXECUTE format('SELECT coalesce(nullif(concat(count(*), '' '', sum(hashtextextended(concat(chunk_seq, '' '', md5(chunk_data)), 0)::numeric)), ''0 ''), '''') FROM %s', toast_table) INTO toast;
	END IF;
END $$;

-- The number of row versions with a link to another row version.
CREATE FUNCTION fz_linked(name text) RETURNS int8 LANGUAGE sql AS $$
	SELECT count(*) FROM fz_files(name) relid, generate_series(0, pg_relation_size(relid) / current_setting('block_size')::int - 1) b,
		heap_page_items(get_raw_page(relid::text, b))
	WHERE t_ctid <> format('(%s,%s)', b, lp)::tid $$;

-- The problems of the table "t" and of the tables below it.
CREATE FUNCTION fz_unsound() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT relid || ': ' || problem
	FROM fz_files('t') relid,
		LATERAL (SELECT msg FROM verify_heapam(relid, check_toast => true)
			UNION ALL SELECT 'not all visible ' || v FROM pg_check_visible(relid) v
			UNION ALL SELECT 'not all frozen ' || f FROM pg_check_frozen(relid) f) p (problem) $$;

-- Leftovers of statements that rebuild all indexes of a table: memory, and files in
-- the two tablespaces that the cases use.
CREATE FUNCTION fz_left() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT name FROM pg_backend_memory_contexts WHERE name LIKE 'ptsort%'
	UNION ALL SELECT name FROM pg_ls_dir('base/pgsql_tmp', true, false) name
	UNION ALL SELECT name FROM pg_tablespace s, pg_ls_dir('pg_tblspc/' || s.oid, true, false) v,
		pg_ls_dir(format('pg_tblspc/%s/%s/pgsql_tmp', s.oid, v), true, false) name
	WHERE spcname = 'fz_space' $$;

-- The maximum number of indexes of one table, "t" or a table below it, that must
-- share a scan.  The function counts valid btree indexes.  It ignores tables with an
-- index that may run user code, because the indexes after such an index cannot share
-- a scan with the indexes before such an index.
CREATE FUNCTION fz_shareable() RETURNS int8 LANGUAGE sql AS $$
	SELECT coalesce(max(n), 0) FROM (SELECT count(*) FILTER (WHERE relam = 403 AND indisvalid) AS n
		FROM fz_files('t') relid, pg_index i, pg_class c
		WHERE indrelid = relid AND c.oid = indexrelid AND pg_relation_size(relid) > 0
			AND NOT EXISTS (SELECT FROM pg_statistic_ext WHERE stxrelid = relid AND stxexprs IS NOT NULL)
		GROUP BY relid
		HAVING bool_and(indexprs IS NULL AND indpred IS NULL AND NOT indisexclusion
			AND NOT EXISTS (SELECT FROM unnest(indclass) class, pg_opclass o
				WHERE o.oid = class AND opcintype::regtype::text IN ('anyarray', 'record', 'anyrange', 'anymultirange'))
			AND NOT EXISTS (SELECT FROM unnest(indclass) class, pg_opclass o, pg_amproc, pg_proc p, pg_language l
				WHERE o.oid = class AND amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocrighttype = opcintype
					AND p.oid = amproc AND l.oid = prolang AND lanname NOT IN ('internal', 'c')))) s $$;
