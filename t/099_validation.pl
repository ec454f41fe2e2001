# Validation of indexes that CONCURRENTLY built: rows that change between the
# build's scan and validation, and during validation.  The index has an entry for
# each row, and none twice; and ptsort, not the server, inserted the missing rows.
#
# Depends on the version: visibility maps, snapshots, inserts into indexes
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Processes share the counters of points.  The test changes files of the server,
# which must have no checksums.
my $node = new_node('main', server_major() >= 18 ? (init => { extra => ['--no-data-checksums'] }) : (),
	conf => "shared_preload_libraries = 'ptsort, ptsort_test'\nmax_prepared_transactions = 5\nautovacuum = off\n");
create_sound($node);
$node->safe_psql('postgres', q{
CREATE EXTENSION ptsort_test;
CREATE FUNCTION twice(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 2 * a; END'});

# Creates the table t with 5000 rows.
sub fill
{
	my ($kind, @then) = @_;
	$node->safe_psql('postgres', qq{
DROP TABLE IF EXISTS t;
CREATE $kind TABLE t (id int, a int, n int, word text, p point) WITH (fillfactor = 80);
INSERT INTO t SELECT i, i, 0, md5(i::text), point(i % 71, i) FROM generate_series(1, 5000) i});
	$node->safe_psql('postgres', $_) foreach @then;
}

# The last build's validation
my $report = q{SELECT format('%s of %s pages, %s rows, %s inserted', validated_pages, table_pages, validated_rows, inserted_rows)
FROM ptsort_last_build() WHERE participant IS NULL};

# Runs a statement that builds an index.  The test runs $opt{before} when the leader
# has not begun to build.  After the build's scan, before other
# sessions know that they must insert into the index, the leader waits, and the
# test runs $opt{between}.  Then processes pause at the points in $opt{fault}.  When
# processes are at all points in $opt{at}, the test runs $opt{during}.  These options
# are SQL or functions.  Returns the report and psql's errors.
sub build
{
	my ($name, $sql, %opt) = @_;
	my $workers = $opt{workers} // 0;
	my $fault = join ', ', $opt{before} ? 'ambuild: begin:1:pause' : (), $opt{fault} // 'nowhere';
	my $turns = join ', ', 'ambuild: end:leader after go', @{ $opt{turns} || [] };
	my $change = sub { ref $_[0] ? $_[0]->() : $node->safe_psql('postgres', $_[0]) };
	my $pause;

	# this also forgets which points earlier builds passed
	$node->safe_psql('postgres', q{SET ptsort_test.fault = 'nowhere'});
	$pause = pause_points($node) if $opt{before};
	my $session = start_psql($node, "SET ptsort.parallel_workers = $workers", "SET ptsort_test.turns = '$turns'",
		"SET ptsort_test.fault = '$fault'", $sql, $report);
	if ($pause)
	{
		wait_for_point($node, 'ambuild: begin') or fail("$name: no begin of the build");
		$change->($opt{before});
		end_session($pause);
		undef $pause;
	}
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM ptsort_test_points() WHERE point = 'ambuild: end' AND leader > 0})
	  or fail("$name: no end of the build");
	$change->($opt{between});
	$pause = pause_points($node) if $opt{fault};
	$node->safe_psql('postgres', q{SELECT ptsort_test_point('go')});
	if ($pause)
	{
		wait_for_point($node, $_) or fail("$name: no process at '$_'") foreach @{ $opt{at} };
		$change->($opt{during}) if $opt{during};
		end_session($pause);
	}
	$session->{run}->finish;
	return ($session->{out} =~ s/\n$//r, error_of($session->{err}));
}

# Checks the index t_i, which has the column or expression $key and this predicate.
sub check_index
{
	my ($name, $key, $predicate) = @_;
	$predicate //= 'true';
	my $sum = 'SELECT count(*), sum(hashtext(s::text)) FROM';
	my $rows = $node->safe_psql('postgres', "$sum t s WHERE $predicate");
	is($node->safe_psql('postgres', qq{
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
$sum (SELECT * FROM t WHERE $predicate ORDER BY $key OFFSET 0) s}), $rows, "$name: the index has each row once");
	is($node->safe_psql('postgres', q{
SELECT bt_index_parent_check('t_i', true, true);
SELECT indisvalid, problems, details FROM pg_index, ptsort_check('t_i', true) WHERE indexrelid = 't_i'::regclass}),
		"\nt|0|{}", "$name: the index is sound");
}

# 150 of these row versions need entries of their own.  The new rows are as wide as
# the others, so that they are on pages of their own.
my $between = q{
INSERT INTO t SELECT i, i, 0, md5(i::text), point(i % 71, i) FROM generate_series(10001, 10100) i;
UPDATE t SET a = -a, p = point(-a, 1) WHERE id BETWEEN 101 AND 150;
UPDATE t SET n = 1 WHERE id BETWEEN 301 AND 308;
UPDATE t SET n = n + 1 WHERE id BETWEEN 301 AND 304;
DELETE FROM t WHERE id BETWEEN 201 AND 230;
BEGIN; INSERT INTO t SELECT i, i, 0, md5(i::text) FROM generate_series(1, 50) i; ROLLBACK;
BEGIN; SELECT count(*) FROM (SELECT FROM t WHERE id BETWEEN 601 AND 605 FOR UPDATE) s; SAVEPOINT a;
UPDATE t SET a = -a WHERE id BETWEEN 611 AND 615; ROLLBACK TO a; COMMIT};

# These sessions know the index.  Some of the rows are those that validation must
# insert.
my $during = q{
INSERT INTO t SELECT i, i % 5000, 0, 'late', point(i % 71, i) FROM generate_series(10101, 10150) i;
UPDATE t SET a = -a, p = point(-a, 2) WHERE id BETWEEN 401 AND 420 OR id BETWEEN 10021 AND 10030;
UPDATE t SET n = n + 1 WHERE id BETWEEN 301 AND 305 OR id BETWEEN 10001 AND 10010 OR id BETWEEN 101 AND 105;
DELETE FROM t WHERE id BETWEEN 501 AND 510 OR id BETWEEN 10041 AND 10045;
BEGIN; INSERT INTO t SELECT i, i, 0, 'prepared' FROM generate_series(20001, 20005) i; PREPARE TRANSACTION 'p';
COMMIT PREPARED 'p'};

# Each point, with each kind of table
my $create = 'CREATE INDEX CONCURRENTLY t_i ON t (a)';
my $plain = 'CREATE INDEX t_i ON t (a)';
my $rebuild = 'REINDEX INDEX CONCURRENTLY t_i';
foreach my $case (
	[ 'validation: planned', 0, '', 'VACUUM t' ],
	[ 'validate: begin', 1, '' ],
	[ 'validate: table read', 0, 'UNLOGGED', 'VACUUM t' ],
	[ 'validate: index', 1, 'UNLOGGED' ],
	[ 'validate: row inserted', 0, '', 'VACUUM t' ],
	[ 'validate: row inserted', 1, '', $plain ])
{
	my ($point, $workers, $kind, @then) = @$case;
	my $name = join ', ', $point, "workers: $workers", grep { $_ } $kind, @then;
	my $is_new = "@then" ne $plain;
	my $vacuumed = "@then" eq 'VACUUM t';
	fill($kind, @then);
	my ($out, $err) = build($name, $is_new ? $create : $rebuild, workers => $workers, between => $between, fault => "$point:1:pause",
		at => [$point], during => $during);
	note("== $name: $out");
	is($err, '', "$name: no error");
	my ($read, $pages, $rows, $inserted) = $out =~ /(\d+)/g;
	is($inserted, 150, "$name: validation inserted what the build did not see");
	if ($vacuumed && server_major() < 19)
	{
		cmp_ok($read, '<', $pages / 4, "$name: validation reads changed pages only");
		cmp_ok($rows, '<', 5070 / 4, '... and compares their rows');
	}
	is($rows, 5070, "$name: validation compares all rows") if $kind && !$vacuumed;
	check_index($name, 'a');
}

# Pages without a bit of the map are read, but not compared, unless they changed.
fill('', 'UPDATE t SET n = 1 WHERE id % 10 = 0', 'SELECT count(*) FROM t');
{
	my ($out, $err) = build('no map', $create, between => 'UPDATE t SET a = -a WHERE id = 1');
	my ($read, $pages, $rows, $inserted) = $out =~ /(\d+)/g;
	is($read, $pages, 'no map: validation reads all pages');
	cmp_ok($rows, '<', 200, '... but compares only the rows of changed pages') if server_major() < 19;
	is($inserted, 1, '... and inserts the row');
	check_index('no map', 'a');
}

# Transactions that changed pages before the build's scan, and commit after it: then
# the pages do not change any more.
foreach my $kind ('', 'UNLOGGED')
{
	my $name = "open transactions, $kind table";
	fill($kind, 'VACUUM t');
	my @writers = map { $node->background_psql('postgres') } (1 .. 2);
	my ($out, $err) = build($name, $create, workers => 1,
		before => sub {
			$writers[0]->query_safe(q{BEGIN; INSERT INTO t SELECT i, i, 0, md5(i::text) FROM generate_series(10001, 10100) i;
UPDATE t SET a = -a WHERE id BETWEEN 101 AND 150});
			$writers[1]->query_safe('BEGIN; UPDATE t SET a = -a WHERE id BETWEEN 1001 AND 1050; DELETE FROM t WHERE id BETWEEN 1051 AND 1060');
			$node->safe_psql('postgres', q{BEGIN; UPDATE t SET n = 1, a = -a WHERE id = 2001; UPDATE t SET n = 1 WHERE id = 2002; PREPARE TRANSACTION 'q'});
		},
		between => sub {
			$writers[0]->query_safe('COMMIT');
			$writers[1]->query_safe('ROLLBACK');
			$node->safe_psql('postgres', q{COMMIT PREPARED 'q'});
		});
	$_->quit foreach @writers;
	is($err, '', "$name: no error");
	like($out, qr/, 151 inserted$/, "$name: the rows that the build's snapshot did not see");
	check_index($name, 'a');
}

# A worker that starts after the others read the table: they leave it no page.
fill('UNLOGGED');
{
	my ($out, $err) = build('late worker', $create, workers => 1, between => $between,
		fault => 'build: before scan:1:pause:worker, validate: index:1:pause:leader',
		at => [ 'build: before scan', 'validate: index' ], during => $during);
	like($out, qr/ 5070 rows, 150 inserted$/, 'late worker: the leader read the whole table');
	check_index('late worker', 'a');
}

# Splits move entries while validation reads the index: a page that a process did
# not read, and with a worker, pages that the leader already read.
foreach my $workers (0, 1)
{
	my $name = "split, $workers workers";
	fill('UNLOGGED');
	my $size = q{SELECT pg_relation_size('t_i') / 8192};
	my $split = sub {
		$node->poll_query_until('postgres', q{
SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'ParallelCreateIndexScan' AND backend_type = 'client backend'})
		  or fail('the leader does not wait') if $workers;
		my $before = $node->safe_psql('postgres', $size);
		$node->safe_psql('postgres', q{INSERT INTO t SELECT i + 30000, i, 0, 'split' FROM generate_series(1, 5000) i;
INSERT INTO t SELECT i + 40000, 2000, 0, 'split' FROM generate_series(1, 1000) i});
		cmp_ok($node->safe_psql('postgres', $size), '>', 1.5 * $before, "$name: the index grew");
	};
	my ($out, $err) = build($name, $create, workers => $workers, between => $between,
		$workers ? (turns => ['validate: table read:leader after validate: table read:worker']) : (),
		fault => 'validate: index:1:pause' . ($workers ? ':worker' : ''), at => ['validate: index'], during => $split);
	like($out, qr/ 5070 rows, 150 inserted$/, "$name: no moved entry is taken for missing");
	check_index($name, 'a');
}

# A map with bits for pages that say themselves that they are not all-visible
fill('', 'VACUUM t', 'UPDATE t SET n = 1 WHERE id % 10 = 0', 'CHECKPOINT');
{
	my $map = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('t') || '_vm'});
	$node->stop;
	open my $file, '+<:raw', $map or die "$map: $!";
	seek $file, 24, 0;
	print {$file} "\x55" x (8192 - 24);
	close $file or die "$map: $!";
	$node->start;
	my ($out, $err) = build('wrong map', $create, between => $between,
		fault => 'validate: begin:1:pause', at => ['validate: begin'], during => $during);
	my ($read, $pages, $rows, $inserted) = $out =~ /(\d+)/g;
	is($read, $pages, 'wrong map: validation reads all pages');
	is($inserted, 150, 'wrong map: no row is missing');
	check_index('wrong map', 'a');
}

