-- The settings that force a path are those of contrib/ptsort_test, which has to be
-- installed ("make -C contrib/ptsort_test install"); include/session.sql loads it.
LOAD 'ptsort_test';
-- The tables of the tests are small: more workers than pay, as many as are allowed.
ALTER DATABASE :"DBNAME" SET ptsort_test.all_workers = on;
