-- demo-builds.sql - build the indexes of `make demo`.
\set ON_ERROR_STOP on
SET search_path = demo, public;
SET maintenance_work_mem = '512MB';

-- Let ptsort build the indexes of small tables, too.
SELECT set_config('ptsort.min_table_size', '0', false)
	WHERE current_setting('ptsort.min_table_size', true) IS NOT NULL \g /dev/null

CALL demo.build('demo.events', 'int8, random', 'account');
CALL demo.build('demo.events', 'int8, ascending, unique', 'id', 'UNIQUE');
CALL demo.build('demo.events', 'uuid', 'session');
CALL demo.build('demo.events', 'timestamptz', 'at');
CALL demo.build('demo.events', 'numeric', 'amount');
CALL demo.build('demo.events', 'int4 of 1,024 values', 'shop');
CALL demo.build('demo.events', '(int4 of 1,024 values, int8)', 'shop, account');
CALL demo.build('demo.events', 'text 32, "C"', 'token COLLATE "C"');
CALL demo.build('demo.tokens', 'text 32, en_US.UTF-8', 'token COLLATE "en_US.utf8"');
CALL demo.build('demo.files', 'file path, "C"', 'path COLLATE "C"');
CALL demo.build('demo.files', 'file path, en_US.UTF-8', 'path COLLATE "en_US.utf8"');
CALL demo.build('demo.files', '(file size DESC, changed)', 'bytes DESC, changed');
CALL demo.build('demo.words', 'word of text, en_US.UTF-8', 'word COLLATE "en_US.utf8"');
CALL demo.build('demo.places', 'point (GiST)', 'place',
	search => 'place <@ box(point(x, y), point(x + 2, y + 2))');
SELECT to_regclass('demo.houses') IS NOT NULL AS has_postgis \gset
\if :has_postgis
CALL demo.build('demo.houses', 'geometry of PostGIS (GiST)', 'outline',
	search => 'outline && ST_MakeEnvelope(x, y, x + 2, y + 2, 4326)');
\endif
