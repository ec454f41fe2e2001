-- Words never contradict the operator class, for any type and direction.

-- Returns a random number that is the same on every machine.
CREATE FUNCTION r(i int, seed int DEFAULT 0) RETURNS int8
LANGUAGE sql IMMUTABLE RETURN hashint8extended(i, seed);

-- Returns a string of letters that collations treat in different ways.
CREATE FUNCTION s(i int, len int) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN left(translate(md5(i::text), '0123456789abcdef', 'aAbB -_zZ1.cC20y'), len);

-- For each type, an expression for random values, and extreme values.
CREATE TABLE pool (type text, opclass text, items text, extremes text);
INSERT INTO pool VALUES
('bool', '', 'i % 2 = 0', '{t,f}'),
('int2', '', '(r(i) % 32768)::int2', '{-32768,32767,0,-1,1}'),
('int4', '', '(r(i) % 2147483648)::int4', '{-2147483648,2147483647,0,-1,1}'),
('int8', '', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('oid', '', '(r(i) & 4294967295)::oid', '{0,1,2147483647,2147483648,4294967295}'),
('"char"', '', '(i % 256 - 128)::"char"', NULL),
('float4', '', 'CASE WHEN i % 100 = 0 THEN float8 ''Infinity'' - ''Infinity'' ELSE ((r(i) % 1000000) || ''e'' || (i % 60 - 30))::float8 END::float4',
 '{NaN,-0,0,Infinity,-Infinity,1e-45,-1e-45,3.4e38,-3.4e38}'),
('float8', '', 'CASE WHEN i % 100 = 0 THEN float8 ''Infinity'' - ''Infinity'' ELSE ((r(i) % 1000000) || ''e'' || (i % 580 - 290))::float8 END::float8',
 '{NaN,-0,0,Infinity,-Infinity,4.9e-324,-4.9e-324,1.79e308,-1.79e308}'),
('numeric', '', '(r(i) || ''e'' || (i % 800 - 400))::numeric',
 '{NaN,Infinity,-Infinity,0,0.000,1,1.0,1.00000000000000000000000001,-1,-1.00,1e-300,-1e-300,1e500,-1e500,9999,10000,-9999,-10000}'),
('money', '', '(r(i) / 1000)::money',
 '{-92233720368547758.08,92233720368547758.07,0}'),
('date', '', 'date ''2000-01-01'' + (r(i) % 700000)::int4',
 '{infinity,-infinity,"4714-11-24 BC",5874897-12-31,"0001-01-01 BC",0001-01-01}'),
('time', '', 'time ''00:00'' + make_interval(secs => abs(r(i) % 86400))', '{00:00,24:00,00:00:00.000001}'),
('timetz', '', '(time ''00:00'' + make_interval(secs => abs(r(i) % 86400)) || to_char(r(i, 1) % 15, ''S00''))::timetz',
 '{00:00+15:59,00:00-15:59,24:00+15:59,24:00-15:59,12:00+00,13:00+01,11:00-01}'),
('timestamp', '', 'timestamp ''2000-01-01'' + make_interval(secs => r(i) % 50000000000)',
 '{infinity,-infinity,"4714-11-24 00:00:00 BC","294276-12-31 23:59:59.999999","2000-01-01 00:00:00"}'),
('timestamptz', '', 'timestamptz ''2000-01-01'' + make_interval(secs => r(i) % 50000000000)',
 '{infinity,-infinity,"4714-11-24 00:00:00+00 BC","294276-12-31 23:59:59.999999+00"}'),
('interval', '', 'make_interval(secs => r(i) % 100000000)', '{"178000000 years","-178000000 years",0,"1 mon","30 days","720:00"}'),
('uuid', '', 'md5(i::text)::uuid',
 '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,00000000-0000-0000-0000-000000000001}'),
('macaddr', '', 'left(md5(i::text), 12)::macaddr', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'),
('macaddr8', '', 'left(md5(i::text), 16)::macaddr8', '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff,7f:ff:ff:ff:80:00:00:00}'),
('inet', '', 'CASE WHEN i % 3 = 0
	THEN set_masklen((regexp_replace(left(md5((i % 100)::text), 32), ''(....)(?!$)'', ''\1:'', ''g''))::inet, i % 129)
	ELSE set_masklen(inet ''0.0.0.0'' + (r(i % 500) & 4294967295), i % 33) END',
 '{0.0.0.0/0,0.0.0.0,255.255.255.255,255.255.255.255/0,10.0.0.1/8,10.0.0.1/9,10.0.0.1/32,::/0,::,::1,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/64}'),
('cidr', '', 'network(set_masklen(inet ''0.0.0.0'' + (r(i % 500) & 4294967295), i % 33))', '{0.0.0.0/0,::/0,10.0.0.0/8,10.0.0.0/32}'),
('pg_lsn', '', 'pg_lsn ''0/0'' + (r(i) & 9223372036854775807)::numeric', '{0/0,FFFFFFFF/FFFFFFFF,7FFFFFFF/FFFFFFFF,80000000/0}'),
('xid8', '', '(r(i) & 9223372036854775807)::text::xid8', '{0,1,18446744073709551615,9223372036854775808}'),
('tid', '', 'format(''(%s,%s)'', r(i) & 4294967295, r(i, 1) & 65535)::tid', '{"(0,0)","(4294967295,65535)","(0,65535)","(1,0)"}'),
('bytea', '', 'decode(left(md5(i::text), i % 16 * 2), ''hex'')', '{"","\\x00","\\x0000","\\x00000000000000000000","\\xff","\\xffffffffffffffffff","\\x61","\\x6100"}'),
('text COLLATE "C"', '', 's(i, i % 24)', '{"",a,"a ",A,éa,zzzzzzzzz,zzzzzzzz}'),
('text COLLATE "en-x-icu"', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b,ﬀ,ß,ss,zzzzzzzzzzz}'),
('text COLLATE "de-x-icu"', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b,ﬀ,ß,ss}'),
('text COLLATE any_case', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b}'),
('text', 'text_pattern_ops', 's(i, i % 24)', '{"",a,A,á}'),
('text COLLATE "C.utf8"', '', 's(i, i % 24)', '{"",a,A,á}'),
('varchar(20) COLLATE "C"', '', 's(i, i % 20)::varchar(20)', '{"",a}'),
('char(10) COLLATE "C"', '', 's(i, i % 10)::char(10)', '{"",a,"a ","a	"}'),
('char(10) COLLATE "en-x-icu"', '', 's(i, i % 10)::char(10)', '{"",a,"a "}'),
('name', '', 's(i, i % 20)::name', '{"",a}'),
('int8', 'last_digit_ops', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('int8', 'named_ops', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('a_domain', '', 'r(i)::a_domain', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('int4range', '', 'int4range((r(i) % 1000)::int4, NULL)', '{empty,"(,)"}'),
('jsonb', '', 'to_jsonb(r(i))', '{"{}","null","[]"}'),
('bit(8)', '', '(i % 256)::bit(8)', NULL);

CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN a_domain AS int8;
-- An operator class with the server's comparison, but without sort support.
CREATE OPERATOR CLASS named_ops FOR TYPE int8 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint8cmp(int8, int8);

-- Checks the words of one kind of column in all four combinations of direction and
-- position of nulls.
CREATE FUNCTION check_words(type text, opclass text, items text, extremes text,
	OUT words int, OUT exact bool, OUT pairs int8, OUT contradictions int8, OUT least_decided int8)
LANGUAGE plpgsql SET client_min_messages = warning SET timezone = 'UTC' AS $$
DECLARE
	direction text;
	plain text := split_part(type, ' COLLATE', 1);
	w record;
BEGIN
	pairs := 0;
	contradictions := 0;
	FOREACH direction IN ARRAY '{ASC NULLS FIRST,ASC NULLS LAST,DESC NULLS FIRST,DESC NULLS LAST}'::text[]
	LOOP
		EXECUTE format('CREATE TEMP TABLE x (k %s)', type);
		EXECUTE format('CREATE INDEX x_k ON x (k %s %s)', opclass, direction);
		EXECUTE format('SELECT (ptsort_test_words(''x_k'',
				array_agg(v) || coalesce(%L, ''{}'')::%s[] || ''{NULL,NULL}''::%2$s[])).*
			FROM (SELECT %s AS v FROM generate_series(1, 1500) i) s',
			extremes, plain, items) INTO w;
		words := w.words;
		exact := w.exact;
		pairs := pairs + w.pairs;
		contradictions := contradictions + w.contradictions;
		least_decided := least(least_decided, w.decided);
		DROP TABLE x;
	END LOOP;
END $$;

SELECT type, opclass, w.words, w.exact, w.pairs, w.contradictions,
	   w.least_decided >= CASE w.words WHEN 0 THEN 0 ELSE 1 END AS decided
FROM pool, check_words(type, opclass, items, extremes) w;

-- Words of an ordering operator's key instead of an index's key.
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('<(int8,int8)', (SELECT array_agg(r(i)) FROM generate_series(1, 1000) i));
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('>(int8,int8)', (SELECT array_agg(r(i)) || NULL FROM generate_series(1, 1000) i), true);
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('>(text,text)', (SELECT array_agg(s(i, 20)) || NULL FROM generate_series(1, 1000) i) COLLATE "C");
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('<(text,text)', (SELECT array_agg(s(i, 20)) || NULL FROM generate_series(1, 1000) i) COLLATE "en-x-icu");
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('>(text,text)', (SELECT array_agg(s(i, 20) || (ARRAY['é','E',' ','ß','ch'])[1 + i % 5] || s(i, 9)) || NULL FROM generate_series(1, 3000) i) COLLATE "en_US.utf8");
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('<(bpchar,bpchar)', (SELECT array_agg((s(i % 50, 3) || repeat(' ', i % 4))::bpchar) FROM generate_series(1, 1000) i) COLLATE "en_US.utf8");
SELECT words, contradictions, decided
FROM ptsort_test_operator_words('<(text,text)', '{}'::text[] COLLATE "C");
