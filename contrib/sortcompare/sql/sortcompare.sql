-- Both engines get the same rows, and must return them in the same order.
CREATE EXTENSION ptsort;
CREATE EXTENSION sortcompare;

CREATE TABLE sorted AS SELECT 0::int8 AS tag, hashint8extended(i, 1) AS account,
	md5(i::text) AS token, (i % 7)::int4 AS few, i AS id,
	CASE WHEN i % 3 > 0 THEN i::numeric / 7 END AS amount,
	repeat('.', 100) AS filler
	FROM generate_series(1::int8, 20000) AS i;

-- Sorts in memory, and sorts with runs on disk.  checksums is 1 if the sorts
-- agree.
SELECT columns, collations, budget_kb, s.*
FROM (VALUES ('{account}', '{}', 65536), ('{account}', '{}', 1024), ('{token}', '{}', 1024),
	('{few,token}', '{-,"\"C\""}', 65536), ('{amount}', '{}', 65536)) k (columns, collations, budget_kb),
LATERAL (SELECT count(*) AS sorts, max(tuples) AS tuples, count(DISTINCT checksum) AS checksums,
		string_agg(CASE WHEN temp > 0 THEN engine END, ',' ORDER BY engine) AS spilled,
		bool_and(put_ms > 0 AND put_cpu > 0 AND memory > 0) AS timed
	FROM sortcompare('sorted', columns::name[], '{server,ptsort,ptsort,server}', collations::regcollation[], budget_kb)) AS s;

-- Different orders have different checksums.
SELECT count(DISTINCT checksum) FROM (
	SELECT checksum FROM sortcompare('sorted', '{id}')
	UNION SELECT checksum FROM sortcompare('sorted', '{account}')) AS s;

CREATE TABLE nothing (tag int8, v text);
SELECT engine, tuples, checksum FROM sortcompare('nothing', '{v}');

-- bad arguments
SELECT sortcompare('sorted', '{id}', budget_kb => 1);
CREATE TABLE other (v text);
SELECT sortcompare('other', '{v}');
INSERT INTO nothing VALUES (NULL, 'x');
SELECT sortcompare('nothing', '{v}');

DROP TABLE sorted, nothing, other;
DROP EXTENSION sortcompare;
DROP EXTENSION ptsort;
