CREATE EXTENSION ptsort_example CASCADE;
SELECT sorted_median('{5,1,4}'), sorted_median('{4,NULL,1,3,2}'), sorted_median('{}'), sorted_median('{NULL}');
SELECT sorted_median(array_agg(i)) FROM (SELECT hashint8(i)::bigint AS i FROM generate_series(1, 100001) i) s;
SELECT i FROM (SELECT hashint8(i)::bigint AS i FROM generate_series(1, 100001) i) s ORDER BY i LIMIT 1 OFFSET 50000;
DROP EXTENSION ptsort_example;
