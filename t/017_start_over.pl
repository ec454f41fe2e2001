# A build whose optimistic sorts met a wrong hint starts over: on every path to
# one, with nothing left of the first attempt, neither after a crash nor on a replica.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $fill = q{
CREATE TABLE t (few int, word text COLLATE "en_US.utf8");
INSERT INTO t SELECT i % 5000, md5(i::text) FROM generate_series(1, 20000) i;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
VACUUM ANALYZE;
};
my $wrong = 'SET ptsort.debug_wrong_hints = 500';
my $sound = q{
SELECT string_agg(relname || CASE WHEN pg_relation_size(oid) > 1.5 * 20000 * (33 + 8 + 4) THEN ' is large' ELSE '' END, ' ' ORDER BY relname)
FROM pg_class WHERE relkind = 'i' AND oid >= 16384 AND relnamespace = 'public'::regnamespace
	AND bt_index_parent_check(oid, true, true)::text = ''};

# The indexes whose builds began again since then.
sub started_over
{
	my ($node, $offset) = @_;
	my $log = slurp_file($node->logfile, $offset);
	my @names = $log =~ /restarting build of index "(.+?)": learned sort keys/g;
	return "@names";
}

my $conf = q{
session_preload_libraries = 'ptsort, ptsort_test'
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 3000
maintenance_work_mem = '3MB'
};
my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $conf);
$node->safe_psql('postgres', $fill);

# What trust saves: a comparison for each tuple, instead of two or more
my $comparisons = q{
CREATE INDEX t_word ON t (word);
SELECT sum(comparisons) < 1.1 * 20000, sum(tuples) FROM ptsort_last_build() WHERE participant IS NOT NULL;
DROP INDEX t_word};
my $end = log_end($node);
is($node->safe_psql('postgres', $comparisons), 't|20000', 'right hints: one comparison for each tuple');
is($node->safe_psql('postgres', "SET ptsort.parallel_workers = 0; $comparisons"), 't|20000',
	'right hints: and in a serial build with runs');
is(started_over($node, $end), '', 'right hints: nothing starts over');
is($node->safe_psql('postgres', "$wrong; $comparisons"), 'f|20000', 'wrong hints: more, and counted');
is(started_over($node, $end), 't_word', 'wrong hints: the build starts over');
like(slurp_file($node->logfile, $end), qr/built index "t_word": 3 participants, 20000 tuples.*wrong hints: [1-9]/,
	'wrong hints: the end line says so');

# If memory holds all tuples, wrong hints are corrected there
$end = log_end($node);
$node->safe_psql('postgres', "$wrong; SET ptsort.parallel_workers = 0; SET ptsort_test.spill_entries = 0; "
	  . "SET maintenance_work_mem = '64MB'; CREATE INDEX t_word ON t (word); DROP INDEX t_word");
is_deeply([ builds_since($node, $end) ], ['t_word: 1'], 'in memory: built by us');
is(started_over($node, $end), '', 'in memory: nothing starts over');

# A serial build that has gone far: its list of leaves is a temporary file by then,
# which must not be left open (a warning in the log).
$end = log_end($node);
$node->safe_psql('postgres', q{
SET ptsort.parallel_workers = 0; SET ptsort.debug_wrong_hints = 19997;
CREATE INDEX t_late ON t (word) WITH (fillfactor = 10); DROP INDEX t_late});
is(started_over($node, $end), 't_late', 'far into a serial build');
unlike(slurp_file($node->logfile, $end), qr/leak/, 'far into a serial build: nothing is left open');

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
	is_deeply([ builds_since($node, $end) ], ["$index: $participants"], "$index: built by us");
	is(started_over($node, $end), $index, "$index: it started over");
}
check_nothing_left($node, 'all kinds', $segments);
my $names = 't_again t_concurrently t_parallel t_second t_serial t_unique u_unlogged';
is($node->safe_psql('postgres', $sound), $names, 'all kinds: sound, and no larger than once built');

# Errors: of the second attempt, and a duplicate, whichever attempt meets it
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

# Words are learned from the few tuples of these tests, and without ICU's tables,
# which would prove them.
my $learn = 'SET ptsort_test.learn_tuples = 0; SET ptsort.use_collation_tables = off;';

# A sample of text that is not all ASCII, in order or not, makes nobody optimistic
# where nothing is proved: the rows with a sharp s, which is ss but has not been
# learned as that, come after it.
my $sharp = $learn . q{
SET ptsort.parallel_workers = 1;
CREATE TABLE sharp (k text COLLATE "en-x-icu");
INSERT INTO sharp SELECT CASE i % 97 WHEN 0 THEN 'caf' || U&'\\00E9' || i ELSE 'gros' || md5(i::text) END FROM generate_series(1, 20000) i;
INSERT INTO sharp SELECT 'gro' || s || 'zz' || i FROM generate_series(1, 10) i, unnest(ARRAY[U&'\\00DF', 'ss']) s};
my $icu = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_collation WHERE collname = 'en-x-icu'});
SKIP:
{
	skip('no ICU', 3) unless $icu;
	$end = log_end($node);
	$node->safe_psql('postgres', "$sharp; CREATE INDEX sharp_k ON sharp (k); SELECT bt_index_parent_check('sharp_k', true, true); DROP TABLE sharp");
	my $log = slurp_file($node->logfile, $end);
	is_deeply([ builds_since($node, $end) ], ['sharp_k: 2'], 'sharp s: built by us');
	like($log, qr/built index "sharp_k": .*wrong hints: [1-9]/, 'sharp s: hints are wrong');
	is(started_over($node, $end), '', 'sharp s: nothing starts over');
}

