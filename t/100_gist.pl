# GiST indexes of larger tables: with 0, 1, 3 and 7 workers, in memory and from
# runs on disk, logged and not logged, with any number of slices, the index has
# the pages of the server's, and gives the answers of a sequential scan.  It stays
# sound through inserts, deletes and VACUUM, after a crash, and on a standby.
#
# Depends on the version: it replays the version's WAL
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Gist;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = $ENV{PTSORT_GIST_ROWS} || 40000;

# Creates points in clusters, in a grid and anywhere, some null.
sub fill
{
	my ($node) = @_;
	create_sound($node);
	$node->safe_psql('postgres', $gist_functions);
	$node->safe_psql('postgres', qq{
SELECT setseed(0.7);
CREATE TABLE t AS SELECT i AS id, CASE i % 10
	WHEN 0 THEN point(i % 300, i % 201)
	WHEN 1 THEN point(500 + 10 * random() * random(), 500 + random())
	WHEN 2 THEN CASE WHEN i % 100 > 12 THEN point(0.1 * i, 3) END
	ELSE point(1000 * random(), 1000 * random()) END AS p
FROM generate_series(1, $rows) i;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
VACUUM ANALYZE});
}

my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => "ptsort_test.slices = 7\nmaintenance_work_mem = '64MB'");
fill($node);
$node->safe_psql('postgres', 'SET ptsort.enable = off; CREATE INDEX servers ON t USING gist (p)');
my $servers = $node->safe_psql('postgres', q{SELECT pages('servers')});
my $expected = $node->safe_psql('postgres', q{SELECT answers('t', false)});
is($node->safe_psql('postgres', q{SELECT answers('t', true)}), $expected, "the server's index");
my $entries = $node->safe_psql('postgres', q{SELECT sound('servers')});
is($entries, $rows, "the server's index is sound");
$node->safe_psql('postgres', 'DROP INDEX servers');

# Builds t_p with these settings, which must have the pages of the server's index.
sub build
{
	my ($server, $name, $workers, $settings, $table) = @_;
	my $end = log_end($server);
	$table //= 't';
	$server->safe_psql('postgres', "SET ptsort.parallel_workers = $workers; $settings CREATE INDEX ${table}_p ON $table USING gist (p)");
	is_deeply([ builds_since($server, $end) ], [ "${table}_p: " . ($workers + 1) ], "$name: by ptsort");
	is($server->safe_psql('postgres', "SELECT sound('${table}_p')"), $rows, "$name: sound");
	is($server->safe_psql('postgres', "SELECT answers('$table', true)"), $expected, "$name: same answers");
	is($server->safe_psql('postgres', "SELECT pages('${table}_p')"), $servers, "$name: the server's pages");
}

my $segments;
foreach my $memory ('64MB', '1MB')
{
	foreach my $workers (0, 1, 3, 7)
	{
		my $slices = $memory eq '1MB' ? 20 : 2 * $workers + 1;
		build($node, "$workers workers, $memory", $workers,
			"SET maintenance_work_mem = '$memory'; SET ptsort_test.slices = $slices;");
		my $size = $node->safe_psql('postgres', q{SELECT pg_relation_size('t_p') / 8192});
		my ($pages) = $servers =~ /(\d+)/;
		cmp_ok($size, '<=', 1.03 * $pages + $workers, "$workers workers, $memory: $size pages, $pages of them in use");
		$node->safe_psql('postgres', 'DROP INDEX t_p');
		$segments //= dsm_segments($node);
	}
}
# Workers write files, which the server's build does not need.
my $limited = log_end($node);
$node->safe_psql('postgres', q{
SET temp_file_limit = '1MB';
SET ptsort.parallel_workers = 3;
CREATE INDEX t_p ON t USING gist (p);
DROP INDEX t_p});
is_deeply([ builds_since($node, $limited) ], ['t_p: 1'], 'temp_file_limit: no workers');
build($node, 'unlogged', 3, '', 'u');
check_nothing_left($node, 'builds', $segments);

