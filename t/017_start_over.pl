# A build starts over when it finds that a collation contradicts its tables.
# Here ptsort reads the tables as if the Czech "ch" were two letters.  The test
# covers every path on which a build finds the contradiction, early and late.
# The first attempt leaves nothing behind, even after a crash or on a replica.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The data are those of t/043, which also tests the text of the warning.
my $fill = q{
CREATE TABLE t (few int, word text COLLATE %1$s);
INSERT INTO t SELECT i %% 5000, ('{ca,ch,cz,h,d}'::text[])[1 + i %% 5] || md5(i::text) FROM generate_series(1, 20000) i;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
VACUUM ANALYZE;
};
my $wrong = 'SET ptsort_test.trust_collations = on';
my $sound = q{
SELECT string_agg(relname || CASE WHEN pg_relation_size(oid) > 1.5 * 20000 * (36 + 8 + 4) THEN ' is large' ELSE '' END, ' ' ORDER BY relname)
FROM pg_class WHERE relkind = 'i' AND oid >= 16384 AND relnamespace = 'public'::regnamespace
	AND bt_index_parent_check(oid, true, true)::text = ''};

# Returns the indexes whose builds restarted after the given log position.
sub started_over
{
	my ($node, $offset) = @_;
	my $log = slurp_file($node->logfile, $offset);
	my @names = $log =~ /restarting build of index "(.+?)": its collation contradicts itself/g;
	return "@names";
}

my $conf = q{
session_preload_libraries = 'ptsort, ptsort_test'
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 3000
ptsort_test.learn_tuples = 0
maintenance_work_mem = '3MB'
};
my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $conf);
my $czech = $node->safe_psql('postgres', q{
SELECT quote_ident(collname) FROM pg_collation
WHERE collname ~ '^cs_CZ\.utf-?8$' OR collname = 'cs-x-icu' ORDER BY collprovider LIMIT 1});
plan skip_all => 'no Czech collation' if $czech eq '';
$fill = sprintf $fill, $czech;
$node->safe_psql('postgres', $fill);

my $end = log_end($node);
my $build = 'CREATE INDEX t_word ON t (word); DROP INDEX t_word';
$node->safe_psql('postgres', $build);
is(started_over($node, $end), '', 'the tables as they are: nothing starts over');
my $memory = "SET ptsort.parallel_workers = 0; SET ptsort_test.spill_entries = 0; SET maintenance_work_mem = '64MB'";
$node->safe_psql('postgres', "$wrong; $memory; $build");
is_deeply([ builds_since($node, $end) ], [ 't_word: 3', 't_word: 1' ], 'in memory: built by ptsort');
is(started_over($node, $end), 't_word', 'in memory: it starts over');

# Two runs; the first run has a group of misplaced strings that no sort in
# memory notices.  Of each 64 strings, a sort in memory checks one pair of
# neighbours, and compares this pair with the previous pair.  The group begins
# after one checked pair and ends before the next checked pair.  The second run
# has no string of the group; a merge of both runs does notice the group.
sub fill_late
{
	my ($table, $run1, $smaller1, $run2, $smaller2) = @_;
	return qq{
CREATE TABLE $table (word text COLLATE $czech);
INSERT INTO $table SELECT CASE WHEN i <= $smaller1 THEN 'b' WHEN i <= $smaller1 + 62 THEN 'ch' ELSE 'd' END || lpad(i::text, 6, '0') || ' and more of it'
FROM generate_series(1, $run1) i ORDER BY hashint4(i);
INSERT INTO $table SELECT CASE WHEN i <= $smaller2 THEN 'b' ELSE 'd' END || lpad(i::text, 6, '0') || ' and more of it'
FROM generate_series(1, $run2) i ORDER BY hashint4(i);
};
}

# A serial build finds the contradiction late, after it wrote pages of level 1.
$node->safe_psql('postgres', fill_late('late', 10000, 33 + 64 * 150, 10000, 9600));
$end = log_end($node);
$node->safe_psql('postgres', qq{
SET ptsort.parallel_workers = 0; SET ptsort_test.spill_entries = 10000; SET log_temp_files = 0; $wrong;
CREATE INDEX late_word ON late (word) WITH (fillfactor = 10);
SELECT bt_index_parent_check('late_word', true, true)});
is(started_over($node, $end), 'late_word', 'far into a serial build');
like(slurp_file($node->logfile, $end), qr/building index.*temporary file: .*restarting build/s,
	'far into a serial build: there were runs');
unlike(slurp_file($node->logfile, $end), qr/leak/, 'far into a serial build: nothing is left open');
$node->safe_psql('postgres', 'DROP TABLE late');