# The one wrong hint at the edge of a slice: in Czech "ch" comes after
# "h", so the last row comes after those with d; and with ss for a sharp s, the
# last three are equal, and the one between two live ones is dead.  They come
# when the key has learned, because memory is full then.  One run is left, and
# its slices begin with one of its frames, of 128 rows.
my $edge = $learn . q{
SET ptsort.parallel_workers = 1; SET ptsort_test.leader_participates = off; SET ptsort_test.spill_entries = 4500; SET ptsort_test.merge_order = 2;
CREATE TABLE edge (id int, k text COLLATE "C");
INSERT INTO edge SELECT i, lpad(i::text, 6, '0') FROM generate_series(1, 5000) i ORDER BY hashint4(i);
INSERT INTO edge SELECT 0, unnest(%s);
DO $$
BEGIN
	DELETE FROM edge WHERE k = U&'css\\00DF';
	FOR i IN 1..5000 / 128 LOOP
		BEGIN
			EXECUTE format('CREATE %s INDEX edge_%%s ON edge ((CASE WHEN id = 0 THEN k WHEN id < %%s THEN ''b'' || k ELSE ''d'' || k END) COLLATE %s)', i, %s);
			PERFORM bt_index_parent_check('edge_' || i, true, true);
			EXECUTE 'DROP INDEX edge_' || i;
		EXCEPTION WHEN unique_violation THEN
			RAISE WARNING 'duplicate';
		END;
	END LOOP;
END $$;
DROP TABLE edge};
my $czech = $node->safe_psql('postgres',
	q{SELECT quote_ident(collname) FROM pg_collation WHERE collname = 'cs-x-icu'});
SKIP:
{
	skip('no Czech collation', 2) if $czech eq '';
	$end = log_end($node);
	my ($out, $err) = try_sql($node, sprintf($edge, "ARRAY['chzz']", '', $czech, 'i * 128'));
	is($err, '', 'edge of a slice: all sound');
	is(scalar(split / /, started_over($node, $end)), 39, 'edge of a slice: all started over');
}
SKIP:
{
	skip('no ICU', 2)
	  if $node->safe_psql('postgres', q{SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i')}) eq 'f';
	$node->safe_psql('postgres',
		q{CREATE COLLATION level1 (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false)});
	$end = log_end($node);
	my ($out, $err) = try_sql($node,
		sprintf($edge, q{ARRAY['cssss', U&'css\\00DF', U&'c\\00DFss']}, 'UNIQUE', 'level1', 'i * 128'));
	is(scalar(() = $err =~ /duplicate$/mg), 39, 'equal keys in two slices: all duplicates found');
	isnt(started_over($node, $end), '', 'equal keys in two slices: some started over');
}
check_nothing_left($node, 'edge of a slice', $segments);

# A worker that has found no slice left hears only after that of a wrong hint in the
# slice that the leader still reads.
SKIP:
{
	skip('no Czech collation', 3) if $czech eq '';
	my $turns = new_node('turns', conf => "$conf\nshared_preload_libraries = 'ptsort, ptsort_test'\n");
	$turns->safe_psql('postgres', sprintf(q{
CREATE TABLE edge (k text COLLATE %s);
INSERT INTO edge SELECT CASE WHEN i < 500 THEN 'b' ELSE 'd' END || lpad(i::text, 6, '0')
FROM generate_series(1, 5000) i ORDER BY hashint4(i);
INSERT INTO edge VALUES ('chzz')}, $czech));
	my $late = log_end($turns);
	my ($out, $err) = try_sql($turns, $learn . q{
SET ptsort.parallel_workers = 1; SET ptsort_test.leader_participates = off;
SET ptsort_test.spill_entries = 4500; SET ptsort_test.slices = 2;
SET ptsort_test.turns = 'build: before load:worker after merge: begin:leader, merge: begin:leader after build: after load:worker, build: after load:worker after build: after load:leader';
CREATE INDEX edge_k ON edge (k);
SELECT bt_index_parent_check('edge_k', true, true)});
	is($err, '', 'late news of a wrong hint: no error');
	is_deeply([ builds_since($turns, $late) ], ['edge_k: 1'], 'late news of a wrong hint: built by us');
	is(started_over($turns, $late), 'edge_k', 'late news of a wrong hint: it started over');
	$turns->stop;
}

# A crash after the commit, then a replica
$names =~ s/ t_unique//;
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $sound), $names, 'crash: sound after recovery');
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$end = log_end($node);
$node->safe_psql('postgres', "$wrong; CREATE INDEX t_replica ON t (word, few); REINDEX INDEX t_parallel");
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

# wal_level = minimal: neither index nor its being emptied is logged
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
