# The server charges a build's resources to the statement and the database, no
# matter which process used the resources: WAL, temporary blocks and files,
# temp_file_limit, temp_tablespaces, log_temp_files.  In these builds, the
# workers do all scanning and sorting, so the workers use these resources.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'main',
	conf => q{
wal_level = replica
full_page_writes = off
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_utility = on
maintenance_work_mem = '1MB'
log_temp_files = 0
});
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION pg_stat_statements;
CREATE TABLESPACE one LOCATION '';
CREATE TABLESPACE two LOCATION '';
CREATE TABLE t AS SELECT md5(i::text) AS word FROM generate_series(1, 40000) i;
VACUUM ANALYZE t;
});

my $workers_only = 'SET ptsort_test.leader_participates = off;';
my $create = 'CREATE INDEX i ON t (word) WITH (parallel_workers = 2)';

# pg_stat_statements
my $end = log_end($node);
my $report = $node->safe_psql(
	'postgres', qq{
$workers_only
SELECT FROM pg_stat_statements_reset();
$create;
SELECT sum(tuples) FILTER (WHERE role = 'worker'), sum(tuples) FILTER (WHERE role = 'leader'),
	count(*) FILTER (WHERE role = 'worker'), sum(wal_bytes) > 0, sum(temp_bytes) > 0
FROM ptsort_last_build() WHERE participant IS NOT NULL;
});
like($report, qr/^40000\|0\|2\|t\|t$/m, 'the workers did the sort');
is_deeply([ builds_since($node, $end) ], ['i: 2'], 'in parallel');

is( $node->safe_psql(
		'postgres', q{
SELECT temp_blks_written * 8192 >= 40000 * 40, temp_blks_read * 8192 >= 40000 * 40,
	shared_blks_hit + shared_blks_read >= pg_relation_size('t') / 8192
FROM pg_stat_statements WHERE query LIKE 'CREATE INDEX i ON t%'}),
	't|t|t',
	"temporary and shared blocks of the workers belong to the statement");

is( $node->safe_psql(
		'postgres', qq{
$workers_only
DROP INDEX i;
SELECT FROM pg_stat_statements_reset();
$create;
SELECT s.wal_bytes BETWEEN b.wal_bytes AND b.wal_bytes + 100000
	AND b.wal_bytes > pg_relation_size('i') * 0.8
FROM pg_stat_statements s, ptsort_last_build() b
WHERE s.query LIKE 'CREATE INDEX i ON t%' AND b.participant IS NULL;
}) =~ s/^\n*//r,
	't',
	'WAL is that of the participants, and a little for the catalogs');

# Files
# (a session may report its statistics after it ends)
ok( $node->poll_query_until(
		'postgres', q{
SELECT temp_files > 0 AND temp_bytes >= 40000 * 40 FROM pg_stat_database WHERE datname = 'postgres'}),
	'pg_stat_database counts temporary files');

$end = log_end($node);
$node->safe_psql('postgres',
	"$workers_only SET ptsort.parallel_workers = 2; REINDEX INDEX i");
my $log = slurp_file($node->logfile, $end);
my $logged = 0;
$logged += $1 while $log =~ /temporary file: path ".*", size (\d+)/g;
cmp_ok($logged, '>=', 40000 * 40, 'log_temp_files logs them');

# temp_tablespaces: the build uses all tablespaces in the list
$end = log_end($node);
$node->safe_psql('postgres',
	"$workers_only SET ptsort.parallel_workers = 6; SET temp_tablespaces = one, two; REINDEX INDEX i"
);
$log = slurp_file($node->logfile, $end);
my %space;
$space{$1}++ while $log =~ m{temporary file: path "(base|pg_tblspc/\d+)/}g;
is(join(' ', map { s{\d+}{N}r } sort keys %space),
	'pg_tblspc/N pg_tblspc/N', 'all of temp_tablespaces are used');

# temp_file_limit: the server's error, no matter which process exceeds the limit
my $segments = dsm_segments($node);
foreach my $setup ("$workers_only SET ptsort.parallel_workers = 2;",
	'SET ptsort.parallel_workers = 0;')
{
	my ($out, $err) = try_sql(
		$node, qq{
$setup
SET temp_file_limit = '100kB';
REINDEX INDEX i;
RESET temp_file_limit;
REINDEX INDEX i;
SELECT bt_index_parent_check('i', true, true);
});
	like(
		error_of($err),
		qr/^ERROR:  53400: temporary file size exceeds "?temp_file_limit"? \(100kB\)$/,
		"temp_file_limit ($setup)");
}
check_nothing_left($node, 'temp_file_limit', $segments);

$node->stop;
done_testing();
