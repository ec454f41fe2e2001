# pg_dump and pg_restore -j into a database that preloads ptsort: ptsort builds
# every index, every index is sound, and both databases have the same schema.
#
# Depends on the version: it uses the version's pg_dump and pg_restore
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
ptsort_test.all_workers = on
max_worker_processes = 16
max_parallel_workers = 16
max_parallel_maintenance_workers = 4
autovacuum = off
jit = off
max_logical_replication_workers = 0
});
$node->start;

my $archive = $node->basedir . '/archive';

sub schema_of
{
	my ($db) = @_;
	my ($dump) = run_command([ 'pg_dump', '-s', '-d', $node->connstr($db) ]);

	# newer versions of pg_dump write a random word into these lines
	$dump =~ s/^\\(un)?restrict .*$//mg;
	return $dump;
}

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql(
	'source', q{
CREATE EXTENSION ptsort;
SET ptsort.min_table_size = 0;
CREATE TABLE customer (id int PRIMARY KEY WITH (parallel_workers = 2), name text, email text,
	UNIQUE (email) INCLUDE (name) WITH (parallel_workers = 1, fillfactor = 70));
INSERT INTO customer SELECT i, 'name ' || i % 100, 'e' || i || '@example.com' FROM generate_series(1, 3000) i;
CREATE INDEX customer_name ON customer (name DESC, id) WITH (parallel_workers = 2);
CREATE INDEX customer_lower ON customer (lower(email)) WITH (deduplicate_items = off, parallel_workers = 1) WHERE id > 10;
CREATE TABLE sale (id int, at date, customer int REFERENCES customer) PARTITION BY RANGE (at);
CREATE TABLE sale_2023 PARTITION OF sale FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
CREATE TABLE sale_2024 PARTITION OF sale FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO sale SELECT i, date '2023-01-01' + i % 700, 1 + i % 3000 FROM generate_series(1, 3000) i;
CREATE INDEX sale_customer ON sale (customer) WITH (parallel_workers = 2);
ALTER TABLE sale ADD PRIMARY KEY (id, at) WITH (parallel_workers = 1);
CREATE MATERIALIZED VIEW per_day AS SELECT at, count(*) AS n FROM sale GROUP BY at;
CREATE UNIQUE INDEX per_day_at ON per_day (at) WITH (parallel_workers = 1);
});
unlike(schema_of('source'), qr/workers/, 'the dump has no request');

$node->command_ok([ 'pg_dump', '-Fc', '-f', $archive, 'source' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE target');
$node->safe_psql('postgres', "ALTER DATABASE target SET $_")
  foreach (
	q{session_preload_libraries = ptsort, ptsort_test}, q{"ptsort.log_build" = on},
	q{"ptsort.min_table_size" = 0}, q{"ptsort.parallel_workers" = 3});

my $offset = -s $node->logfile;
$node->command_ok(
	[ 'pg_restore', '-j', '2', '--exit-on-error', '-d', 'target', $archive ],
	'pg_restore');
my $log = slurp_file($node->logfile, $offset);
my @indexes = qw(customer_email_name_key customer_lower customer_name customer_pkey
  per_day_at sale_2023_customer_idx sale_2023_pkey sale_2024_customer_idx sale_2024_pkey);

is_deeply([ sort $log =~ /ptsort: built index "(\w+)": 4 participants/g ],
	\@indexes, 'ptsort built every index, with its workers');

is($node->safe_psql(
		'target', q{
CREATE EXTENSION amcheck;
SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE c.relkind = 'i' AND indrelid >= 16384 AND relnamespace = 'public'::regnamespace;
DROP EXTENSION amcheck}),
	scalar(@indexes), 'every index is sound');
is(schema_of('target'), schema_of('source'), 'the same schema');

done_testing();
