-- The tables of the tests are small: more workers than pay, as many as are allowed.
ALTER DATABASE :"DBNAME" SET ptsort.debug_all_workers = on;
