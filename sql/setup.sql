-- The settings that force a code path belong to contrib/ptsort_test, which must
-- be installed ("make -C contrib/ptsort_test install").  include/session.sql
-- loads ptsort_test.
LOAD 'ptsort_test';
-- The tests' tables are small: use all allowed workers, even if a build with
-- fewer workers would be faster.
ALTER DATABASE :"DBNAME" SET ptsort_test.all_workers = on;
