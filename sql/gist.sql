-- Builds of GiST indexes: the index finds the rows that a sequential scan finds,
-- in the same order of distance, and is sound.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
\i :source/sql/include/sound.sql
SET max_parallel_maintenance_workers = 4;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.25);

-- Points: random, equal, on a line, very large, infinite, negative zero, null
CREATE TABLE gist_points AS
SELECT i AS id, i % 7 AS few, md5(i::text) AS word, CASE
	WHEN i % 50 = 0 THEN NULL
	WHEN i % 50 = 1 THEN point(17, 4)
	WHEN i % 50 = 2 THEN point(i, 500)
	WHEN i % 400 = 3 THEN point(1e150 * i, -1e150)
	WHEN i % 400 = 4 THEN point('infinity', -i)
	WHEN i % 400 = 5 THEN point(-0.0, '-infinity')
	WHEN i % 50 = 6 THEN point(-0.0, 0)
	ELSE point(1000 * random(), 1000 * random()) END AS p
FROM generate_series(1, 6000) i;
VACUUM ANALYZE gist_points;
CREATE TABLE gist_windows AS
SELECT box(point(x, y), point(x + 90, y + 250)) AS w FROM generate_series(0, 990, 90) x, generate_series(0, 750, 250) y
UNION ALL VALUES (box '(17,4),(17,4)'), (box '(0,0),(0,0)'), (box '(infinity,infinity),(-infinity,-infinity)'), (box '(1e155,0),(2,-1e155)');

