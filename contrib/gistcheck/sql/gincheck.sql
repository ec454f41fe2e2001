-- gin_check() accepts sound indexes, tells their contents apart, and reports
-- damage.
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;
CREATE EXTENSION gistcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE EXTENSION IF NOT EXISTS ptsort_test CASCADE;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE docs (id int, a int[], b text[], t tsvector, j jsonb, w text) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_docs(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i,
		CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN '{}' ELSE ARRAY[7, i, i % 100, NULLIF(i % 20, 3)] END,
		ARRAY['all', 'w' || i % 1000, repeat('long', 500 * (i % 200 = 5)::int) || i],
		array_to_tsvector(ARRAY['common', 'v' || i, 'x' || i % 70]),
		CASE WHEN i % 30 = 2 THEN '{}' ELSE jsonb_build_object('id', i, 'kind', i % 5, 'tags', ARRAY[i % 9, i % 7]::text[], 'on', i % 2 = 0, 'no', NULL) END,
		'word ' || i % 300 || ' of ' || chr(97 + i % 26)
	FROM generate_series(first, last) i $$;
SELECT add_docs(1, 10000);
VACUUM docs;
CREATE INDEX docs_a ON docs USING gin (a);
CREATE INDEX docs_b ON docs USING gin (b) WITH (fastupdate = off);
CREATE INDEX docs_t ON docs USING gin (t);
CREATE INDEX docs_j ON docs USING gin (j);
CREATE INDEX docs_path ON docs USING gin (j jsonb_path_ops);
CREATE INDEX docs_w ON docs USING gin (w gin_trgm_ops);
CREATE INDEX docs_two ON docs USING gin (a, b) WITH (fastupdate = off);
CREATE INDEX docs_part ON docs USING gin ((a || id), t) WHERE id % 3 = 0;
CREATE TABLE one (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX one_empty ON one USING gin (a);
CREATE TABLE many WITH (autovacuum_enabled = off) AS SELECT ARRAY[1, 2 + i % 3] AS a FROM generate_series(1, 200000) i;
CREATE INDEX many_a ON many USING gin (a);
CREATE TABLE nothing (a int[]) WITH (autovacuum_enabled = off);
INSERT INTO nothing SELECT CASE WHEN i % 2 = 0 THEN '{}'::int[] END FROM generate_series(1, 1000) i;
CREATE INDEX nothing_a ON nothing USING gin (a);
CREATE INDEX plain ON docs (id);
CREATE VIEW gins AS SELECT indexrelid::regclass AS index FROM pg_index
	WHERE indexrelid::regclass::text ~ '^(docs_|one_|many_|nothing_)';

-- after a build
SELECT index, keys, tids FROM gins, gin_check(index, tight => true, heap => true) ORDER BY index::text COLLATE "C";
SELECT * FROM gin_check('one_empty', tight => true, heap => true);
SELECT gin_check('plain');
SELECT gin_check(0::oid);

-- Inserts, with and without pending lists, lead to the same set as a build.
SELECT add_docs(10001, 12000);
INSERT INTO many SELECT ARRAY[2, i] FROM generate_series(1, 3000) i;
INSERT INTO one VALUES ('{1,2}');
CREATE TABLE before AS SELECT index, (c).* FROM gins, LATERAL (SELECT gin_check(index, heap => true) AS c) c;
SELECT count(*), sum(tids) FROM before;
SELECT gin_clean_pending_list(index) > 0 AS cleaned, count(*) FROM gins GROUP BY 1 ORDER BY 1;
SELECT count(*), count(*) FILTER (WHERE (a.tids, a.digest) = (b.tids, b.digest)) AS same
	FROM gins JOIN before b USING (index), gin_check(index, heap => true) a;
REINDEX TABLE docs;
REINDEX TABLE many;
REINDEX TABLE one;
SELECT count(*), count(*) FILTER (WHERE (a.tids, a.digest) = (b.tids, b.digest)) AS same
	FROM gins JOIN before b USING (index), gin_check(index, tight => true, heap => true) a;

-- VACUUM empties lists and deletes pages.
DELETE FROM docs WHERE id BETWEEN 3000 AND 9000 OR id % 4 = 0;
DELETE FROM many WHERE ctid > '(200,0)' AND ctid < '(900,0)';
SELECT gin_check('docs_t', heap => true);
VACUUM docs, many;
SELECT count(gin_check(index, heap => true)) FROM gins;
SELECT add_docs(3000, 4000);
INSERT INTO many SELECT ARRAY[1, 2, i] FROM generate_series(1, 30000) i;
VACUUM docs, many;
SELECT count(gin_check(index, heap => true)) FROM gins;

-- A row that is not in the index, and a row in the index twice
UPDATE pg_index SET indisready = false WHERE indexrelid = 'docs_two'::regclass;
INSERT INTO docs (a) VALUES ('{7}');
UPDATE pg_index SET indisready = true WHERE indexrelid = 'docs_two'::regclass;
SELECT keys > 0 AS sound FROM gin_check('docs_two');
SELECT gin_check('docs_two', heap => true);

-- Flips random bits.  Either gin_check() reports the damage, or queries by the
-- index find what a sequential scan finds.
CREATE TABLE flipped WITH (autovacuum_enabled = off) AS
	SELECT ARRAY[1, 2 + i % 2, 10 + i % 400, NULLIF(i % 300, 4)] AS a FROM generate_series(1, 20000) i;
INSERT INTO flipped SELECT CASE WHEN i % 2 = 0 THEN '{}'::int[] END FROM generate_series(1, 50) i;
CREATE INDEX flipped_a ON flipped USING gin (a);
INSERT INTO flipped SELECT ARRAY[2, i] FROM generate_series(1, 100) i;
CREATE FUNCTION answers(index_scan bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index_scan)::text, true), set_config('enable_bitmapscan', index_scan::text, true),
		set_config('enable_material', 'off', true);
	SELECT string_agg(n::text, ' ' ORDER BY k) INTO result FROM (SELECT k, (SELECT concat(count(*), sum(hashtext(f.ctid::text)))
		FROM flipped f WHERE f.a @> ARRAY[k]) AS n FROM generate_series(0, 410) k WHERE k < 5 OR k % 13 = 0) q;
	RETURN result || (SELECT count(*) FROM flipped WHERE a <@ '{}');
END $$;
SELECT answers(true) = answers(false) AS same;
CREATE FUNCTION flips(seed float8, n int, OUT reported int, OUT harmless int, OUT missed text, OUT messages text[]) LANGUAGE plpgsql AS $$
DECLARE
	expected text := answers(false);
	sound text := gin_check('flipped_a');
	blocks int := pg_relation_size('flipped_a') / 8192;
	block int;
	at int;
	page bytea;
BEGIN
	PERFORM setseed(seed);
	reported := 0;
	harmless := 0;
	messages := '{}';
	FOR i IN 1 .. n LOOP
		block := CASE WHEN random() < 0.3 THEN floor(random() * 2) ELSE floor(random() * blocks) END;
		page := get_raw_page('flipped_a', block);
		at := CASE WHEN random() < 0.2 THEN floor(random() * 24) WHEN random() < 0.2 THEN 8184 + floor(random() * 8)
			WHEN random() < 0.4 THEN 24 + floor(random() * 80) ELSE 24 + floor(random() * 8160) END;
		PERFORM ptsort_test_write_page('flipped_a'::regclass, block, at,
			set_byte('\x00', 0, get_byte(page, at) # (CASE WHEN random() < 0.5 THEN 1 << floor(random() * 8)::int ELSE 1 + floor(random() * 255)::int END)));
		BEGIN
			IF gin_check('flipped_a')::text <> sound THEN
				reported := reported + 1;
			ELSIF answers(true) = expected THEN
				harmless := harmless + 1;
			ELSE
				missed := concat(missed || ', ', format('block %s, byte %s', block, at));
			END IF;
		EXCEPTION WHEN index_corrupted THEN
			reported := reported + 1;
			messages := messages || regexp_replace(SQLERRM, '.*block \d+: ', '');
		END;
		PERFORM ptsort_test_write_page('flipped_a'::regclass, block, 0, page);
	END LOOP;
END $$;
SELECT reported > 200 AS reported, harmless > 10 AS harmless, missed, (SELECT count(DISTINCT m) > 15 FROM unnest(messages) m) AS messages
FROM flips(0.35, 500);
SELECT keys, tids FROM gin_check('flipped_a', heap => true);
DROP VIEW gins;
DROP TABLE docs, one, many, nothing, flipped, before;
DROP FUNCTION add_docs, answers, flips;
DROP EXTENSION gistcheck;
