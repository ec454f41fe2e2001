-- Unique indexes and constraints: duplicates, rows that are not duplicates,
-- and the message and SQLSTATE of the error.  The server also runs each
-- statement, and both errors must be the same.  (With several duplicates, an
-- error could name any of them, so each table here has only one duplicate.)
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

CREATE TABLE uniques (a int, b text, c numeric, d int) WITH (fillfactor = 50);
INSERT INTO uniques SELECT i, 'b' || i, i / 10.0, i % 7 FROM generate_series(1, 5000) i;
ANALYZE uniques;

-- no duplicates
SELECT what, same('uniques', what, 'UNIQUE'), same('uniques', what, 'UNIQUE', 3) AS parallel
FROM unnest(ARRAY['(a)', '(b)', '(b COLLATE "en_US.utf8")', '(c DESC)', '(d, a)', '(d, b) INCLUDE (c)',
	'(a) WHERE d = 3', '((a * 2))']) what;

-- one duplicate: of a neighbour, far away, in a column that is not the first
INSERT INTO uniques VALUES (17, 'b17', 17 / 10.0, 3);
SELECT what, attempt('CREATE UNIQUE INDEX attempted ON uniques ' || what)
FROM unnest(ARRAY['(a)', '(b)', '(c)', '(b COLLATE "en_US.utf8")', '(d, a)', '(d, c DESC, b)', '(a) INCLUDE (d)',
	'((a + 1))', '(lower(b))', '(a) WHERE d = 3']) what;
SELECT attempt('ALTER TABLE uniques ADD CONSTRAINT attempted PRIMARY KEY (a)');
SELECT attempt('ALTER TABLE uniques ADD CONSTRAINT attempted UNIQUE (b) DEFERRABLE INITIALLY DEFERRED');
SELECT attempt('ALTER TABLE uniques ADD CONSTRAINT attempted EXCLUDE USING btree (a WITH =)');
-- no error if the predicate excludes the duplicate
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (a) INCLUDE (b) WHERE a <> 17');
-- the error does not show the key to a table owner who may not read the table
CREATE ROLE ptsort_unique_owner;
GRANT CREATE ON SCHEMA public TO ptsort_unique_owner;
ALTER TABLE uniques OWNER TO ptsort_unique_owner;
REVOKE SELECT ON uniques FROM ptsort_unique_owner;
SET ROLE ptsort_unique_owner;
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (a)');
RESET ROLE;
ALTER TABLE uniques OWNER TO CURRENT_USER;
-- what a user sees when the build fails
CREATE UNIQUE INDEX attempted ON uniques (a);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX attempted ON uniques (a) WITH (parallel_workers = 2);
\set VERBOSITY default
DELETE FROM uniques WHERE ctid = (SELECT max(ctid) FROM uniques);

-- dead rows are not duplicates: deleted rows and old versions, also those of
-- this transaction, and rows of an aborted transaction
UPDATE uniques SET b = b || '' WHERE a % 3 = 0;
UPDATE uniques SET a = a, d = d WHERE a % 4 = 0;
BEGIN;
INSERT INTO uniques SELECT * FROM uniques WHERE a < 50;
ROLLBACK;
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (a)');
BEGIN;
DELETE FROM uniques WHERE a = 5;
INSERT INTO uniques VALUES (5, 'five', 5, 5);
UPDATE uniques SET d = 6 WHERE a = 6;
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (a)');
INSERT INTO uniques VALUES (5, 'five', 5, 5);
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (a)');
ROLLBACK;

