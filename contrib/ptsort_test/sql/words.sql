-- Words never contradict the operator class, for any type and direction.

-- Checks the words of one kind of column in all four combinations of direction and
-- position of nulls.
CREATE FUNCTION check_words(type text, opclass text, items text, extremes text,
	OUT words int, OUT exact bool, OUT contradictions int8, OUT least_decided int8)
LANGUAGE plpgsql SET client_min_messages = warning SET timezone = 'UTC' AS $$
DECLARE
	direction text;
	plain text := split_part(type, ' COLLATE', 1);
	w record;
BEGIN
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
		contradictions := contradictions + w.contradictions;
		least_decided := least(least_decided, w.decided);
		DROP TABLE x;
	END LOOP;
END $$;

SELECT w.words, w.exact, sum(w.contradictions) AS contradictions, bool_and(w.least_decided > 0 OR w.words = 0) AS decided,
	string_agg(concat_ws(' ', type, nullif(opclass, ''), CASE WHEN w.contradictions > 0 THEN 'WRONG' END), ', '
		ORDER BY type COLLATE "C", opclass) AS types
FROM pool, check_words(type, opclass, items, extremes) w
WHERE type NOT LIKE '%[]'
GROUP BY w.words, w.exact ORDER BY w.words, w.exact;

-- Words of an ordering operator's key instead of an index's key.
SELECT words, contradictions, decided > 0 AS decided
FROM ptsort_test_operator_words('<(int8,int8)', (SELECT array_agg(r(i)) FROM generate_series(1, 1000) i))
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('>(int8,int8)', (SELECT array_agg(r(i)) || NULL FROM generate_series(1, 1000) i), true)
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('>(text,text)', (SELECT array_agg(s(i, 20)) || NULL FROM generate_series(1, 1000) i) COLLATE "C")
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('<(text,text)', (SELECT array_agg(s(i, 20)) || NULL FROM generate_series(1, 1000) i) COLLATE "en-x-icu")
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('>(text,text)', (SELECT array_agg(s(i, 20) || (ARRAY['é','E',' ','ß','ch'])[1 + i % 5] || s(i, 9)) || NULL FROM generate_series(1, 3000) i) COLLATE "en_US.utf8")
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('<(bpchar,bpchar)', (SELECT array_agg((s(i % 50, 3) || repeat(' ', i % 4))::bpchar) FROM generate_series(1, 1000) i) COLLATE "en_US.utf8")
UNION ALL SELECT words, contradictions, decided > 0
FROM ptsort_test_operator_words('<(text,text)', '{}'::text[] COLLATE "C");
