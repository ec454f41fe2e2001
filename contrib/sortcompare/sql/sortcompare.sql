-- Both engines get the same rows, and must return them in the same order.
CREATE EXTENSION ptsort;
CREATE EXTENSION sortcompare;

CREATE TABLE sorted AS SELECT 0::int8 AS tag, hashint8extended(i, 1) AS account,
	md5(i::text) AS token, (i % 7)::int4 AS few, i AS id,
	CASE WHEN i % 3 > 0 THEN i::numeric / 7 END AS amount,
	repeat('.', 100) AS filler
	FROM generate_series(1::int8, 20000) AS i;

-- Returns figures of several sorts of the same rows; checksums is 1 if the
-- sorts agree
CREATE FUNCTION agree(VARIADIC arguments text[])
RETURNS TABLE (sorts bigint, tuples bigint, checksums bigint, spilled text, timed bool)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format(
		'SELECT count(*), max(s.tuples), count(DISTINCT s.checksum),
			string_agg(CASE WHEN s.temp > 0 THEN s.engine END, '','' ORDER BY s.engine),
			bool_and(put_ms > 0 AND put_cpu > 0 AND memory > 0)
		FROM sortcompare(''sorted'', %s) AS s', array_to_string(arguments, ', '));
END $$;

-- sorts in memory, and sorts with runs on disk
SELECT * FROM agree($$'{account}'$$, $$'{server,ptsort,ptsort,server}'$$);
SELECT * FROM agree($$'{account}'$$, 'budget_kb => 1024');
SELECT * FROM agree($$'{token}'$$, 'budget_kb => 1024');
SELECT * FROM agree($$'{few,token}'$$, $$collations => '{-,"C"}'$$);
SELECT * FROM agree($$'{amount}'$$);
SELECT * FROM agree($$'{token}'$$, 'told => false');
-- the column has the database's collation
SELECT count(DISTINCT checksum) FROM (
	SELECT checksum FROM sortcompare('sorted', '{token}', '{server}')
	UNION SELECT checksum FROM sortcompare('sorted', '{token}', '{ptsort}', '{default}')) AS s;

-- sorts of values
SELECT * FROM agree($$'{account}'$$, $$kind => 'datum'$$);
SELECT * FROM agree($$'{token}'$$, $$kind => 'datum'$$);
SELECT * FROM agree($$'{amount}'$$, $$kind => 'datum'$$);

-- bounded sorts, sorts of groups, sorts with random access, and a stable sort
SELECT * FROM agree($$'{token}'$$, 'bound => 100');
SELECT * FROM agree($$'{token}'$$, 'bound => 100', $$kind => 'datum'$$);
SELECT * FROM agree($$'{account}'$$, 'group_rows => 7');
SELECT * FROM agree($$'{account}'$$, 'group_rows => 7, anew => true');
SELECT * FROM agree($$'{account}'$$, 'random_access => true');
SELECT * FROM agree($$'{token}'$$, 'random_access => true', 'budget_kb => 1024');
SELECT * FROM agree($$'{few}'$$, 'stable => true');

-- The engine "limit" copies all rows, in memory or by a file.
SELECT engine, tuples, put_ms > 0 AS put, get_ms > 0 AS get, memory > 500000 AS memory, memory_said, temp
	FROM sortcompare('sorted', '{token}', '{limit}');
SELECT engine, tuples, memory < 300000 AS memory FROM sortcompare('sorted', '{token}', '{limit}', budget_kb => 128);
SELECT sortcompare('sorted', '{id}', '{limit}', kind => 'datum');
SELECT sortcompare('sorted', '{id}', '{limit}', random_access => true);

-- Different orders have different checksums.
SELECT count(DISTINCT checksum) FROM (
	SELECT checksum FROM sortcompare('sorted', '{id}')
	UNION SELECT checksum FROM sortcompare('sorted', '{account}')) AS s;

-- parallel sorts
SELECT participant, p.tuples, p.checksum = s.checksum AS same,
	put_cpu > 0 AS put, memory > 0 AS memory
	FROM sortcompare_parallel('sorted', '{token}') AS p,
	LATERAL (SELECT checksum FROM sortcompare('sorted', '{token}', '{server}')) AS s;
SELECT participant, p.tuples, p.checksum = s.checksum AS same
	FROM sortcompare_parallel('sorted', '{few,id}', 3, 'slices', budget_kb => 1024) AS p,
	LATERAL (SELECT checksum FROM sortcompare('sorted', '{few,id}', '{server}')) AS s;
SELECT participant, p.tuples, p.checksum = s.checksum AS same
	FROM sortcompare_parallel('sorted', '{token}', 1, kind => 'datum') AS p,
	LATERAL (SELECT checksum FROM sortcompare('sorted', '{token}', '{server}', kind => 'datum')) AS s;

-- sorts of an empty table
CREATE TABLE nothing (tag int8, v text);
SELECT engine, tuples, checksum FROM sortcompare('nothing', '{v}');
SELECT participant, tuples, checksum FROM sortcompare_parallel('nothing', '{v}');

-- bad arguments
SELECT sortcompare('sorted', '{nix}');
SELECT sortcompare('sorted', '{}');
SELECT sortcompare('sorted', '{id}', '{mine}');
SELECT sortcompare('sorted', '{id,few}', kind => 'datum');
SELECT sortcompare('sorted', '{id}', kind => 'other');
SELECT sortcompare('sorted', '{id}', budget_kb => 1);
SELECT sortcompare('sorted', '{id}', bound => 1, random_access => true);
SELECT sortcompare('sorted', NULL);
SELECT sortcompare_parallel('sorted', '{id}', 0);
SELECT sortcompare_parallel('sorted', '{id}', 1, 'both');
CREATE TABLE other (v text);
SELECT sortcompare('other', '{v}');
INSERT INTO nothing VALUES (NULL, 'x');
SELECT sortcompare('nothing', '{v}');

DROP TABLE sorted, nothing, other;
DROP FUNCTION agree;
DROP EXTENSION sortcompare;
DROP EXTENSION ptsort;
