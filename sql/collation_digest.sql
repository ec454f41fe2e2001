-- Digests of collations: collations with equal digests order all strings alike.
-- t/044_collation_digests.pl compares digests with orders in many locales.
\pset format unaligned \pset footer off
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION IF EXISTS ptsort CASCADE;
CREATE SCHEMA digests;
SET search_path = digests;
CREATE EXTENSION ptsort SCHEMA digests;
-- The test works with any release of the C library, also with a known one.
DELETE FROM ptsort_known_digests;
DELETE FROM ptsort_known_changes;
CREATE FUNCTION digest(name) RETURNS text LANGUAGE sql
RETURN ptsort_collation_digest(quote_ident($1)::regcollation);

-- Collations that order by bytes have one digest, in all providers and encodings
SELECT digest('C'), digest('C') = digest('POSIX') AS posix,
	digest('C') = digest('C.utf8') AS "C.utf8",
	(SELECT count(*) FILTER (WHERE digest(collname) <> digest('C')) FROM pg_collation WHERE collprovider = 'b') AS other_builtin;

-- Digests depend on nothing but the order: the same in all sessions, for all
-- names of a locale, and for copies
CREATE COLLATION us FROM "en_US.utf8";
CREATE COLLATION de FROM "de_DE.utf8";
CREATE COLLATION cz FROM "cs_CZ.utf8";
CREATE COLLATION us_ctype (PROVIDER = libc, LC_COLLATE = 'en_US.utf8', LC_CTYPE = 'C.utf8');
SELECT digest('us') AS us, digest('cz') AS cz \gset
SELECT length(:'us'), :'us' ~ '^[0-9a-f]+$' AS hexadecimal, :'us' = digest('us') AS again,
	:'us' = digest('en_US.utf8') AS original, :'us' = digest('us_ctype') AS other_ctype,
	:'us' = digest('de') AS german, :'us' = :'cz' AS czech, :'us' = digest('C') AS bytes;
\c -
SET client_min_messages = warning;
SET search_path = digests;
SELECT digest('cz') = :'cz' AS czech, digest('us') = :'us' AS american;

-- Check these digests by pairs: German and American order alike, Czech does not
CREATE TABLE strings AS
SELECT string_agg(c, '') AS s FROM generate_series(1, 600) i, generate_series(1, 1 + i % 5) j,
	LATERAL (SELECT chr(CASE j * i % 4 WHEN 0 THEN 45 + h % 13 WHEN 1 THEN 97 + h % 26
		WHEN 2 THEN 192 + h % 400 ELSE 65 + h % 26 END) FROM (SELECT abs(hashtext(i || '/' || j)) AS h) h) c (c)
GROUP BY i;
INSERT INTO strings VALUES ('c'), ('ch'), ('CH'), ('h'), ('i'), ('co-op'), ('coop'), ('co op'), ('co-Op');
SELECT count(*) > 300000 AS enough,
	count(*) FILTER (WHERE (a.s < b.s COLLATE us) <> (a.s < b.s COLLATE de)) AS german,
	count(*) FILTER (WHERE (a.s < b.s COLLATE us) <> (a.s < b.s COLLATE cz)) > 0 AS czech
FROM strings a, strings b;

-- ICU's digests depend on all that the server gives to ICU, and on the version
CREATE COLLATION icu (PROVIDER = icu, LOCALE = 'de');
CREATE COLLATION icu_copy FROM icu;
CREATE COLLATION icu_phonebk (PROVIDER = icu, LOCALE = 'de-u-co-phonebk');
CREATE COLLATION icu_equal (PROVIDER = icu, LOCALE = 'de', DETERMINISTIC = false);
SELECT length(digest('icu')), digest('icu') = digest('icu_copy') AS copy, digest('icu') = digest('icu_phonebk') AS other,
	digest('icu') = digest('icu_equal') AS nondeterministic, digest('icu') = digest('us') AS libc;

-- No digest: another encoding, no such collation, no such locale, no collation
SELECT count(ptsort_collation_digest(oid)) AS others FROM pg_collation
WHERE collencoding NOT IN (-1, pg_char_to_encoding(getdatabaseencoding()));
CREATE COLLATION lost FROM "en_US.utf8";
CREATE TABLE lost (a text COLLATE lost UNIQUE);
UPDATE pg_collation SET collcollate = 'xx_LOST' WHERE collname = 'lost';
CREATE COLLATION lost_ctype FROM "en_US.utf8";
UPDATE pg_collation SET collctype = 'xx_LOST' WHERE collname = 'lost_ctype';
SELECT digest('lost') AS lost, digest('lost_ctype') AS lost_ctype,
	ptsort_collation_digest(1) AS missing, ptsort_collation_digest(NULL) AS "null";

-- The digest does not depend on what ptsort may use
SET ptsort.use_collation_tables = off;
SET ptsort_test.trust_collations = on;
SELECT digest('us') = :'us' AS same;
RESET ptsort.use_collation_tables;
RESET ptsort_test.trust_collations;

