-- Strings that are equal in the first pass of the comparison.  With the tables of
-- the C library, ptsort puts these strings into the library's order: by case,
-- accents, symbols, and kinds of digits.  In ICU collations, ptsort lets ICU
-- compare these strings.
CREATE FUNCTION strings(letters text) RETURNS text[]
LANGUAGE sql AS $$
	SELECT array_agg(s ORDER BY s COLLATE "C") FROM (
		SELECT DISTINCT string_agg(substr(letters, 1 + abs(hashint4(i * 31 + j)) % length(letters), 1), '') AS s
		FROM generate_series(1, 250) i, generate_series(1, 8) j WHERE j <= 1 + i % 8
		GROUP BY i) d
$$;

SELECT name, letters, compared, equal = array_length(s, 1) AS decides_all, different
FROM (VALUES ('en_US.utf8'), ('C.utf8'), ('en-x-icu')) c (name),
	(VALUES ('letters', 'aAáÁbB -'), ('symbols', ' -.,''/_:;()#1a'), ('digits', '12²½ -a'), ('Korean', '한국 어-a')) l (letters, used),
	LATERAL strings(used) s,
	LATERAL (SELECT compared, different, compared - decided AS equal FROM ptsort_test_ranks(quote_ident(name)::regcollation, s)) r
ORDER BY name COLLATE "C", letters COLLATE "C";

-- Strings that differ only in case, accents and symbols, so the first pass finds no
-- difference.
SELECT * FROM ptsort_test_ranks('"en_US.utf8"',
	'{co-op,coop,Coop,CO-OP,coöp,co op,co.op,c.o.o.p,-coop,coop-,"  coop","coop  ",cöop,CÖOP}');
-- ptsort leaves long strings to the collation
SELECT * FROM ptsort_test_ranks('"en_US.utf8"', ARRAY[repeat('a-', 150), repeat('a.', 150), repeat('a-', 100) || 'b']);
DROP FUNCTION strings;