# A partial index on an expression: the predicate excludes 40 of the new rows, and
# the HOT updates.
fill('', 'VACUUM t');
{
	my ($out, $err) = build('partial', 'CREATE INDEX CONCURRENTLY t_i ON t (twice(a)) WHERE n < 1', workers => 1,
		between => "$between; UPDATE t SET n = 1 WHERE id BETWEEN 10061 AND 10100",
		fault => 'validate: row inserted:2:pause', at => ['validate: row inserted'], during => $during);
	is($err, '', 'partial: no error');
	like($out, qr/, 110 inserted$/, 'partial: only rows of the predicate');
	check_index('partial', 'twice(a)', 'n < 1');
}

# Validation finds a duplicate key, as the server's would.
fill('', 'VACUUM t');
{
	my $end = log_end($node);
	my ($out, $err) = build('duplicate', 'CREATE UNIQUE INDEX CONCURRENTLY t_i ON t (id)', between => q{INSERT INTO t VALUES (42, 1)});
	is($err, qq{ERROR:  23505: duplicate key value violates unique constraint "t_i"\nDETAIL:  Key (id)=(42) already exists.},
		'duplicate: the error');
	is_deeply([ builds_since($node, $end) ], ['t_i: 1'], 'duplicate: ptsort built the index');
	unlike(slurp_file($node->logfile, $end), qr/ptsort: validated index/, 'duplicate: validation failed');
	is($node->safe_psql('postgres', q{SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 't_i'::regclass}), 't|f', 'duplicate: the index is invalid');
	$node->safe_psql('postgres', q{DELETE FROM t WHERE a = 1 AND id = 42; REINDEX INDEX CONCURRENTLY t_i});
	check_index('duplicate', 'id');

	# an updated row is no duplicate of its old version
	fill('', 'VACUUM t');
	($out, $err) = build('no duplicate', 'CREATE UNIQUE INDEX CONCURRENTLY t_i ON t (id)', between => q{UPDATE t SET id = id WHERE id = 7; UPDATE t SET id = -id WHERE id = 8; INSERT INTO t VALUES (8, 8)},
		fault => 'validate: begin:1:pause', at => ['validate: begin'], during => q{UPDATE t SET n = 5 WHERE id = 8; DELETE FROM t WHERE id = -8; INSERT INTO t VALUES (-8, 8)});
	is($err, '', 'no duplicate: no error');
	like($out, qr/, 2 inserted$/, 'no duplicate: two versions with another key');
	check_index('no duplicate', 'id');
}

