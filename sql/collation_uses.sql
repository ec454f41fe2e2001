-- ptsort_collation_uses: what depends on the order of a collation.  A name says
-- what the view must find: i_no_... and c_no_... do not depend on an order.
\pset format unaligned \pset footer off
CREATE SCHEMA uses;
SET search_path = uses, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
CREATE COLLATION us FROM "en_US.utf8";
CREATE COLLATION de FROM "de_DE.utf8";
CREATE COLLATION equal (PROVIDER = icu, LOCALE = 'de', DETERMINISTIC = false);
CREATE TYPE pair AS (a text COLLATE us, n int);
CREATE TYPE span AS RANGE (subtype = text, collation = us, multirange_type_name = spans);
CREATE DOMAIN word AS text COLLATE us;
CREATE DOMAIN pairs AS pair[];
CREATE DOMAIN small AS text CHECK (VALUE < 'm');
CREATE DOMAIN smaller AS small CHECK (VALUE <> 'l');
CREATE DOMAIN number AS int CHECK (VALUE > 0);
CREATE TYPE nest AS (p pairs, j jsonb, s spans);
CREATE FUNCTION f(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN $1;
CREATE TABLE t (id int, s text, v varchar(5), b char(3), n name, c "char", p pair, r span, m spans, w word, a text[],
	j jsonb, ps pairs, ne nest, bytes text COLLATE "C", e text COLLATE equal, h text COLLATE us, g text GENERATED ALWAYS AS (s || 'x') STORED);
-- keys
CREATE INDEX i_text ON t (s);
CREATE INDEX i_two ON t (id, s COLLATE us, v DESC);
CREATE INDEX i_bpchar ON t (b);
CREATE INDEX i_name ON t (n);
CREATE INDEX i_bytes ON t (bytes);
CREATE INDEX i_composite ON t (p);
CREATE INDEX i_range ON t (r);
CREATE INDEX i_multirange ON t (m);
CREATE INDEX i_domain ON t (w);
CREATE INDEX i_array ON t (a);
CREATE INDEX i_jsonb ON t (j);
CREATE INDEX i_composites ON t (ps);
CREATE INDEX i_nest ON t (ne);
CREATE INDEX i_generated ON t (g);
CREATE INDEX i_gist ON t USING gist (r);
CREATE INDEX i_gist_multi ON t USING gist (m);
CREATE INDEX i_gin ON t USING gin (a);
CREATE INDEX i_brin ON t USING brin (s);
CREATE INDEX i_spgist ON t USING spgist (r);
CREATE INDEX i_hash_equal ON t USING hash (e);
CREATE INDEX i_no_int ON t (id) INCLUDE (s);
CREATE INDEX i_no_char ON t (c);
CREATE INDEX i_no_pattern ON t (s text_pattern_ops, v varchar_pattern_ops, b bpchar_pattern_ops);
CREATE INDEX i_no_image ON t (p record_image_ops);
CREATE INDEX i_no_hash ON t USING hash (s);
CREATE INDEX i_no_gin_jsonb ON t USING gin (j);
CREATE INDEX i_no_gin_path ON t USING gin (j jsonb_path_ops);
CREATE INDEX i_no_spgist ON t USING spgist (s);
-- expressions and predicates
CREATE INDEX i_less ON t ((s < 'x'));
CREATE INDEX i_where ON t (id) WHERE s < 'm';
CREATE INDEX i_between ON t (id) WHERE s BETWEEN 'a' AND 'm';
CREATE INDEX i_row ON t (id) WHERE (s, id, h) < ('m', 5, 'n');
CREATE INDEX i_greatest ON t (id) WHERE greatest(s, 'a') IS NOT NULL;
CREATE INDEX i_any ON t (id) WHERE s < ANY ('{a,b}');
CREATE INDEX i_case ON t ((CASE WHEN s > 'm' THEN 1 ELSE 0 END));
CREATE INDEX i_nullif ON t (id) WHERE nullif(s > 'm', true) IS NULL;
CREATE INDEX i_collate ON t ((s COLLATE de || 'x'));
CREATE INDEX i_function ON t ((f(s) IS NULL));
CREATE INDEX i_lower ON t (lower(s));
CREATE INDEX i_jsonb_text ON t ((j ->> 'k'));
CREATE INDEX i_jsonb_less ON t (id) WHERE j < '{}';
CREATE INDEX i_contains ON t (id) WHERE r @> 'x'::text;
CREATE INDEX i_pair ON t (id) WHERE p > ROW('a', 1)::pair;
CREATE INDEX i_jsonb_row ON t (id) WHERE (j, id) < ('{}', 5);
CREATE INDEX i_jsonb_greatest ON t ((greatest(j, '{}')));
CREATE INDEX i_jsonb_array ON t (id) WHERE ARRAY[j] < ARRAY['{}'::jsonb];
CREATE INDEX i_pair_made ON t (id) WHERE ROW(s COLLATE "C", id)::pair < ROW('m', 5)::pair;
CREATE INDEX i_pair_greatest ON t (id) WHERE greatest(ROW('a', id)::pair, ROW('m', 5)::pair) IS NOT NULL;
CREATE INDEX i_range_made ON t (id) WHERE span(bytes, NULL) @> 'm'::text;
CREATE INDEX i_whole_row ON t (id) WHERE t.p < NULL::pair;
CREATE INDEX i_hash_where ON t USING hash (id) WHERE s > 'm';
CREATE INDEX i_nondeterministic ON t (id) WHERE e = 'x';
CREATE INDEX i_no_equal ON t (id) WHERE s = 'm' AND v IN ('a', 'b') AND b <> 'x' AND s IS DISTINCT FROM 'y' AND s IS NOT NULL;
CREATE INDEX i_no_jsonb ON t (id) WHERE jsonb_typeof(j) = 'object';
CREATE INDEX i_no_expression ON t ((id + 1)) WHERE id > 5;
-- constraints and partitions
CREATE TABLE c_check (s text CHECK (s < 'm' COLLATE us));
CREATE TABLE c_range (r span CHECK (NOT isempty(r)));
CREATE TABLE c_domain (s smaller, n number);
CREATE TABLE c_bound (s text, id int) PARTITION BY RANGE (s);
CREATE TABLE c_bound_1 PARTITION OF c_bound FOR VALUES FROM ('a') TO ('m') PARTITION BY RANGE (id);
CREATE TABLE c_bound_2 PARTITION OF c_bound_1 FOR VALUES FROM (1) TO (10);
CREATE UNIQUE INDEX i_bound ON c_bound (s, id);
CREATE TABLE c_below (id int, h text COLLATE us) PARTITION BY RANGE (id);
CREATE TABLE c_below_1 PARTITION OF c_below FOR VALUES FROM (1) TO (10) PARTITION BY RANGE (h);
CREATE TABLE c_jsonb (j jsonb) PARTITION BY RANGE (j);
CREATE TABLE c_jsonb_key (j jsonb) PARTITION BY RANGE ((j -> 'k'));
CREATE TABLE c_pair_key (id int) PARTITION BY RANGE ((ROW('a', id)::pair));
CREATE TABLE c_pair (id int CHECK (ROW('a', id)::pair < ROW('m', 5)::pair));
CREATE TABLE c_jsonb_row (j jsonb CHECK ((j, 1) < ('{}', 5)));
CREATE TABLE c_expression (s text) PARTITION BY LIST ((lower(s)));
CREATE TABLE c_no_check (s text CHECK (s IN ('x', 'y')), j jsonb CHECK (jsonb_typeof(j) = 'object'), n number);
CREATE TABLE c_no_valid (s text);
ALTER TABLE c_no_valid ADD CHECK (s < 'm') NOT VALID;
CREATE TABLE c_no_list (s text) PARTITION BY LIST (s);
CREATE TABLE c_no_hash (s text) PARTITION BY HASH (s);
-- temporary tables end before a library changes; an invalid index waits for its
-- rebuild
CREATE TEMP TABLE i_no_temp (s text PRIMARY KEY);
CREATE INDEX i_no_invalid ON t (s);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i_no_invalid'::regclass;
CREATE VIEW found AS
SELECT relation::regclass, what, string_agg("collation"::regcollation::text, ', ' ORDER BY "collation"::regcollation::text COLLATE "C") AS collations
FROM ptsort_collation_uses JOIN pg_class c ON c.oid = relation
WHERE relnamespace IN ('uses'::regnamespace, pg_my_temp_schema()) GROUP BY 1, 2;
SELECT * FROM found WHERE relation::text LIKE 'i%' ORDER BY relation::text COLLATE "C", what;
SELECT * FROM found WHERE relation::text LIKE 'c%' ORDER BY relation::text COLLATE "C", what;
SELECT relname FROM pg_class WHERE relnamespace = 'uses'::regnamespace AND relkind IN ('i', 'r', 'p') AND relname ~ '^[ci]_' AND
	oid NOT IN (SELECT relation FROM found) AND relname !~ '_no_' ORDER BY relname COLLATE "C";
DROP SCHEMA uses CASCADE;
