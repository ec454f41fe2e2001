# A crash at each point of a load of GiST indexes, in the leader and in a worker,
# loses only the unfinished index: the table and an old index are as before, and
# a new build works.  A base backup taken at one of these points, together with
# the WAL written later, is complete; it can become a primary.
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

my $conf = q{
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 2000
maintenance_work_mem = '3MB'
};
my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $conf);
my $fill = $gist_functions . q{
CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 40 > 0 THEN point(hashint4(i) / 4e6, hashint4(-i) / 4e6 + 500) END AS p
FROM generate_series(1, 20000) i;
CREATE INDEX old ON t USING gist (p);
VACUUM ANALYZE;
};
create_sound($node);
$node->safe_psql('postgres', $fill);
my $state = q{SELECT count(*), sum(hashint4(id)), answers('t', true), sound('old'), to_regclass('new') IS NULL FROM t};
my $before = $node->safe_psql('postgres', $state);
my $create = 'CREATE INDEX new ON t USING gist (p) INCLUDE (id)';

# Crashes the server while a build of a new index, or the rebuild of the old
# one, is at a point.
sub crash
{
	my ($server, $point, $where, $statement, $expected) = @_;
	my $name = $server->name . ": $point, $where, " . lc(($statement =~ /(\w+)/)[0]);
	my $build = start_psql($server, "SET ptsort_test.fault = '$point:1:sleep:$where'", $statement);
	ok(wait_for_point($server, $point), "$name: the build is there");
	$server->stop('immediate');
	$build->{run}->finish;
	$server->start;
	is($server->safe_psql('postgres', $state), $expected, "$name: nothing else was lost");
	my $end = log_end($server);
	is($server->safe_psql('postgres', "$create; REINDEX INDEX old; SELECT sound('new') = sound('old'); DROP INDEX new"),
		't', "$name: new builds");
	is_deeply([ builds_since($server, $end) ], [ 'new: 3', 'old: 3' ], "$name: by ptsort");
	check_nothing_left($server, $name);
}

my @anybody = ('gistload: begin slice', 'pagewrite: grow', 'pagewrite: written', 'gistload: end slice');
my @finish = ('gistload: open list', 'gistload: upper levels', 'gistload: root', 'pagewrite: left-over blocks', 'pagewrite: sync', 'ambuild: end');
crash($node, $_, 'worker', $create, $before) foreach @anybody;
# any process: by chance, the leader loads no slice
crash($node, $_, 'any', 'REINDEX INDEX old', $before) foreach @anybody[ 1, 2 ];
crash($node, $_, 'leader', 'REINDEX INDEX old', $before) foreach @finish;

# Base backups at a point.  A checkpoint does not wait for the paused process.
foreach my $case ([ 'pagewrite: log', 2 ], [ 'pagewrite: written', 2 ], [ 'gistload: upper levels', 1 ], [ 'gistload: root', 1 ])
{
	my ($point, $nth) = @$case;
	my $name = "$point $nth" =~ s/\W+/_/gr;
	my $pause = pause_points($node);
	my $build = start_psql($node, "SET ptsort_test.fault = '$point:$nth:pause'", $create);
	ok(wait_for_point($node, $point), "backup at '$point': the build is there");
	is($node->psql('postgres', 'CHECKPOINT', on_error_die => 0, timeout => 120), 0, "backup at '$point': a checkpoint does not wait");
	$node->backup($name, backup_options => [ '--checkpoint', 'fast' ]);
	end_session($pause);
	$build->{run}->finish;
	is($build->{err}, '', "backup at '$point': the statement succeeds");

	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($node, $name, has_streaming => 1);
	$copy->start;
	$node->wait_for_catchup($copy);
	my $check = q{SELECT sound('new'), sound('old'), answers('t', true)};
	is($copy->safe_psql('postgres', $check), $node->safe_psql('postgres', $check), "backup at '$point': the copy is sound");
	$copy->promote;
	is($copy->safe_psql('postgres', q{
INSERT INTO t SELECT id + 100000, p + point(0.5, 0.5) FROM t;
DELETE FROM t WHERE id % 3 = 0;
VACUUM (INDEX_CLEANUP on) t;
SELECT sound('new') = count(*), sound('old') = count(*), answers('t', true) = answers('t', false) FROM t}),
		't|t|t', "backup at '$point': sound after changes");
	$copy->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ], "backup at '$point': checksums");
	$node->safe_psql('postgres', 'DROP INDEX new');
}
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

# Crashes while the server does not log the index
my $minimal = new_node(
	'minimal',
	init => { extra => ['--data-checksums'] },
	conf => $conf . "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
create_sound($minimal);
$minimal->safe_psql('postgres', $fill);
crash($minimal, $_, 'leader', 'BEGIN; CREATE TABLE t2 AS SELECT * FROM t; CREATE INDEX new ON t2 USING gist (p); COMMIT', $before)
  foreach ('gistload: root', 'pagewrite: sync');
$minimal->safe_psql('postgres', 'ALTER TABLE t SET UNLOGGED');
my $build = start_psql($minimal, "SET ptsort_test.fault = 'gistload: root:1:sleep'", 'REINDEX INDEX old');
ok(wait_for_point($minimal, 'gistload: root'), 'unlogged: the build is there');
$minimal->stop('immediate');
$build->{run}->finish;
$minimal->start;
is($minimal->safe_psql('postgres', q{
SELECT sound('old');
INSERT INTO t SELECT i, point(i % 99, i % 77) FROM generate_series(1, 5000) i;
SELECT sound('old');
REINDEX INDEX old;
SELECT sound('old')}), "0\n5000\n5000", 'unlogged: empty after the crash, and a new build works');
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'minimal: checksums');
done_testing();
