-- ptsort_test_write_page(): overwrites bytes within one page.  Every session sees the
-- new bytes at once.
CREATE EXTENSION amcheck;
CREATE TABLE paged (key int);
INSERT INTO paged SELECT i FROM generate_series(1, 10) i;
CREATE INDEX paged_i ON paged (key);
SELECT bt_index_check('paged_i');
SELECT ptsort_test_write_page('paged_i', 1, 0, decode(repeat('00', 8192), 'hex'));
SELECT bt_index_check('paged_i');
\c
SELECT bt_index_check('paged_i');
REINDEX INDEX paged_i;
SELECT bt_index_check('paged_i');
-- no bytes, and the last byte of a table's page
SELECT ptsort_test_write_page('paged_i', 1, 8192, '');
SELECT ptsort_test_write_page('paged', 0, 8191, '\x00');
-- bytes that are not within one page
SELECT ptsort_test_write_page('paged_i', 1, 8192, '\x00');
SELECT ptsort_test_write_page('paged_i', 1, 8190, '\x000000');
SELECT ptsort_test_write_page('paged_i', 1, -1, '\x00');
SELECT ptsort_test_write_page('paged_i', 1, 2147483647, '\x00');
SELECT ptsort_test_write_page('paged_i', 2, 0, '\x00');
SELECT ptsort_test_write_page('paged_i', -1, 0, '\x00');
SELECT ptsort_test_write_page('paged_i', 4294967296, 0, '\x00');
-- a relation without pages
CREATE VIEW unpaged AS SELECT 1;
SELECT ptsort_test_write_page('unpaged', 0, 0, '\x00');
SELECT bt_index_check('paged_i');
DROP VIEW unpaged;
DROP TABLE paged;
DROP EXTENSION amcheck;
