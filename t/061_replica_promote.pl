# A replica while its primary builds indexes.  The replica's indexes are sound
# during replay, and equal the primary's after the replica catches up.  After
# promotion in the middle of builds, at each point of an index load and at a
# random moment, the replica is a sound primary.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use BuildLoad;
use IndexCheck;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $seed = load_seed();
srand($seed);
note("seed $seed");

%BuildLoad::rows = (a => 5000, b => 5000, u => 2000);
my $primary = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $BuildLoad::load_conf . q{
max_worker_processes = 24
max_parallel_workers = 16
wal_keep_size = 1GB
});
create_check($primary);
create_tables($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION ptsort_test');
$primary->backup('base');

sub new_replica
{
	my ($name) = @_;
	my $replica = PostgreSQL::Test::Cluster->new($name);
	$replica->init_from_backup($primary, 'base', has_streaming => 1);
	$replica->start;
	return $replica;
}

# Checks a promoted server: every unfinished index can be dropped, and
# everything that a primary does works on the server.
sub check_promoted
{
	my ($server, $name, @tables) = @_;
	my @files = Ptsort::temporary_files($server);
	is("@files", '', "$name: no temporary file");
	commit_prepared($server);
	check_indexes($server, $name);
	drop_invalid($server, $name);
	my $end = log_end($server);
	$server->safe_psql('postgres', join '', map { qq{
DELETE FROM $_ WHERE id % 3 = 0;
SELECT add_rows('$_', 500);
VACUUM $_;
REINDEX TABLE $_;
CREATE INDEX ON $_ (pad, id) WITH (parallel_workers = 1);
} } @tables);
	my $seen = read_load_log(slurp_file($server->logfile, $end));
	cmp_ok($seen->{ended}, '>', @tables, "$name: new builds");
	check_indexes($server, "$name, after changes and new builds");
	return;
}

# Promotion under the random workload
my $replica = new_replica('replica');
my $follower = new_replica('follower');
my $end = log_end($primary);
my @load = start_load($primary, 3, 150);
my $checked = 0;
foreach my $k (1 .. 3)
{
	sleep(rand 0.6);
	$checked += check_replay($replica, "seed $seed: replay, moment $k");
}
$primary->wait_for_log(qr/ptsort: built index/, $end);
$replica->promote;
my $seen = read_load_log(slurp_file($primary->logfile, $end));
stop_load($primary, @load);
cmp_ok($checked, '>', 0, "seed $seed: indexes were checked in replay");
cmp_ok($seen->{ended}, '>', 0, "seed $seed: builds went on at the same time");
is(join("\n", @{ $seen->{unexpected} }),
	'', "seed $seed: no other error than expected");
check_promoted($replica, "seed $seed: promoted under load", qw(a b u));

commit_prepared($primary);
$primary->wait_for_catchup($follower);
is(valid_indexes($follower), valid_indexes($primary),
	"seed $seed: the replica has the indexes of the primary");
check_indexes($primary, "seed $seed: primary");
check_indexes($follower, "seed $seed: replica that has caught up");

# Promotion in the middle of builds: each build pauses at one of these points;
# before the promotion, the replica replays all WAL of the builds.  (No build
# pauses at "pagewrite: grow": there a process holds the extension lock, and must
# not wait for the lock that makes it pause.)
my @points = (
	'build: before load',
	'btload: begin slice',
	'pagewrite: log',
	'pagewrite: write',
	'btload: end slice',
	'btload: export list',
	'btload: stitch',
	'btload: upper levels',
	'btload: metapage',
	'pagewrite: sync',
	'build: after finish');
my @kinds = (
	'CREATE INDEX held_% ON p_% (word)',
	'CREATE UNIQUE INDEX CONCURRENTLY held_% ON p_% (id)',
	'REINDEX INDEX old_%',
	'REINDEX INDEX CONCURRENTLY old_%',
	'VACUUM FULL p_%');
$primary->safe_psql('postgres', join '', map { qq{
CREATE TABLE p_$_ AS SELECT * FROM a LIMIT 4000;
CREATE INDEX old_$_ ON p_$_ (url);
} } 0 .. $#points);
my $before = valid_indexes($primary);
my $pause = pause_points($primary);
my @builds = map {
	start_psql(
		$primary,
		"SET ptsort_test.fault = '$points[$_]:1:pause'",
		'SET ptsort.parallel_workers = 1',
		"SET ptsort_test.spill_entries = 1000",
		$kinds[ $_ % @kinds ] =~ s/%/$_/gr)
} 0 .. $#points;
ok(wait_for_point($primary, $_), "promoted at '$_': the build is there")
  foreach @points;
$primary->safe_psql('postgres', 'CREATE TABLE flushed ()');
$primary->wait_for_catchup($follower);
$follower->promote;
is(valid_indexes($follower), $before,
	'promoted at points: nothing of the builds is visible');
check_promoted($follower, 'promoted at points', map { "p_$_" } 0 .. $#points);

end_session($pause);
$_->{run}->finish foreach @builds;
is(join('', map { $_->{err} } @builds), '', 'the primary goes on: all built');
drop_invalid($primary, 'the primary goes on');
check_indexes($primary, 'the primary goes on');

foreach my $node ($primary, $replica, $follower)
{
	is(log_complaints(slurp_file($node->logfile)),
		'', $node->name . ': nothing bad in the log');
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		$node->name . ': checksums');
}
done_testing();
