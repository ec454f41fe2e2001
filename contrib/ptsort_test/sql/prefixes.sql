-- Strings with a shared prefix.  In some tests, ptsort compares only what
-- follows the prefix; in other tests, ptsort must not skip the prefix.
CREATE FUNCTION try(type text, opclass text DEFAULT '', OUT skips boolean, OUT different bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE p (k %s); CREATE INDEX p_i ON p (k %s)', type, opclass);
	SELECT f.skips, f.different INTO skips, different
	FROM (SELECT array_agg(x) AS prefixes FROM (VALUES
			('https://www.example.com/'), ('Élodie Dvořáková, '), ('a long way to 1'), ('no place to cut'),
			('l''apostrophe'''), ('日本語の文字列 '), ('short '), ('trailing blanks    ')) v (x)) a,
		(SELECT array_agg(left(translate(md5(i::text), '0123456789abcdef', 'aAbBc -hH.zZ''1éñ'), i % 7)) AS rests
		 FROM generate_series(1, 120) i) b,
		ptsort_test_prefixes('p_i', prefixes, rests) f;
	DROP TABLE p;
END $$;

SELECT type, opclass, (try(type, opclass)).*
FROM (VALUES
	('text COLLATE "en_US.utf8"', ''),
	('text COLLATE "en_US.utf8"', 'DESC NULLS LAST'),
	('varchar(90) COLLATE "en_US.utf8"', ''),
	('char(90) COLLATE "en_US.utf8"', ''),
	('text COLLATE "C.utf8"', ''),
	('text COLLATE "C"', ''),
	('text COLLATE "en-x-icu"', ''),
	('text COLLATE "en_US.utf8"', 'text_pattern_ops')) v (type, opclass);

-- with ptsort.use_collation_tables off, ptsort compares strings in full
SET ptsort.use_collation_tables = off;
SELECT * FROM try('text COLLATE "en_US.utf8"');
RESET ptsort.use_collation_tables;

-- Sorts of values skip prefixes as well.
SELECT tuples FROM ptsort_test_model('SELECT ''https://www.example.com/'' || translate(md5(i::text), ''ef'', ''-/'') COLLATE "en_US.utf8"
	FROM generate_series(1, 5000) i ORDER BY 1', 'datum');