-- Uses: key columns of indexes, expressions, partition keys, constraints
CREATE COLLATION used_key FROM us;
CREATE COLLATION used_part FROM us;
CREATE COLLATION used_check FROM us;
CREATE COLLATION used_column FROM us;
CREATE COLLATION used_domain FROM cz;
CREATE COLLATION unused FROM us;
CREATE TABLE uses (a text COLLATE used_key PRIMARY KEY, b text COLLATE used_column CHECK (b > 'a'),
	c text COLLATE unused, d text CHECK (d > 'a' COLLATE used_check));
CREATE INDEX ON uses (d COLLATE used_key, a);
CREATE INDEX ON uses ((a || d)) INCLUDE (c);
CREATE TABLE parts (a text COLLATE used_part) PARTITION BY RANGE (a);
CREATE DOMAIN word AS text COLLATE used_domain CHECK (VALUE > 'a');
CREATE TABLE known AS SELECT name, digest(name) FROM unnest('{us,cz}'::name[]) name;
CREATE FUNCTION known(text) RETURNS text LANGUAGE sql
RETURN coalesce((SELECT name FROM known WHERE digest = $1), $1);
CREATE VIEW seen AS
SELECT collname, provider, locale, version_recorded = version_now AS version, known(digest_now) AS now,
	known(digest_remembered) AS remembered, verdict, reason, indexes
FROM ptsort_collations() JOIN pg_collation c ON c.oid = "collation"
WHERE collname ~ '^(used|unused|lost)';
SELECT * FROM seen;
SELECT count(*), count(DISTINCT "collation") = count(*) AS distinct FROM ptsort_collations()
WHERE "collation" = 'pg_catalog."default"'::regcollation;

-- The extension remembered at its creation what no index depended on.  It
-- remembers more when all that depends on a collation was checked or rebuilt.
-- (Other tests may leave tables in this database.)
CREATE VIEW checks AS
SELECT index, "table", problems, details, repair, wrong_rows
FROM ptsort_check_all(changed_collations => true)
WHERE "table" IN (SELECT oid FROM pg_class WHERE relnamespace = 'digests'::regnamespace);
SELECT * FROM ptsort_remember_collations() WHERE "collation"::text ~ 'used|lost';
-- where a call cannot write, it stores nothing
BEGIN READ ONLY;
SELECT * FROM checks;
COMMIT;
SELECT * FROM checks;
SELECT count(*), min(problems) AS problems, min(details[1]) LIKE 'left out: %' AS says_more FROM ptsort_check_all(changed_collations => true) WHERE "table" IS NULL;
SELECT relname, is_sound FROM ptsort_order_checks JOIN pg_class c ON c.oid = relation WHERE relnamespace = 'digests'::regnamespace ORDER BY relname;
SELECT * FROM ptsort_remember_collations() WHERE "collation"::text ~ 'used|lost';
SELECT * FROM seen;
SELECT * FROM checks;
SELECT count(*) FROM ptsort_order_checks JOIN pg_class c ON c.oid = relation WHERE relnamespace = 'digests'::regnamespace;
UPDATE ptsort_collation_digests SET digest = 'another' WHERE collation_name = 'used_key';
UPDATE ptsort_collation_digests SET digest = NULL WHERE collation_name = 'used_part';
UPDATE ptsort_collation_digests SET digest = digest('us') WHERE collation_name = 'lost';
DELETE FROM ptsort_collation_digests WHERE collation_name IN ('used_check', 'used_column');
UPDATE pg_collation SET collversion = '0' WHERE collname IN ('used_check', 'used_domain');
SELECT * FROM seen;
SELECT * FROM ptsort_remember_collations() WHERE "collation"::text ~ 'used|lost';
SELECT * FROM seen;
SELECT * FROM checks;
SELECT * FROM ptsort_remember_collations() WHERE "collation"::text ~ 'used|lost';
SELECT count(*) > count(DISTINCT (schema_name, collation_name, locale)) AS twice FROM ptsort_collation_digests;

-- Another version of ICU's collation may have the same order
CREATE TABLE by_icu (a text COLLATE "und-x-icu" UNIQUE);
SELECT count(*) FROM checks;
SELECT bool_and(remembered) FROM ptsort_remember_collations() WHERE "collation"::text ~ 'und-x-icu';
SELECT verdict FROM ptsort_collations() WHERE "collation" = '"und-x-icu"'::regcollation;
UPDATE ptsort_collation_digests SET digest = 'another' WHERE collation_name = 'und-x-icu';
SELECT verdict FROM ptsort_collations() WHERE "collation" = '"und-x-icu"'::regcollation;
DROP TABLE by_icu;

-- Releases of the C library that ptsort knows.  Release 1 sorted American text
-- as today, Czech text in another way; the digests of release 2 have another
-- format.  What is remembered counts more than what ptsort knows, which never
-- proves that the order is the same.
INSERT INTO ptsort_known_digests
SELECT '1', name, digest FROM (VALUES ('C', digest('C')), ('en_US', digest('us')), ('cs_CZ', 'another'),
	('xx_LOST@old', digest('us')), ('de_DE', 'another')) k (name, digest)
