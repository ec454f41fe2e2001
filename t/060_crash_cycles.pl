# Crashes at random moments of a random workload of index builds.  After each
# recovery, every valid index is sound, and an index scan returns the rows of a
# sequential scan.
#
#   PTSORT_CRASH_CYCLES   number of cycles (default: 5); more cycles follow
#                         until a crash hits a build
#   PTSORT_SEED           seed of the statements, the settings and the moments
#                         of the crashes (default: random); cycle k begins with
#                         srand(seed + k)
#
# `make crash CYCLES=200 SEED=1` sets both.  Test names include the seed.
# The same seed gives the same statements at the same times; which build a
# crash hits still depends on the machine.
#
# After a crash PostgreSQL never removes the files of relations whose creation
# was not committed; this test counts these files but accepts them.
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
use Time::HiRes qw(sleep time);

my $cycles = $ENV{PTSORT_CRASH_CYCLES} || 5;
my $seed = load_seed();
my $sessions = 4;
my $steps = 150;    # more than a session takes in the longest cycle
my $begin = time;
my %total = map { $_ => 0 }
  qw(cycles started ended failed hit prepared checked invalid orphans);
my %phases;

my $node = new_node(
	'main',
	init => { extra => ['--data-checksums'] },
	conf => $BuildLoad::load_conf . "include_if_exists = 'cycle.conf'\n");
create_check($node);
create_tables($node);
my $segments = dsm_segments($node);

# Writes settings for the next start.  Without full WAL, the server does not log
# new relations: at commit, it syncs them, or logs them if they are small.
sub change_conf
{
	my $minimal = rand() < 0.4;
	my $conf = $node->data_dir . '/cycle.conf';
	unlink $conf;
	append_to_file(
		$conf,
		join "\n",
		'wal_level = ' . ($minimal ? 'minimal' : 'replica'),
		'max_wal_senders = ' . ($minimal ? 0 : 4),
		'wal_skip_threshold = ' . (0, 64, 100000)[ rand 3 ],
		'wal_compression = ' . ('on', 'off')[ rand 2 ],
		'shared_buffers = ' . ('1MB', '4MB', '64MB')[ rand 3 ],
		'');
	return $minimal ? 'minimal WAL' : 'full WAL';
}

# Runs the workload and stops the server before the workload ends; returns the
# log's data on builds.
sub crash
{
	my ($moment) = @_;
	my $offset = log_end($node);
	my @load = start_load($node, $sessions, $steps);
	sleep($moment);
	my $phases = $node->safe_psql('postgres',
		'SELECT phase FROM pg_stat_progress_create_index');
	$phases{$_}++ foreach grep { $_ } split /\n/, $phases;
	$node->stop('immediate');
	end_load(@load);
	return read_load_log(slurp_file($node->logfile, $offset));
}

# Starts the server after a crash.  Recovery fails in one case: the server
# stops just after it undoes the creation of an unlogged relation, and before
# the WAL record of the undo is on disk.  Of the relation's files, only an
# empty main fork then exists.  Recovery creates the init fork again, and fails
# because the main fork exists.  (The failure also happens without ptsort: let
# the WAL writer sleep, and roll back a CREATE UNLOGGED TABLE before an
# immediate stop.)
sub recover
{
	my $offset = log_end($node);
	return if $node->start(fail_ok => 1);
	my ($file) = slurp_file($node->logfile, $offset) =~
	  m{FATAL:  could not create file "((?:base|pg_tblspc)/[^"]+)": File exists};
	die "the server did not recover\n" if !$file || -s $node->data_dir . "/$file";
	note("an empty file of an unlogged relation whose creation was undone: $file");
	unlink $node->data_dir . "/$file";
	$node->start;
	return;
}

# Checks the server after a recovery
sub check_recovered
{
	my ($name) = @_;
	my @files = Ptsort::temporary_files($node);
	is("@files", '', "$name: no temporary file is left");
	cmp_ok(dsm_segments($node), '<=', $segments,
		"$name: no segment is left");
	$total{orphans} = scalar(split / /, Ptsort::orphans($node));
	$total{prepared} += commit_prepared($node);
	$total{checked} += check_indexes($node, $name);
	$total{invalid} += drop_invalid($node, $name);
	return;
}

sub cycle
{
	my ($k) = @_;
	srand($seed + $k);
	my $moment = rand(1.5);
	my $wal = change_conf();
	my $offset = log_end($node);
	$node->start;
	fill_tables($node);
	my $seen = crash($moment);
	recover();

	my $hit = scalar @{ $seen->{hit} };
	my $name = sprintf('cycle %d of seed %d (%s, %.2f s, %d builds, %d hit)',
		$k, $seed, $wal, $moment, $seen->{started}, $hit);
	is(join("\n", @{ $seen->{unexpected} }),
		'', "$name: no other error than expected");
	check_recovered($name);
	is(log_complaints(slurp_file($node->logfile, $offset)),
		'', "$name: nothing bad in the log");
	note("hit: @{ $seen->{hit} }");
	$total{$_} += $seen->{$_} foreach qw(started ended failed);
	$total{hit} += $hit;
	$total{cycles}++;
	$node->stop('fast');
	return;
}

$node->stop;
cycle($total{cycles} + 1)
  while $total{cycles} < $cycles
  || (!$total{hit} && $total{cycles} < $cycles + 20);
cmp_ok($total{hit}, '>', 0, "seed $seed: crashes have hit builds");
is($total{ended} + $total{failed} + $total{hit},
	$total{started}, "seed $seed: all builds are accounted for");

# The crashes must not damage the catalogs either.
$node->start;
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FROM pg_class c
	JOIN pg_am a ON a.oid = relam AND amname = 'btree'
WHERE relkind = 'i' AND c.oid < 16384
	AND bt_index_check(c.oid, true)::text <> ''}),
	0,
	"seed $seed: the indexes of the catalogs are sound");
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	"seed $seed: checksums");

note(sprintf('== seed %d: %d cycles in %d s; %d builds started,'
	  . ' %d hit by a stop, %d failed, %d ended',
	$seed, $total{cycles}, time - $begin,
	@total{qw(started hit failed ended)}));
note(sprintf('== %d times an index was checked, %d invalid ones dropped,'
	  . ' %d prepared transactions committed, %d orphaned files',
	@total{qw(checked invalid prepared orphans)}));
note('== just before the stops: '
	  . join(', ', map { "$phases{$_} $_" } sort keys %phases));
done_testing();
