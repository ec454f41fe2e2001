# Several processes build an index of ptsort_am.  The index must survive a
# crash: with full WAL, without page images, with wal_level = minimal, and for
# unlogged tables.  The index must also reach a replica.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = q{
autovacuum = off
fsync = off
jit = off
max_worker_processes = 12
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
maintenance_work_mem = 128MB
session_preload_libraries = 'ptsort, ptsort_test'
ptsort_test.slices = 7
log_min_messages = debug1
log_line_prefix = '%m [%p] '
log_statement = none
};
my $fill = q{
CREATE EXTENSION ptsort_am CASCADE;
CREATE TABLE t AS SELECT hashint8(i)::int8 * 1000003 AS k, i FROM generate_series(1, 50000) i;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
ALTER TABLE t SET (parallel_workers = 2);
ALTER TABLE u SET (parallel_workers = 2);
VACUUM ANALYZE;
CHECKPOINT;
};
my $build = q{
CREATE INDEX t_k ON t USING ptsort_am (k);
CREATE INDEX u_k ON u USING ptsort_am (k);
BEGIN;
CREATE TABLE same AS SELECT * FROM t;
ALTER TABLE same SET (parallel_workers = 2);
CREATE INDEX same_k ON same USING ptsort_am (k);
COMMIT;
};
my $unbuild = 'DROP INDEX t_k, u_k; DROP TABLE same';

sub new_node
{
	my ($name, $init, $more) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%$init);
	$node->append_conf('postgresql.conf', "$conf\n$more");
	$node->start;
	$node->safe_psql('postgres', $fill);
	return $node;
}

# Checks that the index returns the same rows as a scan of the table.
sub check_index
{
	my ($node, $table, $rows, $name) = @_;
	my $query = "FROM $table WHERE k BETWEEN -1000000000000000 AND 900000000000000";
	my $list = "SELECT count(*), md5(string_agg(i::text, ' ' ORDER BY i)) $query";
	my $by_index = 'SET enable_seqscan = off;';
	my $by_scan = 'SET enable_bitmapscan = off;';

	like($node->safe_psql('postgres', "$by_index EXPLAIN SELECT 1 $query"),
		qr/Bitmap Index Scan on ${table}_k/, "$name: plan uses ${table}_k");
	unlike($node->safe_psql('postgres', "$by_scan EXPLAIN SELECT 1 $query"),
		qr/_k/, "$name: plan does not use ${table}_k");
	my $found = $node->safe_psql('postgres', "$by_index $list");
	is($found, $node->safe_psql('postgres', "$by_scan $list"),
		"$name: index of $table returns the rows of the table");
	like($found, $rows ? qr/^[1-9]\d{3,}\|/ : qr/^0\|/,
		"$name: number of rows in $table");
}

sub crash
{
	my ($node, $name) = @_;
	my $start;
	my (%ends, %writers);

	# on a busy machine, one process may write all slices
	foreach my $try (1 .. 20)
	{
		$node->safe_psql('postgres', $unbuild) if $try > 1;
		$start = -s $node->logfile;
		$node->safe_psql('postgres', $build);
		my $log = slurp_file($node->logfile, $start);
		%ends = map { $_ => 1 } $log =~ /slice \d+ ends at (\d+)/g;
		%writers = map { $_ => 1 } $log =~ /\[(\d+)\] .*slice \d+ ends at/g;
		last if keys %writers > 1;
	}
	cmp_ok(scalar keys %ends, '>=', 7, "$name: built in slices");
	cmp_ok(scalar keys %writers, '>', 1, "$name: several processes wrote slices");
	$node->stop('immediate');
	$node->start;
	check_index($node, 't', 1, $name);
	check_index($node, 'same', 1, $name);
	check_index($node, 'u', 0, $name);
}

my $minimal = new_node('minimal', { extra => ['--data-checksums'] },
	"wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0");
crash($minimal, 'wal_level = minimal');
$minimal->stop;

my $no_images =
  new_node('no_images', { allows_streaming => 1 }, 'full_page_writes = off');
crash($no_images, 'no page images');
$no_images->stop;

my $primary = new_node('primary',
	{ allows_streaming => 1, extra => ['--data-checksums'] }, '');
$primary->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($primary, 'base', has_streaming => 1);
$replica->start;
crash($primary, 'full WAL');

# The index must also work on the replica, before and after its promotion.
$primary->safe_psql('postgres', 'DELETE FROM t WHERE i % 3 = 0; VACUUM t');
$primary->wait_for_catchup($replica);
check_index($replica, 't', 1, 'replica');
check_index($replica, 'same', 1, 'replica');
$replica->promote;
check_index($replica, 't', 1, 'promoted replica');
check_index($replica, 'u', 0, 'promoted replica');
$replica->safe_psql('postgres',
	'DROP INDEX t_k; INSERT INTO t SELECT i, i FROM generate_series(1, 9000) i; CREATE INDEX t_k ON t USING ptsort_am (k)');
check_index($replica, 't', 1, 'built by the promoted replica');
$_->stop foreach $primary, $replica;
foreach my $node ($minimal, $primary, $replica)
{
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		'checksums of ' . $node->name);
}
done_testing();