UNION ALL VALUES ('2', 'C', 'another'), ('2', 'en_US', digest('us'));
INSERT INTO ptsort_known_digests
SELECT pg_collation_actual_version('us'::regcollation), name, digest
FROM (VALUES ('C', digest('C')), ('de_DE', 'a third')) k (name, digest);
INSERT INTO ptsort_known_changes VALUES ('another', digest('cz'), 2, 'a < b, \u0101 < U+0020');
CREATE COLLATION release_same FROM us;
CREATE COLLATION release_codeset (PROVIDER = libc, LOCALE = 'en_US.UTF-8');
CREATE COLLATION release_changed FROM cz;
CREATE COLLATION release_remembered FROM cz;
CREATE COLLATION release_lost FROM us;
UPDATE pg_collation SET collcollate = 'xx_LOST.utf-8@old' WHERE collname = 'release_lost';
CREATE COLLATION release_changed_here FROM de;
CREATE COLLATION release_format FROM us;
CREATE COLLATION release_unknown FROM us;
CREATE TABLE releases (a text COLLATE release_same UNIQUE, b text COLLATE release_codeset UNIQUE,
	c text COLLATE release_changed UNIQUE, d text COLLATE release_remembered UNIQUE,
	e text COLLATE release_lost UNIQUE, f text COLLATE release_changed_here UNIQUE,
	g text COLLATE release_format UNIQUE, h text COLLATE release_unknown UNIQUE);
SELECT count(*) FROM checks;
SELECT count(*) FROM ptsort_remember_collations() WHERE remembered AND "collation"::text ~ 'release';
DELETE FROM ptsort_collation_digests WHERE collation_name ~ '^release' AND collation_name <> 'release_remembered';
UPDATE pg_collation SET collversion = CASE collname WHEN 'release_format' THEN '2' WHEN 'release_unknown' THEN '3'
	ELSE '1' END WHERE collname ~ '^release';
CREATE VIEW releases_seen AS
SELECT collname, locale, version_recorded AS version, known(digest_remembered) AS remembered,
	known(digest_known) AS known, verdict, reason, changed_characters AS changed, examples
FROM ptsort_collations() JOIN pg_collation c ON c.oid = "collation"
WHERE collname ~ '^release' ORDER BY collname;
SELECT * FROM releases_seen;
-- What ptsort knows about releases does not suffice to remember a collation.
SELECT * FROM ptsort_remember_collations() WHERE "collation"::text ~ 'release';
SELECT * FROM releases_seen WHERE remembered IS NOT NULL;
DROP TABLE releases;

-- A name that means another locale later is another collation
DROP TABLE parts;
DROP COLLATION used_part;
CREATE COLLATION used_part FROM cz;
CREATE INDEX ON uses (c COLLATE used_part);
SELECT * FROM seen WHERE collname = 'used_part';

-- The functions mean the same in every schema and search path.  Only the owner
-- of the database may make them remember.
CREATE ROLE ptsort_digest_user;
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.ptsort_collation_digest(regcollation) RETURNS text LANGUAGE sql AS $$SELECT 'hostile'$$;
CREATE FUNCTION hostile.count("any") RETURNS int8 LANGUAGE internal AS 'int8inc';
CREATE FUNCTION hostile.equal(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.equal);
CREATE TABLE hostile.ptsort_collation_digests (LIKE ptsort_collation_digests);
CREATE TABLE hostile.pg_index ();
CREATE SCHEMA moved;
GRANT USAGE ON SCHEMA digests, moved, hostile TO ptsort_digest_user;
ALTER EXTENSION ptsort SET SCHEMA moved;
SET search_path = hostile, pg_catalog;
SELECT collname, verdict, indexes
FROM moved.ptsort_collations() JOIN pg_collation c ON c.oid = "collation" WHERE collname ~ '^used';
SET ROLE ptsort_digest_user;
SELECT verdict, count(*) > 0 FROM moved.ptsort_collations() GROUP BY 1 ORDER BY 1;
SELECT moved.ptsort_remember_collations();
INSERT INTO moved.ptsort_collation_digests SELECT * FROM moved.ptsort_collation_digests;
DELETE FROM moved.ptsort_collation_digests;
RESET ROLE;
SELECT datdba::regrole AS owner FROM pg_database WHERE datname = current_database() \gset
ALTER DATABASE :"DBNAME" OWNER TO ptsort_digest_user;
SET ROLE ptsort_digest_user;
SELECT index, problems, details::text LIKE '%on tables of other owners%' AS others FROM moved.ptsort_check_all(changed_collations => true);
SELECT count(*) > 5 AS remembered FROM moved.ptsort_remember_collations();
DROP TABLE moved.ptsort_collation_digests;
ALTER TABLE moved.ptsort_collation_digests ADD x int;
RESET ROLE;
ALTER DATABASE :"DBNAME" OWNER TO :owner;
RESET search_path;
DROP OWNED BY ptsort_digest_user;
DROP ROLE ptsort_digest_user;
DROP SCHEMA digests CASCADE;
DROP SCHEMA hostile CASCADE;
DROP EXTENSION ptsort;
DROP SCHEMA moved;
