-- Sorts arrays from SQL, and compares the results with the server's ORDER BY.
SELECT ptsort_test_array('{3,NULL,1,2}'::int4[], '<(int4,int4)');
SELECT ptsort_test_array('{3,NULL,1,2}'::int4[], '>(int4,int4)', true);
SELECT ptsort_test_array('{}'::int4[], '<(int4,int4)');
SELECT ptsort_test_array('{b,a,NULL,"",B,A}'::text[] COLLATE "C", '<(text,text)');
SELECT ptsort_test_array('{b,a,NULL,"",B,A}'::text[] COLLATE "en-x-icu", '>(text,text)');
SELECT ptsort_test_array('{0,-0,NaN,-Infinity,Infinity,1}'::float8[], '<(float8,float8)');
SELECT ptsort_test_array('{1.11,1.1,NaN,-1,1e10}'::numeric[], '<(numeric,numeric)');

CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TYPE pair AS (a int4, b text);

-- Types of variable and of fixed length, including ranges, enums and rows.
WITH n AS (SELECT i, r(i) AS x FROM generate_series(1, 3000) i)
SELECT
	ptsort_test_array(array_agg(x), '<(int8,int8)') = array_agg(x ORDER BY x) AS int8,
	ptsort_test_array(array_agg(x::text), '<(text,text)') = array_agg(x::text ORDER BY x::text) AS text,
	ptsort_test_array(array_agg((x % 100)::numeric / 7), '>(numeric,numeric)') =
		array_agg((x % 100)::numeric / 7 ORDER BY (x % 100)::numeric / 7 DESC) AS numeric,
	ptsort_test_array(array_agg(md5(x::text)::uuid), '<(uuid,uuid)') =
		array_agg(md5(x::text)::uuid ORDER BY md5(x::text)::uuid) AS uuid,
	ptsort_test_array(array_agg(int4range((x % 99)::int4, NULL)), '<(anyrange,anyrange)') =
		array_agg(int4range((x % 99)::int4, NULL) ORDER BY int4range((x % 99)::int4, NULL)) AS range,
	ptsort_test_array(array_agg((enum_range(NULL::colour))[1 + i % 3]), '<(anyenum,anyenum)') =
		array_agg((enum_range(NULL::colour))[1 + i % 3] ORDER BY (enum_range(NULL::colour))[1 + i % 3]) AS enum,
	ptsort_test_array(array_agg(ROW(i % 10, x::text)::pair), '<(record,record)') =
		array_agg(ROW(i % 10, x::text)::pair ORDER BY ROW(i % 10, x::text)::pair) AS row,
	ptsort_test_array(array_agg(to_jsonb(x % 1000)), '<(jsonb,jsonb)') =
		array_agg(to_jsonb(x % 1000) ORDER BY to_jsonb(x % 1000)) AS jsonb,
	ptsort_test_array(array_agg(x::text::name), '<(name,name)') =
		array_agg(x::text::name ORDER BY x::text::name) AS name,
	ptsort_test_array(array_agg(make_interval(secs => x % 1000000)), '<(interval,interval)') =
		array_agg(make_interval(secs => x % 1000000) ORDER BY x % 1000000) AS interval
FROM n;

-- Toasted, compressed and short values come out uncompressed and complete.
CREATE TABLE toasted (k text COLLATE "C");
ALTER TABLE toasted ALTER k SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat(md5((i % 50)::text), 300) || i FROM generate_series(1, 200) i;
ALTER TABLE toasted ALTER k SET STORAGE MAIN;
INSERT INTO toasted SELECT repeat(md5((i % 50)::text), 300) || i FROM generate_series(201, 400) i;
INSERT INTO toasted SELECT md5(i::text) FROM generate_series(401, 600) i;
SELECT ptsort_test_array(array_agg(k), '<(text,text)') = array_agg(k ORDER BY k) AS toasted
FROM toasted;
DROP TABLE toasted;

-- One value larger than the budget; then values of many megabytes.
SELECT array_agg(length(x)) FROM unnest(ptsort_test_array(
	ARRAY[repeat('b', 3000000), 'c', repeat('a', 2000000)] COLLATE "C", '<(text,text)')) x;
SELECT array_agg(length(x)), array_agg(right(x, 1)) FROM unnest(ptsort_test_array(
	ARRAY[repeat('x', 20000000) || 'b', 'c', repeat('x', 20000000) || 'a'] COLLATE "C", '<(text,text)')) x;