-- Returns digests of answers: rows in windows, and the distances of the nearest
-- rows.  With by_index, the answers come from that index.
CREATE FUNCTION gist_answers(tbl text, key text, condition text, by_index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	plan text;
	answer text;
	result text := '';
BEGIN
	PERFORM set_config('enable_seqscan', (by_index IS NULL)::text, true), set_config('enable_sort', (by_index IS NULL)::text, true),
		set_config('enable_indexscan', (by_index IS NOT NULL)::text, true), set_config('enable_indexonlyscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_material', 'off', true);
	FOREACH query IN ARRAY ARRAY[
		format('SELECT count(*) || '' '' || sum(hashint4(id) # hashtext(w::text)) FROM gist_windows, %s WHERE %s <@ w AND %s', tbl, key, condition),
		format('SELECT md5(string_agg(d::text, '' '')) FROM (SELECT %1$s <-> ''(400,300)'' AS d FROM %2$s WHERE %3$s
			ORDER BY %1$s <-> ''(400,300)'' LIMIT 3000) s', key, tbl, condition)] LOOP
		FOR plan IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
			IF by_index IS NULL AND plan ~ 'Index' OR by_index IS NOT NULL AND plan ~ ('Seq Scan on ' || tbl) THEN
				RAISE EXCEPTION 'wrong plan: %', plan;
			END IF;
		END LOOP;
		EXECUTE query INTO answer;
		result := concat(result, ' ', answer);
	END LOOP;
	RETURN result;
END $$;

-- Builds an index with each of several settings, and once by the server.
-- Returns "same", or the difference to the answers of a sequential scan, to the
-- size of the server's index, or to the expected number of participants.
CREATE FUNCTION gist_same(tbl text, what text, key text DEFAULT 'p', condition text DEFAULT 'true', most int DEFAULT 3)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected text := gist_answers(tbl, key, condition, NULL);
	setting text[];
	settings text[] := '{{0,0,0},{2,0,0},{3,500,9},{0,300,0},{1,0,1}}';
	name text;
	entries int8;
	servers_entries int8;
	size int8;
	servers_size int8;
	participants int;
	result text;
BEGIN
	SET LOCAL ptsort.enable = off;
	EXECUTE format('CREATE INDEX servers ON %s USING gist %s', tbl, what);
	servers_entries := sound('servers');
	servers_size := pg_relation_size('servers') / 8192;
	DROP INDEX servers;
	SET LOCAL ptsort.enable = on;
	FOREACH setting SLICE 1 IN ARRAY settings LOOP
		name := format('gist_%s_%s_%s', setting[1], setting[2], setting[3]);
		PERFORM set_config('ptsort.parallel_workers', setting[1], true), set_config('ptsort_test.spill_entries', setting[2], true),
			set_config('ptsort_test.slices', setting[3], true);
		EXECUTE format('CREATE INDEX %I ON %s USING gist %s', name, tbl, what);
		SELECT count(*), sum(tuples) INTO participants, entries FROM ptsort_last_build() WHERE index_name = name AND participant IS NOT NULL;
		size := pg_relation_size(name) / 8192;
		-- (each slice may have a part of a page, and small tables have too many slices)
		result := CASE
			WHEN participants <> least(setting[1]::int, most) + 1 THEN format('%s: %s participants', name, participants)
			WHEN entries <> servers_entries OR sound(name::regclass) <> entries
				THEN format('%s: %s entries, not %s', name, entries, servers_entries)
			WHEN gist_answers(tbl, key, condition, name) <> expected THEN format('%s: other answers', name)
			WHEN setting[1] = '0' AND setting[2] = '0' AND size <> servers_size OR abs(size - servers_size) > 0.03 * servers_size + 14
				THEN format('%s: %s pages, not %s', name, size, servers_size) END;
		EXECUTE format('DROP INDEX %I', name);
		IF result IS NOT NULL THEN
			RETURN result;
		END IF;
	END LOOP;
	RETURN 'same';
END $$;

SELECT gist_same('gist_points', '(p)') AS point, gist_same('gist_points', '(p) INCLUDE (word, few)') AS include,
	gist_same('gist_points', '(p, point(few, id % 13))') AS two_keys, gist_same('gist_points', '(p) WITH (fillfactor = 50)') AS fillfactor,
	gist_same('gist_points', '(p) WITH (buffering = off)') AS buffering_off;
SELECT gist_same('gist_points', '(p) WHERE few = 3', condition => 'few = 3') AS partial,
	gist_same('gist_points', '(p) WHERE few = 99', condition => 'few = 99') AS no_row,
	gist_same('gist_points', '((p + point(id % 2, 0)))', key => '(p + point(id % 2, 0))') AS expression,
	gist_same('gist_points', '((CASE WHEN few > 9 THEN p END))', key => '(CASE WHEN few > 9 THEN p END)') AS only_nulls,
	gist_same('gist_points', '((point(few, 7)))', key => 'point(few, 7)') AS few_keys;

-- dead rows, updated rows, HOT chains
UPDATE gist_points SET few = few WHERE id % 10 = 0;
UPDATE gist_points SET p = p + point(3, 3) WHERE id % 11 = 0;
DELETE FROM gist_points WHERE id % 12 = 0;
SELECT gist_same('gist_points', '(p)') AS changed;
VACUUM FULL gist_points;

-- small tables
CREATE TABLE gist_small AS SELECT * FROM gist_points LIMIT 1;
SELECT gist_same('gist_small', '(p)') AS one_row;
INSERT INTO gist_small SELECT * FROM gist_points LIMIT 150;
SELECT gist_same('gist_small', '(p)') AS one_page;
INSERT INTO gist_small SELECT * FROM gist_points LIMIT 300;
SELECT gist_same('gist_small', '(p)') AS few_pages;
UPDATE gist_small SET p = NULL;
SELECT gist_same('gist_small', '(p)') AS nulls;

-- NaN.  (Searches in an index with NaN miss rows, and searches for the nearest
-- points stop a server with assertions, whether or not ptsort built the index.)
CREATE TABLE gist_nan AS SELECT id, CASE id % 5 WHEN 0 THEN point('NaN', id) WHEN 1 THEN point(id, 'NaN') WHEN 2 THEN point('NaN', 'NaN') ELSE p END AS p
FROM gist_points;
SET ptsort.parallel_workers = 2;
CREATE INDEX gist_nan_p ON gist_nan USING gist (p);
SELECT sound('gist_nan_p') - count(*) AS difference FROM gist_nan;

-- unlogged and temporary tables; inserts split pages of the index
CREATE UNLOGGED TABLE gist_unlogged AS SELECT * FROM gist_points;
CREATE TEMP TABLE gist_temp AS SELECT * FROM gist_points;
SELECT gist_same('gist_unlogged', '(p)') AS unlogged, gist_same('gist_temp', '(p)', most => 0) AS temporary;
CREATE INDEX ON gist_unlogged USING gist (p);
CREATE INDEX ON gist_temp USING gist (p);
INSERT INTO gist_unlogged SELECT id, few, word, p + point(0.1, 0.1) FROM gist_points;
INSERT INTO gist_temp SELECT id, few, word, p + point(0.1, 0.1) FROM gist_points;
SELECT i, sound(i) - (SELECT 2 * count(*) FROM gist_points) AS difference FROM unnest('{gist_unlogged_p_idx, gist_temp_p_idx}'::regclass[]) i;

-- Returns the indexes of the last build, each with its number of participants.
CREATE FUNCTION gist_built() RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(index_name || ' ' || n, ', ' ORDER BY index_name COLLATE "C") FROM
		(SELECT index_name, count(participant) AS n FROM ptsort_last_build() GROUP BY index_name) s $$;

-- all statements that build an index
CREATE TABLE gist_ways AS SELECT * FROM gist_points;
CREATE INDEX gist_ways_p ON gist_ways USING gist (p);
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
REINDEX INDEX gist_ways_p;
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
VACUUM FULL gist_ways;
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
CLUSTER gist_ways USING gist_ways_p;
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
ALTER TABLE gist_ways ALTER few TYPE int8;
ALTER TABLE gist_ways ALTER p TYPE point USING p + point(1, 0);
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
BEGIN;
TRUNCATE gist_ways;
SELECT sound('gist_ways_p');
ROLLBACK;
DROP INDEX gist_ways_p;
CREATE INDEX CONCURRENTLY gist_ways_p ON gist_ways USING gist (p);
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
REINDEX INDEX CONCURRENTLY gist_ways_p;
SELECT gist_built(), sound('gist_ways_p') > 0 AS sound;
CREATE MATERIALIZED VIEW gist_view AS SELECT * FROM gist_ways;
CREATE INDEX gist_view_p ON gist_view USING gist (p);
REFRESH MATERIALIZED VIEW gist_view;
SELECT gist_built(), sound('gist_view_p') > 0 AS sound;
CREATE TABLE gist_parts (LIKE gist_points) PARTITION BY RANGE (id);
CREATE TABLE gist_part PARTITION OF gist_parts FOR VALUES FROM (0) TO (3000);
INSERT INTO gist_parts SELECT * FROM gist_points WHERE id < 3000;
CREATE INDEX ON gist_parts USING gist (p);
SELECT gist_built(), sound('gist_part_p_idx') > 0 AS sound;
CREATE TABLE gist_new (p point);
CREATE INDEX gist_new_p ON gist_new USING gist (p);
SELECT gist_built(), sound('gist_new_p');
INSERT INTO gist_new SELECT p FROM gist_points;
SELECT sound('gist_new_p') - count(*) AS difference FROM gist_points;

-- exclusion constraints
CREATE TABLE gist_once AS SELECT DISTINCT ON (p[0], p[1]) id, p FROM gist_points WHERE p IS NOT NULL;
ALTER TABLE gist_once ADD EXCLUDE USING gist (p WITH ~=) WITH (parallel_workers = 1);
SELECT gist_built(), sound('gist_once_p_excl') > 0 AS sound;
\set VERBOSITY sqlstate
INSERT INTO gist_once SELECT id, p FROM gist_once WHERE id = 9;
ALTER TABLE gist_points ADD CONSTRAINT gist_points_twice EXCLUDE USING gist (p WITH ~=);
\set VERBOSITY default
SELECT to_regclass('gist_points_twice');

-- options
CREATE INDEX gist_with ON gist_points USING gist (p) WITH (parallel_workers = 3, fillfactor = 70, buffering = auto);
SELECT gist_built(), sound('gist_with') > 0 AS sound, reloptions FROM pg_class WHERE relname = 'gist_with';
CREATE INDEX gist_with_0 ON gist_points USING gist (p) WITH (parallel_workers = 0);
SELECT gist_built();
CREATE INDEX gist_error ON gist_points USING gist (p) WITH (parallel_workers = 2000);
CREATE INDEX gist_error ON gist_points USING gist (p) WITH (parallel_workers = -1);
CREATE INDEX gist_error ON gist_points USING gist (p) WITH (parallel_workers = many);
CREATE INDEX gist_error ON gist_points USING gist (p) WITH (fillfactor = 1000);
CREATE INDEX gist_error ON gist_points USING gist (p) WITH (deduplicate_items = on);
CREATE UNIQUE INDEX gist_error ON gist_points USING gist (p);
CREATE INDEX gist_error ON gist_points USING gist (word);
SELECT gist_built();

-- an error of a function of the user, in the leader or a worker
CREATE FUNCTION gist_fails(p point, id int) RETURNS point LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$ BEGIN IF id = 3001 THEN RAISE EXCEPTION 'not this row'; END IF; RETURN p; END $$;
\set SHOW_CONTEXT never
CREATE INDEX gist_error ON gist_points USING gist (gist_fails(p, id));
SET ptsort.parallel_workers = 0;
CREATE INDEX gist_error ON gist_points USING gist (gist_fails(p, id));
SET ptsort.parallel_workers = 2;
\set SHOW_CONTEXT errors
SELECT gist_built();

-- Returns the roles of the participants that built the index; null if the server
-- built it.
CREATE FUNCTION gist_left(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN (SELECT string_agg(role, ' ') FROM ptsort_last_build() WHERE index_name = 'gist_left');
END $$;
SELECT gist_left('CREATE INDEX gist_left ON gist_points USING gist (p) WITH (buffering = on)') AS buffering_on;
DROP INDEX gist_left;
SELECT gist_left('CREATE INDEX gist_left ON gist_points USING gist (circle(p, 1))') AS circle;
SELECT sound('gist_left') > 0 AS sound;
DROP INDEX gist_left;
SELECT gist_left('CREATE INDEX gist_left ON gist_points USING gist (p, (box(p, p)))') AS point_and_box;
SELECT sound('gist_left') > 0 AS sound;
DROP INDEX gist_left;
SET ptsort.enable = off;
SELECT gist_left('CREATE INDEX gist_left ON gist_points USING gist (p)') AS disabled;
DROP INDEX gist_left;
RESET ptsort.enable;

-- Classes of the user: copies of point_ops, in which one function is not marked
-- as parallel safe.  Only the sort support function may lack the mark.
CREATE FUNCTION gist_unsafe_union(internal, internal) RETURNS box LANGUAGE internal IMMUTABLE STRICT PARALLEL UNSAFE AS 'gist_box_union';
CREATE FUNCTION gist_unmarked_sort(internal) RETURNS void LANGUAGE internal IMMUTABLE STRICT AS 'gist_point_sortsupport';
CREATE FUNCTION gist_restricted_compress(internal) RETURNS internal LANGUAGE internal IMMUTABLE STRICT PARALLEL RESTRICTED AS 'gist_point_compress';
CREATE FUNCTION gist_safe_sort(internal) RETURNS void LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'gist_point_sortsupport';
CREATE FUNCTION gist_safe_union(internal, internal) RETURNS box LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'gist_box_union';
CREATE FUNCTION gist_make_class(name text, unionfn text, compress text, sortfn text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OPERATOR CLASS %I FOR TYPE point USING gist AS
		OPERATOR 6 ~= (point, point), OPERATOR 28 <@ (point, box), OPERATOR 15 <-> (point, point) FOR ORDER BY float_ops,
		FUNCTION 1 gist_point_consistent(internal, point, smallint, oid, internal), FUNCTION 2 %s(internal, internal),
		FUNCTION 3 %s(internal), FUNCTION 5 gist_box_penalty(internal, internal, internal),
		FUNCTION 6 gist_box_picksplit(internal, internal), FUNCTION 7 gist_box_same(box, box, internal),
		FUNCTION 8 gist_point_distance(internal, point, smallint, oid, internal), FUNCTION 11 %s(internal), STORAGE box',
		name, unionfn, compress, sortfn);
END $$;
SELECT gist_make_class('gist_unsafe_ops', 'gist_unsafe_union', 'gist_point_compress', 'gist_safe_sort'),
	gist_make_class('gist_restricted_ops', 'gist_safe_union', 'gist_restricted_compress', 'gist_safe_sort'),
	gist_make_class('gist_unmarked_ops', 'gist_safe_union', 'gist_point_compress', 'gist_unmarked_sort'),
	gist_make_class('gist_safe_ops', 'gist_safe_union', 'gist_point_compress', 'gist_safe_sort');
SELECT gist_same('gist_points', '(p gist_unsafe_ops)', most => 0) AS unsafe, gist_same('gist_points', '(p gist_restricted_ops)', most => 0) AS restricted,
	gist_same('gist_points', '(p gist_unmarked_ops)') AS unmarked_sort, gist_same('gist_points', '(p gist_safe_ops)') AS safe;

DROP TABLE gist_points, gist_windows, gist_small, gist_nan, gist_unlogged, gist_temp, gist_parts, gist_new, gist_once;
DROP MATERIALIZED VIEW gist_view;
DROP TABLE gist_ways;
DROP FUNCTION gist_answers, gist_same, gist_built, gist_left, gist_fails, gist_make_class;
