# pg_rewind rewinds a crashed primary, which then follows the promoted replica.
# Both servers had builds: some were in progress when the servers diverged, and
# some came later.  Some file numbers belong to one index on the old primary and
# to a different index on the promoted replica.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use BuildLoad;
use IndexCheck;
use Ptsort;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = load_seed();
srand($seed);
note("seed $seed");

# Older releases of pg_rewind do not know tablespaces inside the data directory,
# so the workload uses no tablespace.
$BuildLoad::tablespace = 0;
%BuildLoad::rows = (a => 4000, b => 4000, u => 2000);
my $old = new_node(
	'old',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $BuildLoad::load_conf . q{
wal_keep_size = 1GB
});
create_check($old);
create_tables($old);
$old->backup('base');
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init_from_backup($old, 'base', has_streaming => 1);
$new->start;

# Makes both servers assign the same numbers to new files.
sub align_numbers
{
	my $from = $new->safe_psql('postgres', 'SELECT lo_create(0)');
	$old->safe_psql(
		'postgres', qq{
DO \$\$
BEGIN
	WHILE lo_create(0) < $from LOOP
	END LOOP;
END \$\$});
	return;
}

# Builds indexes after the servers diverged.  The first indexes have different
# keys on the two servers.
sub build_on
{
	my ($node, $keys) = @_;
	my $name = $node->name;
	$node->safe_psql('postgres', join '', map {
		"CREATE INDEX here_$_ ON m ((few + $_), $keys)
			WITH (parallel_workers = 2);\n"
	} 1 .. 4);
	my $files = $node->safe_psql('postgres',
		q{SELECT pg_relation_filepath(oid) FROM pg_class
		WHERE relname LIKE 'here%'});
	my $end = log_end($node);
	end_load(start_load($node, 2, 12));
	my $seen = read_load_log(slurp_file($node->logfile, $end));
	cmp_ok($seen->{ended}, '>', 0, "seed $seed: builds on $name");
	is(join("\n", @{ $seen->{unexpected} }),
		'', "seed $seed: no other error than expected on $name");
	commit_prepared($node);
	$node->safe_psql('postgres', 'DELETE FROM m WHERE id % 7 = 0');
	return split /\n/, $files;
}

# Rewinds the stopped old server to where the two servers diverged; the old
# server then follows the new one.
sub rewind_and_follow
{
	my $conf = $old->data_dir . '/postgresql.conf';
	copy($conf, $old->basedir . '/conf') or die "could not copy $conf: $!";
	command_ok(
		[
			'pg_rewind', '--target-pgdata', $old->data_dir, '--no-sync',
			'--source-server', $new->connstr('postgres')
		],
		'pg_rewind');
	copy($old->basedir . '/conf', $conf) or die "could not restore $conf: $!";
	$old->enable_streaming($new);
	$old->start;
	$new->wait_for_catchup($old, 'replay',
		$new->safe_psql('postgres', 'SELECT pg_current_wal_lsn()'));
	return;
}

# Builds in progress, at three points, when the servers diverge
$old->safe_psql('postgres', q{
CREATE TABLE m AS SELECT * FROM a;
CREATE INDEX m_url ON m (url)});
my $pause = pause_points($old);
my @builds = map {
	start_psql(
		$old,
		"SET ptsort_test.fault = '$_->[0]:1:pause'",
		'SET ptsort.parallel_workers = 1',
		$_->[1])
} ([ 'pagewrite: log', 'CREATE INDEX a_both ON a (word, url)' ],
	[ 'btload: metapage', 'REINDEX INDEX CONCURRENTLY m_url' ],
	[ 'build: after finish', 'CREATE INDEX b_both ON b (word, url)' ]);
foreach my $point ('pagewrite: log', 'btload: metapage', 'build: after finish')
{
	ok(wait_for_point($old, $point), "the build is at '$point'");
}
$old->safe_psql('postgres', 'CREATE TABLE flushed ()');
$old->wait_for_catchup($new);
$new->promote;
end_session($pause);
$_->{run}->finish foreach @builds;
is(join('', map { $_->{err} } @builds), '', 'they end on the old server');
drop_invalid($new, 'new');
is( $new->safe_psql('postgres',
		q{SELECT count(*) FROM pg_class WHERE relname ~ '_both$'}),
	0,
	'their indexes are not on the new one');

align_numbers();
my %files = map { $_ => 1 } build_on($old, 'word, id');
my @same = grep { $files{$_} } build_on($new, 'num DESC, few, url');
cmp_ok(scalar @same, '>', 0, 'files of the same number: ' . scalar @same);
check_indexes($old, "seed $seed: old");
check_indexes($new, "seed $seed: new");

# The old server crashes, and pg_rewind discards the changes that only the old
# server made.
$new->safe_psql('postgres', 'CHECKPOINT');
$old->stop('immediate');
rewind_and_follow();
is(valid_indexes($old), valid_indexes($new),
	"seed $seed: the same indexes after rewinding");
check_indexes($old, "seed $seed: rewound");

# The old server follows more builds, then becomes the primary again.
end_load(start_load($new, 2, 8));
commit_prepared($new);
$new->wait_for_catchup($old);
is(valid_indexes($old), valid_indexes($new),
	"seed $seed: the same indexes after more builds");
check_indexes($old, "seed $seed: followed");
$new->stop;
$old->promote;
drop_invalid($old, "seed $seed: promoted");
$old->safe_psql('postgres', 'REINDEX TABLE m; VACUUM a');
check_indexes($old, "seed $seed: promoted");
$old->stop;

foreach my $node ($old, $new)
{
	is(log_complaints(slurp_file($node->logfile)),
		'', $node->name . ': nothing bad in the log');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		$node->name . ': checksums');
}
done_testing();
