# Base backups and archives taken while the primary builds indexes: a server
# starts from the backup alone, and recovery ends at points in the middle of
# builds, just before and at the commit of a build, and at the end of the
# archive.
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
$BuildLoad::unlogged = 0;
my $primary = new_node(
	'primary',
	init => {
		allows_streaming => 1,
		has_archiving => 1,
		extra => ['--data-checksums']
	},
	conf => $BuildLoad::load_conf . q{
wal_compression = on
});
create_check($primary);
create_tables($primary);
$primary->safe_psql('postgres', q{
CREATE TABLE m AS SELECT * FROM a;
CREATE TABLE old AS SELECT * FROM a;
CREATE INDEX old_mark ON old (url);
CREATE TABLE copied AS SELECT * FROM a;
CREATE INDEX copied_word ON copied (word)});
my $copied = q{SELECT count(*), md5(string_agg(c::text, ' ' ORDER BY id)) FROM copied c};
my $rows = $primary->safe_psql('postgres', $copied);

# Builds an index in a new transaction; returns the transaction's ID, which can
# be a recovery target.
sub build_mark
{
	my ($name, $keys) = @_;
	my $xid = $primary->safe_psql(
		'postgres', "
BEGIN;
SELECT pg_current_xact_id();
CREATE INDEX $name ON m ($keys) WITH (parallel_workers = 2);
COMMIT");
	return $xid;
}

# Starts a build or copy that pauses when it passes a point for the second time.
sub pause_build
{
	my ($point, $sql) = @_;
	my $build = start_psql(
		$primary,
		"SET ptsort_test.fault = '$point:2:pause'",
		'SET ptsort.parallel_workers = 2',
		$sql);
	return $build;
}

# Restores the backup; recovery ends at the target in $conf, or at the end of
# the WAL.  Returns the new server.
sub restore
{
	my ($name, $conf, %opt) = @_;
	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($primary, 'under_load', standby => 0, %opt);
	$copy->append_conf('postgresql.conf',
		"archive_mode = off\nrecovery_target_action = promote\n$conf");
	$copy->start;
	$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or fail("$name: recovery does not end");
	return $copy;
}

# Checks that the server is sound, and that $marks lists its valid indexes with
# "mark" in their names.
sub check_copy
{
	my ($copy, $marks) = @_;
	my $name = "seed $seed: " . $copy->name;
	my @files = Ptsort::temporary_files($copy);
	is("@files", '', "$name: no temporary file");
	commit_prepared($copy);
	is( $copy->safe_psql(
			'postgres', q{
SELECT string_agg(relname, ' ' ORDER BY relname)
FROM pg_class JOIN pg_index ON oid = indexrelid
WHERE indisvalid AND relname LIKE '%mark%'}),
		$marks,
		"$name: the right ones are there");
	check_indexes($copy, $name);
	is($copy->safe_psql('postgres', $copied), $rows, "$name: the copied rows");
	drop_invalid($copy, $name);
	$copy->safe_psql('postgres', q{
DELETE FROM m WHERE id % 3 = 0;
SELECT add_rows('m', 500);
VACUUM m;
REINDEX TABLE m;
REINDEX TABLE a});
	check_indexes($copy, "$name, after changes");
	is(log_complaints(slurp_file($copy->logfile)),
		'', "$name: nothing bad in the log");
	$copy->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ],
		"$name: checksums");
	return;
}

# Run the workload, and take a backup while four statements pause: a build that
# wrote some of its pages; a build and a copy that logged pages but did not
# write them; and a build that just wrote the pages that it logged.  The redo
# pointer of the backup is after the WAL records of the unwritten pages.  Then
# run two builds with known transaction IDs, and set a restore point in the
# middle of two other builds.
my $start = log_end($primary);
my @load = start_load($primary, 3, 200);
$primary->wait_for_log(qr/ptsort: building index/, $start);
my $pause = pause_points($primary);
my @builds = (
	pause_build('pagewrite: log', 'CREATE INDEX half_mark ON m (few, word)'),
	pause_build('pagewrite: write', 'CREATE INDEX logged_mark ON m (at, word)'),
	pause_build('pagewrite: write', 'CLUSTER copied USING copied_word'),
	pause_build('pagewrite: written', 'CREATE INDEX written_mark ON m (word, at)'));
ok($primary->poll_query_until('postgres', q{
SELECT count(DISTINCT coalesce(leader_pid, pid)) = 4 FROM pg_stat_activity
WHERE application_name ~ '^at pagewrite: (log|write|written)$'}), 'backup: all four are at their point');
$primary->backup('under_load');
end_session($pause);
$_->{run}->finish foreach @builds;

my $mark1 = build_mark('mark1', 'word, id');
sleep(rand 0.3);
my $mark2 = build_mark('mark2', 'num, word');
$pause = pause_points($primary);
push @builds, map { pause_build('pagewrite: log', $_) }
  ('CREATE INDEX mark3 ON m (at)', 'REINDEX INDEX CONCURRENTLY old_mark');
ok(wait_for_point($primary, 'pagewrite: log', 2),
	'restore point: two builds are half written');
$primary->safe_psql('postgres', q{SELECT pg_create_restore_point('middle')});
end_session($pause);
$_->{run}->finish foreach @builds[ -2, -1 ];
is(join('', map { $_->{err} } @builds), '', 'the builds go on');
stop_load($primary, @load);
my $seen = read_load_log(slurp_file($primary->logfile, $start));
is(join("\n", @{ $seen->{unexpected} }),
	'', "seed $seed: no other error than expected");
my $last = $primary->safe_psql('postgres',
	'SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$last' FROM pg_stat_archiver")
  or fail('the archive is not complete');
commit_prepared($primary);
check_indexes($primary, "seed $seed: primary");

check_copy(restore('backup', ''), 'old_mark');
check_copy(
	restore('to_commit', "recovery_target_xid = $mark1", has_restoring => 1),
	'half_mark logged_mark mark1 old_mark written_mark');
check_copy(
	restore(
		'before_commit',
		"recovery_target_xid = $mark2\nrecovery_target_inclusive = off",
		has_restoring => 1),
	'half_mark logged_mark mark1 old_mark written_mark');
check_copy(
	restore(
		'in_build', q{recovery_target_name = 'middle'}, has_restoring => 1),
	'half_mark logged_mark mark1 mark2 old_mark written_mark');
my $all = restore('to_the_end', '', has_restoring => 1);
commit_prepared($all);
is(valid_indexes($all), valid_indexes($primary),
	"seed $seed: the end of the archive has the indexes of the primary");
check_copy($all, 'half_mark logged_mark mark1 mark2 mark3 old_mark written_mark');
$primary->stop;
done_testing();