-- nulls are distinct by default
INSERT INTO uniques SELECT NULL, NULL, 0, i FROM generate_series(1, 300) i;
INSERT INTO uniques VALUES (NULL, 'once', 0, 1);
SELECT what, same('uniques', what, 'UNIQUE'), same('uniques', what, 'UNIQUE', 2) AS parallel
FROM unnest(ARRAY['(a)', '(b NULLS FIRST)', '(a, b)', '(a NULLS FIRST, b DESC)', '(c, a)']) what;
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques ' || what || ' NULLS NOT DISTINCT')
FROM unnest(ARRAY['(a)', '(a DESC)', '(b)', '(a, b)', '(b, a)', '(a, b, d)', '(c, a, b)']) what;
SELECT attempt('ALTER TABLE uniques ADD CONSTRAINT attempted UNIQUE NULLS NOT DISTINCT (b)');
SELECT attempt('ALTER TABLE uniques ADD CONSTRAINT attempted UNIQUE NULLS NOT DISTINCT (d, b, a)',
	'ALTER TABLE uniques DROP CONSTRAINT attempted');
DELETE FROM uniques WHERE b IS NULL AND d > 1;
SELECT same('uniques', '(b) NULLS NOT DISTINCT', 'UNIQUE'), same('uniques', '(b DESC, a) NULLS NOT DISTINCT', 'UNIQUE', 3);

-- values that the collation or the operator class treats as equal
CREATE COLLATION unique_blind (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
INSERT INTO uniques VALUES (-1, 'B77', 1, 1);
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (b)');
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (b COLLATE unique_blind)', chance => '[bB]77');
DELETE FROM uniques WHERE a IS NULL OR a = -1;
INSERT INTO uniques VALUES (-2, 'two', 77.70000, 1);
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (c)', chance => '77\.70*');
DELETE FROM uniques WHERE a = -2;
INSERT INTO uniques VALUES (-3, 'three', 'NaN', 1), (-4, 'four', 'NaN', 1);
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques (c)');
DELETE FROM uniques WHERE a = -3;
INSERT INTO uniques VALUES (-5, 'five', '-0.000', 1), (-6, 'six', 0, 1);
SELECT attempt('CREATE UNIQUE INDEX attempted ON uniques ((c::float8))');

-- many duplicates of one key, in every participant's part of the table
CREATE TABLE unique_many AS SELECT 1 AS a FROM generate_series(1, 20000);
SELECT attempt('CREATE UNIQUE INDEX attempted ON unique_many (a)');
-- one duplicate: the last row of the table
TRUNCATE unique_many;
INSERT INTO unique_many SELECT i FROM generate_series(1, 20000) i UNION ALL SELECT 1;
SELECT attempt('CREATE UNIQUE INDEX attempted ON unique_many (a)');
SET maintenance_work_mem = '1MB';
SET ptsort_test.spill_entries = 1000;
SELECT attempt('CREATE UNIQUE INDEX attempted ON unique_many (a)');
DELETE FROM unique_many WHERE ctid = (SELECT max(ctid) FROM unique_many);
SELECT same('unique_many', '(a)', 'UNIQUE'), same('unique_many', '(a)', 'UNIQUE', 3);
RESET maintenance_work_mem;
RESET ptsort_test.spill_entries;

-- the new indexes continue to check the constraints
ALTER TABLE unique_many ADD CONSTRAINT unique_now UNIQUE (a),
	ADD CONSTRAINT unique_later UNIQUE (a) DEFERRABLE INITIALLY DEFERRED,
	ADD CONSTRAINT unique_excluded EXCLUDE USING btree ((-a) WITH =);
SELECT index_name, tuples FROM ptsort_last_build() WHERE participant IS NULL;
INSERT INTO unique_many VALUES (5);
ALTER TABLE unique_many DROP CONSTRAINT unique_now;
INSERT INTO unique_many VALUES (5);
ALTER TABLE unique_many DROP CONSTRAINT unique_excluded;
INSERT INTO unique_many VALUES (5);
BEGIN;
INSERT INTO unique_many VALUES (5);
DELETE FROM unique_many WHERE ctid = (SELECT min(ctid) FROM unique_many WHERE a = 5);
COMMIT;
SELECT count(*) FROM unique_many;

DROP TABLE uniques, unique_many;
REVOKE CREATE ON SCHEMA public FROM ptsort_unique_owner;
DROP ROLE ptsort_unique_owner;
DROP COLLATION unique_blind;
