# A crash at each point of a load, in the leader and in a worker, loses only
# the unfinished index: tables and old indexes are as before, and a new build
# works.  A base backup taken at such a point, together with the WAL written
# later, is complete.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => q{
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 2000
maintenance_work_mem = '3MB'
});
my $fill = q{
CREATE TABLE t AS SELECT i % 5000 AS few, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE TABLE old AS SELECT * FROM t;
CREATE INDEX old_word ON old (word);
VACUUM ANALYZE;
};
$node->safe_psql('postgres', $fill);

# Returns digests of t's rows and of the rows that old_word finds, checks
# old_word, and returns true if t_word does not exist.
my $state = q{
SELECT count(*), sum(hashtext(few || word)) FROM t;
SET enable_seqscan = off;
SELECT count(*), sum(hashtext(few || word)) FROM old WHERE word > '';
SELECT bt_index_parent_check('old_word', true, true);
SELECT to_regclass('t_word') IS NULL;
};
my $new = q{
CREATE INDEX t_word ON t (word);
REINDEX INDEX old_word;
SELECT bt_index_parent_check('t_word', true, true), bt_index_parent_check('old_word', true, true);
DROP INDEX t_word;
};
my $before = $node->safe_psql('postgres', $state);

# Crashes the server during the build of a new index and the rebuild of an old
# index, while both builds are at this point.
sub crash
{
	my ($server, $point, $where, $create) = @_;
	my $name = $server->name . ": $point, $where";
	my $others = $where eq 'worker' ? 'leader' : 'worker';
	my $faults = "SET ptsort_test.fault = '$point:1:sleep:$where"
	  . ($where eq 'all' ? '' : ", build: before load:1:sleep:$others") . "'";
	$faults =~ s/sleep:all/sleep/;

	my @builds = map { start_psql($server, $faults, $_) } ($create, 'REINDEX INDEX old_word');
	ok(wait_for_point($server, $point, 2), "$name: two builds are there");
	$server->stop('immediate');
	$_->{run}->finish foreach @builds;
	$server->start;
	is($server->safe_psql('postgres', $state), $before, "$name: nothing else was lost");
	my $end = log_end($server);
	is($server->safe_psql('postgres', $new), '|', "$name: new builds");
	is_deeply([ builds_since($server, $end) ], [ 't_word: 3', 'old_word: 3' ], "$name: by ptsort");
	check_nothing_left($server, $name);
}

my @everybody = (
	'btload: begin slice',
	'pagewrite: chunk',
	'pagewrite: grow',
	'pagewrite: log',
	'pagewrite: write',
	'pagewrite: written',
	'btload: end slice',
	'btload: export list');
my @finish = (
	'btload: stitch',
	'btload: open list',
	'btload: upper levels',
	'pagewrite: left-over blocks',
	'btload: metapage',
	'pagewrite: sync',
	'build: after finish');
my $create = 'CREATE INDEX t_word ON t (word)';
crash($node, $_, 'worker', $create) foreach @everybody;
crash($node, $_, 'leader', $create) foreach @everybody[ 1, 3 ];
crash($node, $_, 'all', $create) foreach @finish;

