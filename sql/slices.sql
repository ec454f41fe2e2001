-- The final merge in slices: borders anywhere, every class of key, uniqueness
-- across borders.  With ptsort_test.slices, ptsort also cuts the merges of
-- small tables into slices.
\set VERBOSITY terse
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
CREATE EXTENSION IF NOT EXISTS amcheck;
SET max_parallel_maintenance_workers = 2;
SET ptsort.parallel_workers = 2;
CREATE COLLATION slices_en (provider = libc, locale = 'en_US.UTF-8');

CREATE TABLE slices AS
SELECT hashint4(i)::int8 AS k, i AS up, i % 3 AS few, 1 AS one,
	   md5(i::text) COLLATE "C" AS c, ('same prefix ' || i % 500) COLLATE "C" AS p,
	   md5(i::text) COLLATE slices_en AS l, CASE WHEN i % 10 > 0 THEN NULL ELSE i END AS n
FROM generate_series(1, 20000) i;
VACUUM (ANALYZE) slices;

-- Builds an index in this number of slices, checks the index, and returns data
-- from the report.
CREATE FUNCTION slices_build(what text, slices int, OUT participants bigint, OUT tuples bigint, OUT pages_of_all boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.slices', slices::text, true);
	EXECUTE format('CREATE INDEX slices_i ON slices (%s)', what);
	PERFORM bt_index_parent_check('slices_i', true, true);
	SELECT count(*) FILTER (WHERE participant IS NOT NULL), max(b.tuples),
		   sum(pages) FILTER (WHERE participant IS NOT NULL) = pg_relation_size('slices_i') / current_setting('block_size')::int
	INTO participants, tuples, pages_of_all
	FROM ptsort_last_build() b WHERE index_name = 'slices_i';
	DROP INDEX slices_i;
END $$;
SELECT what, slices, b.*
FROM unnest('{k,up,few,one,c,p,l,n,"few, k","one, c","k DESC) INCLUDE (up",n) WHERE (n IS NULL}'::text[]) what,
	 unnest('{1,2,7,12}'::int[]) slices, slices_build(what, slices) b
ORDER BY 1, 2;

-- Slices of one page each, whose only page is their first and last leaf.
SELECT b.* FROM slices_build('up) WHERE (up % 8 = 0', 12) b;

-- The same builds, with keys whose words do not decide the order, and with
-- keys that have no words, so that comparisons decide the order.
SET ptsort_test.key_class = prefix;
SELECT what, b.* FROM unnest('{k,few,n,"few, k"}'::text[]) what, slices_build(what, 12) b ORDER BY 1;
SET ptsort_test.key_class = compared;
SELECT what, b.* FROM unnest('{k,few,n,c}'::text[]) what, slices_build(what, 12) b ORDER BY 1;
RESET ptsort_test.key_class;

-- The build finds a duplicate anywhere, even if a border or a dead tuple is
-- between the two rows.
CREATE TABLE slices_unique (k int, c text COLLATE slices_en);
CREATE FUNCTION slices_duplicate(what text, key int, dead boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE slices_unique;
	INSERT INTO slices_unique SELECT i, i FROM generate_series(1, 3000) i;
	IF dead THEN
		INSERT INTO slices_unique VALUES (key, key);
		DELETE FROM slices_unique WHERE ctid = (SELECT max(ctid) FROM slices_unique);
	END IF;
	INSERT INTO slices_unique VALUES (key, key);
	BEGIN
		EXECUTE format('CREATE UNIQUE INDEX slices_unique_i ON slices_unique (%s)', what);
	EXCEPTION WHEN unique_violation THEN
		RETURN sqlerrm;
	END;
	RETURN 'not found: ' || key;
END $$;
SET ptsort_test.slices = 12;
SELECT what, class, dead, slices_duplicate(what, key, dead) AS error, count(*)
FROM unnest('{k,c}'::text[]) what, unnest('{auto,prefix,compared}'::text[]) class,
	 unnest('{f,t}'::boolean[]) dead, generate_series(1, 3000, 97) key,
	 set_config('ptsort_test.key_class', class, false)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
RESET ptsort_test.key_class;

-- Without duplicates: all rows are live, and nulls are distinct.
TRUNCATE slices_unique;
INSERT INTO slices_unique SELECT i, i FROM generate_series(1, 3000) i;
INSERT INTO slices_unique SELECT NULL, NULL FROM generate_series(1, 3000) i;
CREATE UNIQUE INDEX slices_unique_k ON slices_unique (k);
SELECT max(tuples) AS tuples FROM ptsort_last_build() WHERE index_name = 'slices_unique_k';
SELECT bt_index_parent_check('slices_unique_k', true, true);
CREATE UNIQUE INDEX slices_unique_n ON slices_unique (k) NULLS NOT DISTINCT;

-- An index without entries: there is nothing to cut.
DELETE FROM slices_unique;
CREATE INDEX slices_none ON slices_unique (k) WHERE c = 'x';
SELECT bt_index_parent_check('slices_none', true, true);
