-- gist_check() accepts sound indexes and reports damage.
SET client_min_messages = warning;
CREATE EXTENSION gistcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE EXTENSION IF NOT EXISTS ptsort_test CASCADE;
CREATE TABLE points AS SELECT i AS id, point(hashint4(i) / 1e6, hashint4(-i) / 1e6) AS p FROM generate_series(1, 2000) i;
UPDATE points SET p = NULL WHERE id % 100 = 0;
VACUUM FULL points;
CREATE INDEX sorted ON points USING gist (p) INCLUDE (id) WITH (buffering = auto);
CREATE INDEX inserted ON points USING gist (p) INCLUDE (id) WITH (buffering = on);
CREATE INDEX two ON points USING gist (box(p, p), p) WHERE id % 3 = 0;
CREATE INDEX plain ON points (id);
CREATE TABLE empty (p point);
CREATE INDEX ON empty USING gist (p);

-- sound indexes: built, with dead and new rows, after VACUUM
SELECT i, gist_check(i) FROM unnest('{sorted,inserted,two,empty_p_idx}'::regclass[]) i;
SELECT gist_check('sorted', tight => true);
BEGIN;
DELETE FROM points WHERE id % 2 = 0;
INSERT INTO points SELECT id + 5000, p + point(1, 1) FROM points;
SELECT count(gist_check(i)) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
ROLLBACK;
SELECT count(gist_check(i)) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
VACUUM points;
SELECT count(gist_check(i)) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
REINDEX TABLE points;
SELECT gist_check('plain');
SELECT gist_check(0::oid);

-- Returns a number of a page in the server's byte order.
CREATE FUNCTION int2_at(block int, at int) RETURNS int LANGUAGE sql AS $$
	SELECT CASE get_byte(page, 8190) WHEN 129 THEN get_byte(page, at) + 256 * get_byte(page, at + 1)
		ELSE get_byte(page, at + 1) + 256 * get_byte(page, at) END
	FROM get_raw_page('sorted', block) page $$;

-- Flips random bits.  Either gist_check() reports the damage, or queries find
-- what a sequential scan finds.
CREATE TABLE boxes AS SELECT box(point(x, y), point(x + 400, y + 900)) AS b
	FROM generate_series(-2200, 2200, 400) x, generate_series(-2200, 2200, 900) y;
CREATE FUNCTION answers(index_scan bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index_scan)::text, true),
		set_config('enable_indexscan', index_scan::text, true), set_config('enable_indexonlyscan', index_scan::text, true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_material', 'off', true);
	SELECT concat(count(*), ' ', sum(hashint4(id)), ' ', sum(hashtext(p::text))) INTO result FROM boxes, points WHERE p <@ b;
	RETURN result || (SELECT concat(count(*), sum(hashint4(id))) FROM points WHERE p IS NULL);
END $$;
DROP INDEX inserted, two, plain;
VACUUM ANALYZE points;
SELECT answers(true) = answers(false) AS same;

CREATE FUNCTION flips(seed float8, n int, OUT reported int, OUT harmless int, OUT missed text, OUT messages text[]) LANGUAGE plpgsql AS $$
DECLARE
	expected text := answers(false);
	blocks int := pg_relation_size('sorted') / 8192;
	block int;
	at int;
	page bytea;
BEGIN
	PERFORM setseed(seed);
	reported := 0;
	harmless := 0;
	messages := '{}';
	FOR i IN 1 .. n LOOP
		block := CASE WHEN random() < 0.3 THEN 0 ELSE floor(random() * blocks) END;
		page := get_raw_page('sorted', block);
		at := CASE WHEN random() < 0.2 THEN floor(random() * 24) WHEN random() < 0.2 THEN 8176 + floor(random() * 16)
			WHEN random() < 0.3 THEN 24 + floor(random() * (int2_at(block, 12) - 24))
			ELSE int2_at(block, 14) + floor(random() * (8176 - int2_at(block, 14))) END;
		PERFORM ptsort_test_write_page('sorted'::regclass, block, at,
			set_byte('\x00', 0, get_byte(page, at) # (CASE WHEN random() < 0.5 THEN 1 << floor(random() * 8)::int ELSE 1 + floor(random() * 255)::int END)));
		BEGIN
			PERFORM gist_check('sorted');
			IF answers(true) = expected THEN
				harmless := harmless + 1;
			ELSE
				missed := concat(missed || ', ', format('block %s, byte %s', block, at));
			END IF;
		EXCEPTION WHEN index_corrupted THEN
			reported := reported + 1;
			messages := messages || regexp_replace(SQLERRM, '.*block \d+: |\(\d+,\d+\)', '', 'g');
		END;
		PERFORM ptsort_test_write_page('sorted'::regclass, block, 0, page);
	END LOOP;
END $$;
SELECT reported > 200 AS reported, harmless > 10 AS harmless, missed, (SELECT count(DISTINCT m) > 8 FROM unnest(messages) m) AS messages
FROM flips(0.35, 400);
SELECT gist_check('sorted', tight => true);
DROP TABLE points, boxes, empty;
DROP FUNCTION int2_at, answers, flips;
DROP EXTENSION gistcheck;