# Inserts split pages, and VACUUM removes tuples and deletes pages.
my $changes = q{
INSERT INTO t SELECT id + 1000000, p + point(0.5, 0.25) FROM t WHERE id % 3 = 0;
DELETE FROM t WHERE id % 5 = 1;
DELETE FROM t WHERE p[0] BETWEEN 100 AND 300;
VACUUM (INDEX_CLEANUP on) t;
INSERT INTO t SELECT id + 2000000, point(id % 100, 250) FROM t WHERE id % 4 = 0;
};
build($node, 'before changes', 2, '');
$node->safe_psql('postgres', $_) foreach map { "$_;" } grep { /\S/ } split /;/, $changes . ($changes =~ s/\bt\b/u/gr);
foreach my $table ('t', 'u')
{
	is($node->safe_psql('postgres', "SELECT sound('${table}_p') = count(*) FROM $table"), 't', "$table: sound after changes");
	is($node->safe_psql('postgres', "SELECT answers('$table', true)"),
		$node->safe_psql('postgres', "SELECT answers('$table', false)"), "$table: right after changes");
}

# A standby replays builds.  The standby's own sessions check its indexes.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $end = log_end($node);
$node->safe_psql('postgres', q{
SET ptsort.parallel_workers = 3;
REINDEX INDEX t_p;
CREATE INDEX CONCURRENTLY t_id ON t USING gist (p) INCLUDE (id) WHERE id % 2 = 0;
VACUUM FULL t});
is_deeply([ builds_since($node, $end) ], [ map { "$_: 4" } qw(t_p t_id t_p t_id) ], 'standby: by ptsort on the primary');
$node->wait_for_catchup($standby);
my $check = q{SELECT sound('t_p'), sound('t_id'), answers('t', true)};
my $on_primary = $node->safe_psql('postgres', $check);
is($standby->safe_psql('postgres', $check), $on_primary, 'standby: sound, and the same answers');
$node->safe_psql('postgres', $changes =~ s/\d000000/3$&/gr =~ s/VACUUM.*;//r);
$node->wait_for_catchup($standby);
my $answers = q{SELECT sound('t_p') = count(*), answers('t', true) = answers('t', false) FROM t};
is($standby->safe_psql('postgres', q{SELECT sound('t_p') > 0, answers('t', true) = answers('t', false)}), 't|t', 'standby: sound after changes');
$standby->promote;
is($standby->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) t; INSERT INTO t SELECT id + 90000000, p FROM t WHERE id % 7 = 0; ' . $answers), 't|t',
	'promoted standby: sound after changes');
is($standby->safe_psql('postgres', q{REINDEX TABLE t; SELECT sound('t_p') = count(*) FROM t}), 't', 'promoted standby: a new build');
$standby->stop;
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'promoted standby: checksums');

# A crash after the build, before a checkpoint
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'SET ptsort.parallel_workers = 3; REINDEX TABLE t');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $answers), 't|t', 'full WAL: sound after a crash');
is($node->safe_psql('postgres', q{SELECT sound('u_p')}), 0, 'unlogged: empty after a crash');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

# wal_level = minimal
my $minimal = new_node(
	'minimal',
	init => { extra => ['--data-checksums'] },
	conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\nptsort_test.slices = 7");
fill($minimal);
build($minimal, 'minimal', 3, '');
$end = log_end($minimal);
$minimal->safe_psql('postgres', q{
SET ptsort.parallel_workers = 3;
BEGIN;
CREATE TABLE new AS SELECT * FROM t;
CREATE INDEX new_p ON new USING gist (p);
INSERT INTO new SELECT id + 1000000, p + point(0.5, 0.25) FROM t WHERE id % 3 = 0;
COMMIT});
is_deeply([ builds_since($minimal, $end) ], ['new_p: 4'], 'minimal, new table: by ptsort');
$minimal->stop('immediate');
$minimal->start;
is($minimal->safe_psql('postgres', $answers), 't|t', 'minimal: sound after a crash');
is($minimal->safe_psql('postgres', $answers =~ s/\bt_p/new_p/r =~ s/'t'/'new'/gr =~ s/FROM t/FROM new/r), 't|t', 'minimal, new table: sound after a crash');
$minimal->safe_psql('postgres', $changes);
is($minimal->safe_psql('postgres', $answers), 't|t', 'minimal: sound after changes');
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'minimal: checksums');
done_testing();