# GiST
foreach my $kind ('', 'UNLOGGED')
{
	fill($kind, 'VACUUM t');
	my ($out, $err) = build("GiST, $kind", 'CREATE INDEX CONCURRENTLY t_i ON t USING gist (p)', workers => 1, between => $between,
		fault => 'validate: index:1:pause', at => ['validate: index'],
		during => "$during; INSERT INTO t SELECT i, i, 0, 'split', point(i % 71, i) FROM generate_series(1, 3000) i");
	is($err, '', "GiST, $kind table: no error");
	like($out, qr/, 150 inserted$/, "GiST, $kind table: validation inserted what the build did not see");
	my $sum = q{SELECT count(*), sum(hashtext(t::text)) FROM t WHERE p <@ box '(-10000,-10000,100000,100000)'};
	my $rows = $node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $sum");
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_bitmapscan = off; $sum"), $rows, "GiST, $kind table: the index has each row once");
	$node->safe_psql('postgres', q{SELECT sound('t_i')});
}

# Other sessions see a validation, and can limit it: a replica that is not connected
# stops it until the limit ends.  Locks change each page, so that validation compares
# all rows, and reaches a point at which it may wait after it inserted some.
fill('');
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET ptsort.lag_replicas = 'nobody'});
{
	my $lift;
	my ($out, $err) = build('limit', $create, workers => 1, between => "SELECT count(*) FROM (SELECT FROM t FOR UPDATE) s; $between", fault => 'validate: table read:1:pause:leader',
		at => ['validate: table read'], during => sub {
			is($node->safe_psql('postgres', q{SELECT kind, phase, relation FROM ptsort_progress()}),
				'validation|scan|public.t_i', 'limit: ptsort_progress() shows the validation');
			is($node->safe_psql('postgres', q{SELECT ptsort_set_limits(pid, max_replica_lag => '1MB') FROM ptsort_progress()}),
				't', 'limit: another session sets it');
			$lift = start_psql($node, q{DO $$BEGIN
WHILE (SELECT waiting_for IS NULL FROM ptsort_progress()) LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END$$},
				q{SELECT waiting_for FROM ptsort_progress()},
				q{SELECT ptsort_set_limits(pid, max_replica_lag => '0') FROM ptsort_progress()});
		});
	$lift->{run}->finish;
	is($lift->{out}, qq{max_replica_lag: replica "nobody" is not connected\nt\n}, 'limit: validation waits, and goes on when the limit ends');
	like($out, qr/, 150 inserted$/, 'limit: validation inserted what the build did not see');
	check_index('limit', 'a');
}

$node->stop;
done_testing();
