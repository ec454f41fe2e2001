# A committed index exists after a crash, and on a replica: with checksums,
# with full WAL and with wal_level = minimal, for logged and unlogged tables.
#
# Depends on the version: it replays the version's WAL
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $fill = q{
CREATE TABLE t AS SELECT i % 5000 AS few, md5(i::text) AS word FROM generate_series(1, 30000) i;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
VACUUM ANALYZE;
};
my $build = q{
SET ptsort.parallel_workers = 2;
SET maintenance_work_mem = '3MB';
CREATE INDEX t_few ON t (few);
CREATE UNIQUE INDEX t_word ON t (word) INCLUDE (few) WITH (parallel_workers = 0);
CREATE INDEX u_word ON u (word);
CREATE TABLE empty_at_first (id int);
BEGIN;
CREATE TABLE same AS SELECT * FROM t;
CREATE INDEX same_word ON same (word);
COMMIT;
REINDEX INDEX t_few;
};
my @built = ('t_few: 3', 't_word: 1', 'u_word: 3', 'same_word: 3', 't_few: 3');
my $check = q{
SELECT relname FROM pg_class WHERE relkind = 'i' AND oid >= 16384 AND relnamespace = 'public'::regnamespace
	AND bt_index_parent_check(oid, true, true)::text = ''
ORDER BY relname;
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT word FROM t ORDER BY word) s;
};
my $sound = "same_word\nt_few\nt_word\nu_word\n30000";

# A crash right after the commit, before a checkpoint writes part of the index
sub crash
{
	my ($node, $name) = @_;
	$node->safe_psql('postgres', $fill);
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $end = log_end($node);
	$node->safe_psql('postgres', $build);
	is_deeply([ builds_since($node, $end) ], \@built, "$name: built by us");
	$node->stop('immediate');
	$node->start;
	is($node->safe_psql('postgres', $check),
		$sound, "$name: sound after recovery");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM u'),
		'0', "$name: there was a recovery");
}

my $node = new_node(
	'minimal',
	init => { extra => ['--data-checksums'] },
	conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
crash($node, 'wal_level = minimal');
$node->stop;

# A checkpoint in the middle of the build, when part of the index is on disk
$node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => "fsync = on");
crash($node, 'full WAL');

my $pause = pause_points($node);
my $psql = start_psql($node,
	"SET ptsort_test.fault = 'build: after load:1:pause:leader'",
	'SET ptsort.parallel_workers = 2',
	'CREATE INDEX t_both ON t (few, word)');
ok(wait_for_point($node, 'build: after load'), 'checkpoint in the build: it is loading');
$node->safe_psql('postgres', 'CHECKPOINT');
end_session($pause);
$psql->{run}->finish;
is($psql->{err}, '', 'checkpoint in the build: built');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $check),
	$sound =~ s/t_few/t_both\nt_few/r, 'checkpoint in the build: sound after recovery');

# A replica
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
my $end = log_end($node);
$node->safe_psql(
	'postgres', q{
SET maintenance_work_mem = '1MB';
CREATE INDEX r_few ON t (few) WITH (parallel_workers = 2);
CREATE INDEX CONCURRENTLY r_word ON t (word DESC) WITH (parallel_workers = 1);
REINDEX INDEX CONCURRENTLY t_word;
});
is_deeply(
	[ builds_since($node, $end) ],
	[ 'r_few: 3', 'r_word: 2', 't_word_ccnew: 1' ],
	'replica: built by ptsort on the primary');
$node->wait_for_catchup($replica);
my $bt_check = q{
SELECT relname FROM pg_class
WHERE relkind = 'i' AND relname ~ '^r_|^t_' AND bt_index_check(oid, true)::text = '' ORDER BY relname};
my $names = "r_few\nr_word\nt_both\nt_few\nt_word";
is($node->safe_psql('postgres', $bt_check), $names, 'replica: sound on the primary');
is($replica->safe_psql('postgres', $bt_check), $names, 'replica: sound on the replica');
my $order = q{
SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
SELECT md5(string_agg(ctid::text, ' ')) FROM (SELECT ctid FROM t ORDER BY few) s};
is($replica->safe_psql('postgres', $order),
	$node->safe_psql('postgres', $order), 'replica: same order as on the primary');

# The replica becomes the primary, and its indexes stay sound after changes
$replica->promote;
is( $replica->safe_psql(
		'postgres', q{
INSERT INTO t SELECT i % 5000, 'new ' || i FROM generate_series(1, 10000) i;
DELETE FROM t WHERE few % 3 = 0;
VACUUM t;
} . $bt_check),
	$names,
	'promoted replica: sound after changes');
$replica->stop;
$node->stop;

# Checksums of all pages on disk
foreach my $stopped ($node, $replica)
{
	command_ok([ 'pg_checksums', '--check', '-D', $stopped->data_dir ],
		'checksums of ' . $stopped->name);
}
done_testing();