# Base backups at four moments.  At the first, the index's file holds only some
# of the index's pages.  At the second, more pages are in WAL but not in the
# file: the backup's redo pointer is after the pages' WAL record, and the
# copied file lacks the pages.  At the third, the pages are in the file, and
# the next step compares the redo pointer with the pages' WAL record.  At the
# last, only the metapage is missing.  A checkpoint must not wait for the
# paused participants, because they do not continue.  WAL must supply what the
# copied file lacks.
$node->safe_psql('postgres', q{
CREATE TABLE c AS SELECT few, word, md5(word) AS other FROM t;
CREATE INDEX c_word ON c (word);
});
my $cluster = 'CLUSTER c USING c_word';
foreach my $case (
	[ 'pagewrite: log', 2, $create ],
	[ 'pagewrite: write', 2, $create ],
	[ 'pagewrite: write', 1, $create ],
	[ 'pagewrite: written', 2, $create ],
	[ 'btload: metapage', 1, $create ],
	[ 'pagewrite: write', 2, $cluster ],
	[ 'pagewrite: written', 2, $cluster ])
{
	my ($point, $nth, $statement) = @$case;
	my $name = "$point $nth " . lc(($statement =~ /(\w+)/)[0]);
	my $what = "backup at '$name'";
	$name =~ s/\W+/_/g;
	my $pause = pause_points($node);
	my $end = log_end($node);
	my $build = start_psql($node, "SET ptsort_test.fault = '$point:$nth:pause'",
		'SET ptsort.parallel_workers = 3', $statement);
	ok(wait_for_point($node, $point), "$what: the statement is there");
	is( $node->psql('postgres', 'CHECKPOINT', on_error_die => 0, timeout => 120),
		0, "$what: a checkpoint does not wait");
	$node->backup($name, backup_options => [ '--checkpoint', 'fast' ]);
	is($node->safe_psql('postgres',
			"SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%$statement%' AND state = 'active' AND pid <> pg_backend_pid()"),
		't', "$what: the statement still runs");
	end_session($pause);
	$build->{run}->finish;
	is($build->{err}, '', "$what: the statement succeeds");
	like(slurp_file($node->logfile, $end),
		$statement eq $create
		? qr/ptsort: built index "t_word"/
		: qr/ptsort: copied table "c"/,
		"$what: by ptsort");

	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($node, $name, has_streaming => 1);
	$copy->start;
	$node->wait_for_catchup($copy);
	my $entries = $statement eq $create ? q{
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
SELECT md5(string_agg(ctid::text, ' ')) FROM (SELECT ctid FROM t WHERE word > '' ORDER BY word) s;
SELECT bt_index_check('t_word', true)} : q{
SELECT count(*), md5(string_agg(c::text, ' ' ORDER BY ctid)) FROM c;
SELECT bt_index_check('c_word', true)};
	is($copy->safe_psql('postgres', $entries),
		$node->safe_psql('postgres', $entries), "$what: the copy has the same");
	$copy->promote;
	my ($table, $index) = $statement eq $create ? ('t', 't_word') : ('c', 'c_word');
	is( $copy->safe_psql(
			'postgres', qq{
INSERT INTO $table SELECT i, 'new ' || i FROM generate_series(1, 5000) i;
DELETE FROM $table WHERE few % 3 = 0;
VACUUM $table;
SELECT bt_index_parent_check('$index', true, true)}),
		'', "$what: sound after changes");
	$copy->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ],
		"$what: checksums");
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_word');
}
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

# Crashes while the server does not log the index: the table is unlogged, or
# wal_level is minimal and both table and index are new.
my $minimal = new_node(
	'minimal',
	init => { extra => ['--data-checksums'] },
	conf => q{
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 2000
wal_level = minimal
max_wal_senders = 0
wal_skip_threshold = 0
});
$minimal->safe_psql('postgres', $fill);
crash($minimal, $_, 'all', 'BEGIN; CREATE TABLE t2 AS SELECT * FROM t; CREATE INDEX t2_word ON t2 (word); COMMIT')
  foreach ('btload: upper levels', 'build: after finish');
is($minimal->safe_psql('postgres', q{SELECT to_regclass('t2') IS NULL}), 't', 'minimal: the new table is gone');
$minimal->safe_psql('postgres', 'ALTER TABLE old SET UNLOGGED');
my $builds = start_psql($minimal, "SET ptsort_test.fault = 'pagewrite: sync:1:sleep'", 'REINDEX INDEX old_word');
ok(wait_for_point($minimal, 'pagewrite: sync'), 'unlogged: the build is there');
$minimal->stop('immediate');
$builds->{run}->finish;
$minimal->start;
is($minimal->safe_psql('postgres', q{
SELECT count(*) FROM old;
INSERT INTO old SELECT * FROM t;
REINDEX INDEX old_word;
SELECT bt_index_parent_check('old_word', true, true)}), "0\n", 'unlogged: empty after the crash, and a new build works');
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'minimal: checksums');

done_testing();