# Every kind of build
my @kinds = (
	[ 't_parallel', 3, 'CREATE INDEX t_parallel ON t (word)' ],
	[ 't_serial', 1, 'SET ptsort.parallel_workers = 0; CREATE INDEX t_serial ON t (word)' ],
	[ 't_unique', 3, 'CREATE UNIQUE INDEX t_unique ON t (word DESC) INCLUDE (few)' ],
	[ 't_second', 3, 'CREATE INDEX t_second ON t ((few > 2000), word)' ],
	[ 't_concurrently', 3, 'CREATE INDEX CONCURRENTLY t_concurrently ON t (word)' ],
	[ 'u_unlogged', 3, 'CREATE INDEX u_unlogged ON u (word)' ],
	[ 't_serial', 3, 'REINDEX INDEX t_serial' ],
	[ 't_again', 3, 'BEGIN; CREATE TABLE t2 AS SELECT * FROM t; CREATE INDEX t_again ON t2 (word); COMMIT' ],
	[ 'temp_word', 1, 'CREATE TEMP TABLE x AS SELECT * FROM t; CREATE INDEX temp_word ON x (word); SELECT bt_index_parent_check(\'temp_word\', true, true)' ]);
my $segments = dsm_segments($node);
foreach my $kind (@kinds)
{
	my ($index, $participants, $sql) = @$kind;
	$end = log_end($node);
	$node->safe_psql('postgres', "$wrong; $sql");
	is_deeply([ builds_since($node, $end) ], ["$index: $participants"], "$index: built by ptsort");
	is(started_over($node, $end), $index, "$index: it started over");
}
check_nothing_left($node, 'all kinds', $segments);
my $names = 't_again t_concurrently t_parallel t_second t_serial t_unique u_unlogged';
is($node->safe_psql('postgres', $sound), $names, 'all kinds: sound, and no larger than once built');

# Errors in the second attempt, and a duplicate that either attempt may find
foreach my $case (
	[ 'launch', "SET ptsort_test.fault = 'build: before launch:2:error'", qr/injected error/, 1 ],
	[ 'stitch', "SET ptsort_test.fault = 'btload: stitch:1:error'", qr/injected error/, 1 ],
	[ 'duplicate', 'INSERT INTO t SELECT * FROM t LIMIT 1', qr/ERROR:  23505: could not create unique index "t_failed"/, 0 ])
{
	my ($name, $sql, $error, $second) = @$case;
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_unique');
	$end = log_end($node);
	my ($out, $err) = try_sql($node, "$wrong; $sql; CREATE UNIQUE INDEX t_failed ON t (word)");
	like(error_of($err), $error, "$name: an error");
	is(started_over($node, $end), 't_failed', "$name: it had started over") if $second;
	check_nothing_left($node, $name, $segments);
}

# A worker finds no slice left to load.  Then it learns of a contradiction in
# the slice that the leader still reads.
{
	my $turns = new_node('turns', conf => "$conf\nshared_preload_libraries = 'ptsort, ptsort_test'\n");
	$turns->safe_psql('postgres', fill_late('edge', 4500, 33 + 64 * 6, 501, 83));
	my $late = log_end($turns);
	$turns->safe_psql('postgres', qq{
$wrong;
SET ptsort.parallel_workers = 1; SET ptsort_test.leader_participates = off;
SET ptsort_test.spill_entries = 4500; SET ptsort_test.slices = 2;
SET ptsort_test.turns = 'build: before load:worker after merge: begin:leader, merge: begin:leader after build: after load:worker, build: after load:worker after build: after load:leader';
CREATE INDEX edge_k ON edge (word);
SELECT bt_index_parent_check('edge_k', true, true)});
	is_deeply([ builds_since($turns, $late) ], ['edge_k: 1'], 'late news of a contradiction: built by ptsort');
	is(started_over($turns, $late), 'edge_k', 'late news of a contradiction: it started over');
	$turns->stop;
}

# A crash after the commit, and then a replica that must receive the primary's
# indexes
$names =~ s/ t_unique//;
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $sound), $names, 'crash: sound after recovery');
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$end = log_end($node);
$node->safe_psql('postgres', $_)
  foreach ("$wrong; CREATE INDEX t_replica ON t (word, few)", "$wrong; REINDEX INDEX t_parallel");
is(started_over($node, $end), 't_replica t_parallel', 'replica: builds started over');
$node->wait_for_catchup($replica);
my $order = q{
SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
SELECT md5(string_agg(ctid::text, ' ')) FROM (SELECT ctid FROM t ORDER BY word, few) s;
SELECT bt_index_check('t_replica', true), bt_index_check('t_parallel', true)};
is($replica->safe_psql('postgres', $order), $node->safe_psql('postgres', $order), 'replica: the same index');
$replica->stop;
$node->stop;
foreach my $stopped ($node, $replica)
{
	command_ok([ 'pg_checksums', '--check', '-D', $stopped->data_dir ], 'checksums of ' . $stopped->name);
}

# wal_level = minimal: WAL has neither the index nor the removal of its first
# contents
$node = new_node('minimal', conf => "$conf\nwal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
$node->safe_psql('postgres', $fill);
$end = log_end($node);
$node->safe_psql('postgres', "$wrong; BEGIN; CREATE TABLE t2 AS SELECT * FROM t; CREATE INDEX t_again ON t2 (word); COMMIT");
is(started_over($node, $end), 't_again', 'minimal: it started over');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $sound), 't_again', 'minimal: sound after recovery');
$node->stop;

done_testing();
