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

-- sound indexes
SELECT i, gist_check(i) FROM unnest('{sorted,inserted,two,empty_p_idx}'::regclass[]) i;
SELECT gist_check('sorted', tight => true);
BEGIN;
DELETE FROM points WHERE id % 2 = 0;
INSERT INTO points SELECT id + 5000, p + point(1, 1) FROM points;
SELECT i, gist_check(i) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
ROLLBACK;
SELECT i, gist_check(i) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
VACUUM points;
SELECT i, gist_check(i) FROM unnest('{sorted,inserted,two}'::regclass[]) i;
REINDEX TABLE points;
SELECT gist_check('plain');
SELECT gist_check(0::oid);

-- Returns the message of gist_check() without the block, or "sound".
CREATE FUNCTION verdict(tight bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM gist_check('sorted', tight);
	RETURN 'sound';
EXCEPTION WHEN index_corrupted THEN
	RETURN regexp_replace(regexp_replace(SQLERRM, '.*block \d+: ', ''), '\(\d+,\d+\)', '(N,N)');
END $$;

-- Writes bytes to a page and returns verdict(); then restores the page.
CREATE FUNCTION damage(block int, at int, bytes bytea, tight bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	page bytea := get_raw_page('sorted', block);
	result text;
BEGIN
	PERFORM ptsort_test_write_page('sorted'::regclass, block, at, bytes);
	result := verdict(tight);
	PERFORM ptsort_test_write_page('sorted'::regclass, block, 0, page);
	RETURN result;
END $$;

-- Returns a number of a page in the server's byte order, or the bytes of a
-- number.
CREATE FUNCTION is_little_endian() RETURNS bool LANGUAGE sql AS
	$$ SELECT get_byte(get_raw_page('sorted', 0), 8190) = 129 $$;
CREATE FUNCTION int2_at(block int, at int) RETURNS int LANGUAGE sql AS $$
	SELECT CASE WHEN is_little_endian() THEN get_byte(page, at) + 256 * get_byte(page, at + 1)
		ELSE get_byte(page, at + 1) + 256 * get_byte(page, at) END
	FROM get_raw_page('sorted', block) page $$;
CREATE FUNCTION int2_bytes(value int) RETURNS bytea LANGUAGE sql AS $$
	SELECT CASE WHEN is_little_endian() THEN substr(b, 2) || substr(b, 1, 1) ELSE b END
	FROM substr(int4send(value), 3) b $$;
-- Returns the place of a tuple.  (The first 15 bits of a line pointer are the
-- place on little-endian and big-endian machines.)
CREATE FUNCTION place(block int, item int) RETURNS int LANGUAGE sql AS $$
	SELECT CASE WHEN is_little_endian() THEN int2_at(block, 20 + 4 * item) % 32768 ELSE int2_at(block, 20 + 4 * item) / 2 END $$;
-- Returns the block that the root's first downlink leads to, a leaf.
CREATE FUNCTION leaf() RETURNS int LANGUAGE sql AS $$ SELECT int2_at(0, place(0, 1) + 2) $$;
CREATE FUNCTION bytes_at(block int, at int, length int) RETURNS bytea LANGUAGE sql AS
	$$ SELECT substr(get_raw_page('sorted', block), at + 1, length) $$;

-- headers: 8 version and size, 12 lower, 14 upper, 16 special; special area at
-- 8176: 0 NSN, 8 right link, 12 flags, 14 identification
SELECT damage(leaf(), 18, '\x0000') AS version, damage(leaf(), 16, int2_bytes(8168)) AS special,
	damage(leaf(), 8190, '\x0000') AS identification;
SELECT damage(leaf(), 14, int2_bytes(20)) AS upper, damage(leaf(), 14, int2_bytes(8184)) AS upper,
	damage(leaf(), 12, int2_bytes(8)) AS lower, damage(leaf(), 12, int2_bytes(int2_at(leaf(), 12) - 2)) AS lower;
SELECT damage(leaf(), 0, '\x0000000000000000') AS lsn, damage(leaf(), 8176, '\x7fffffff7fffffff') AS nsn,
	damage(leaf(), 8184, '\x11111111') AS right_link;
SELECT flags, damage(leaf(), 8188, int2_bytes(flags)) AS leaf, damage(0, 8188, int2_bytes(flags)) AS root
FROM unnest('{0, 1, 2, 3, 5, 9, 16, 17, 33}'::int[]) flags;

-- a lost or doubled tuple or downlink
SELECT damage(0, 12, int2_bytes(int2_at(0, 12) - 4)) AS lost_downlink,
	damage(leaf(), 12, int2_bytes(int2_at(leaf(), 12) - 4)) AS lost_tuple,
	damage(0, 12, int2_bytes(24)) AS no_downlink;
SELECT damage(leaf(), 28, bytes_at(leaf(), 24, 4)) AS same_tuple,
	damage(leaf(), place(leaf(), 2), bytes_at(leaf(), place(leaf(), 1), 6)) AS same_row,
	damage(0, place(0, 2), bytes_at(0, place(0, 1), 6)) AS same_downlink;

-- tuples: 0 block, 4 offset, 6 length and flags, 8 key, 40 included column
SELECT damage(leaf(), 24, '\x00000000') AS unused, damage(leaf(), 24, int2_bytes(CASE WHEN is_little_endian() THEN 32776 ELSE 16 END)) AS early,
	damage(leaf(), place(leaf(), 1) + 6, int2_bytes(40)) AS short, damage(leaf(), place(leaf(), 1) + 6, int2_bytes(56)) AS long;
SELECT damage(leaf(), place(leaf(), 1), '\x7777') AS row, damage(leaf(), place(leaf(), 1) + 4, '\x0000') AS row,
	damage(0, place(0, 1), '\x7777') AS downlink, damage(0, place(0, 1) + 4, int2_bytes(65534)) AS invalid_downlink;
SELECT damage(leaf(), place(leaf(), 1) + 8, bytes_at(leaf(), place(leaf(), 5) + 8, 32)) AS key,
	damage(leaf(), place(leaf(), 1) + 8, float8send('NaN') || float8send('NaN') || float8send('NaN') || float8send('NaN')) AS nan,
	damage(leaf(), place(leaf(), 1) + 40, '\x77777777') AS included;
SELECT damage(0, place(0, 1) + 8, bytes_at(leaf(), place(leaf(), 1) + 8, 32)) AS small;
SELECT damage(0, place(0, 1) + 8, big) AS large, damage(0, place(0, 1) + 8, big, tight => true) AS large_tight
FROM (SELECT CASE WHEN is_little_endian() THEN '\x000000000070a740000000000070a740000000000070a7c0000000000070a7c0'::bytea
		ELSE '\x40a770000000000040a7700000000000c0a7700000000000c0a7700000000000' END AS big OFFSET 0) b;

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

CREATE FUNCTION flips(seed float8, n int, OUT reported int, OUT harmless int, OUT missed text) LANGUAGE plpgsql AS $$
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
	FOR i IN 1 .. n LOOP
		block := CASE WHEN random() < 0.3 THEN 0 ELSE floor(random() * blocks) END;
		page := get_raw_page('sorted', block);
		at := CASE WHEN random() < 0.2 THEN floor(random() * 24) WHEN random() < 0.2 THEN 8176 + floor(random() * 16)
			WHEN random() < 0.3 THEN 24 + floor(random() * (int2_at(block, 12) - 24))
			ELSE int2_at(block, 14) + floor(random() * (8176 - int2_at(block, 14))) END;
		PERFORM ptsort_test_write_page('sorted'::regclass, block, at,
			set_byte('\x00', 0, get_byte(page, at) # (CASE WHEN random() < 0.5 THEN 1 << floor(random() * 8)::int ELSE 1 + floor(random() * 255)::int END)));
		IF verdict() <> 'sound' THEN
			reported := reported + 1;
		ELSIF answers(true) = expected THEN
			harmless := harmless + 1;
		ELSE
			missed := concat(missed || ', ', format('block %s, byte %s', block, at));
		END IF;
		PERFORM ptsort_test_write_page('sorted'::regclass, block, 0, page);
	END LOOP;
END $$;
SELECT reported > 200 AS reported, harmless > 10 AS harmless, missed FROM flips(0.35, 400);
SELECT verdict(tight => true);
DROP TABLE points, boxes, empty;
DROP FUNCTION verdict, damage, int2_at, int2_bytes, place, leaf, bytes_at, answers, flips, is_little_endian;
DROP EXTENSION gistcheck;
