# The scan of the table, for tables in every state that a page can have.
# Indexes that ptsort builds, with and without workers, hold exactly the
# entries (key and ctid, of dead tuples too) of the server's builds.  The
# scan's other results also equal the server's: the number of rows, broken HOT
# chains, warnings.
#
# Depends on the version: ptsort reads pages as the server does
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'main', conf => q{
shared_buffers = 1MB
});
my $last_found;

# The contents of an index: the number of entries, and the sum of their hashes.
# The hash of an entry covers the key and the entry's row.  amcheck checks the
# order.
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION pageinspect;
CREATE EXTENSION ptsort_test;
CREATE FUNCTION entries(index text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', item.data, nulls, tid), 0)::numeric))
	FROM generate_series(1, pg_relation_size(index::regclass) / current_setting('block_size')::int - 1) block,
		LATERAL bt_page_stats(index, block::int) page,
		LATERAL bt_page_items(index, block::int) item,
		LATERAL unnest(coalesce(tids, ARRAY[htid])) tid
	WHERE page.type = 'l' AND (page.btpo_next = 0 OR item.itemoffset > 1)
$$;
CREATE FUNCTION found(index text) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s, rows: %s and %s, broken: %s', entries(index), h.reltuples, i.reltuples, indcheckxmin)
	FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_class h ON h.oid = indrelid
	WHERE indexrelid = index::regclass
$$;
});

# Returns the number of pages that the scans in these messages read, and the
# number of pages that the scans left to the server's rules.  Both are sums
# over all participants.  Returns "server" if the server did the scan.
sub pages_in
{
	my ($messages) = @_;
	my ($pages, $server) = (0, 0);

	return 'server' if $messages =~ /ptsort: scanning table/;
	while ($messages =~ /ptsort: scanned (\d+) pages of table "\w+", (\d+) of/g)
	{
		$pages += $1;
		$server += $2;
	}
	return "$pages/$server";
}

# Returns warnings, in sorted order, without psql's prefix.
sub warnings_in
{
	my ($messages) = @_;
	return join "\n", sort map { s/^psql:\S+ //r } grep { /WARNING/ } split /\n/, $messages;
}

# The number of participants that built an index.
sub participants_in
{
	my ($messages) = @_;
	return $messages =~ /ptsort: built index "\w+": (\d+) participant/ ? $1 : 'none';
}

# The ways to build: by the server, and by ptsort without and with workers.
# The scan judges a page the same way for every index.  So builds with workers
# are only for a test's first and last index, and builds by workers alone are
# only for the first index.
my $server = { name => 'server', set => 'ptsort.enable = off' };
my $serial = { name => 'serial', participants => 1, set => 'ptsort.parallel_workers = 0' };
my $parallel = { name => '2 workers', participants => 3, set => 'ptsort.parallel_workers = 2' };
my $workers = {
	name => 'only workers',
	participants => 2,
	set => 'ptsort.parallel_workers = 2; SET ptsort_test.leader_participates = off'
};
my $server_pages = 'SET ptsort_test.server_pages = on';

# Returns a script of one build; the script also prints what the build found.
sub build_script
{
	my ($build, $table, $create, %opt) = @_;
	return qq{
\\echo =build=
\\warn =build=
RESET ALL;
SET ptsort.log_build = off;
SET client_min_messages = debug2;
SET $build->{set};
$build->{also};
$create;
RESET ALL;
SET client_min_messages = warning;
SELECT found('i'), pg_relation_size('$table') / current_setting('block_size')::int;
SELECT 'sound' FROM bt_index_parent_check('i', true, true);
} . ($opt{begin} ? "ROLLBACK TO build;\n" : "DROP INDEX i;\n");
}

# Builds indexes by the server and by ptsort in one session, and compares the
# indexes.  Options:
#
#	kind          '', UNIQUE or CONCURRENTLY
#	begin         begin a transaction, to be rolled back, for all builds
#	set           settings for ptsort's builds
#	server_pages  pattern for the number of pages left to the server's scan
#	              (default: none), or undef if the server does the whole scan
#
# In two more builds of the first index, the server judges all pages; the index
# must be the same as in the server's build.
sub compare
{
	my ($name, $table, $indexes, %opt) = @_;
	my %default = (kind => '', set => '', server_pages => '0');
	my ($script, @builds) = ('');

	%opt = (%default, %opt);
	my $create = {
		'' => 'CREATE INDEX',
		'UNIQUE' => 'CREATE UNIQUE INDEX',
		'CONCURRENTLY' => 'CREATE INDEX CONCURRENTLY'
	}->{ $opt{kind} };
	foreach my $what (@$indexes)
	{
		my $first = $what eq $indexes->[0];
		my $last = $what eq $indexes->[-1];
		my @by = map { { %$_, also => $opt{set}, server_pages => $opt{server_pages} } }
		  ($serial, ($first || $last) ? $parallel : (), $first ? $workers : ());
		push @by, map { {
			%$_, name => "$_->{name}, the server's rules",
			also => "$opt{set}; $server_pages",
			server_pages => '[1-9]\d*' } } $serial, $parallel
		  if $first && $opt{kind} ne 'CONCURRENTLY';
		foreach my $build ({ %$server, also => '' }, @by)
		{
			$script .= build_script($build, $table, "$create i ON $table $what", %opt);
			push @builds, { %$build, what => $what };
		}
	}
	$script = "$opt{begin}\nSAVEPOINT build;\n$script" if $opt{begin};

	my ($ret, $out, $err) = $node->psql('postgres', "SET client_min_messages = warning;\n$script");
	my (undef, @out) = split /^=build=\n/m, $out;
	my (undef, @err) = split /^=build=\n/m, $err;
	my ($by_server, $server_warnings);
	foreach my $build (@builds)
	{
		my ($found, $pages, $rest) = (shift(@out) // '') =~ /\A(.*)\|(\d+)\n(.*)\n*\z/;
		my $messages = shift(@err) // '';

		if ($build->{name} eq 'server')
		{
			($by_server, $server_warnings) = ($found, warnings_in($messages));
			next;
		}
		my $scanned = pages_in($messages);
		my $expected = defined $build->{server_pages} ?
		  qr{^$pages/$build->{server_pages}$} : qr/^server$/;
		is_deeply(
			[
				$found, $rest, warnings_in($messages), participants_in($messages),
				$scanned =~ $expected ? 'pages' : "$scanned not $expected"
			],
			[ $by_server, 'sound', $server_warnings, $build->{participants}, 'pages' ],
			"$name, $opt{kind} $build->{what}, $build->{name}") or diag($messages);
		$last_found = $found;
	}
}

# Starts a session with an open transaction.
sub session
{
	my ($begin) = @_;
	my $session = $node->background_psql('postgres');
	$session->query_safe($begin);
	return $session;
}

# Starts a session that may still see all current rows.
sub old_snapshot
{
	return session('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
}

# Creates a table with room for HOT updates.
sub fill_table
{
	my ($name, %opt) = @_;
	my $rows = $opt{rows} // 3000;
	$node->safe_psql(
		'postgres', qq{
DROP TABLE IF EXISTS $name;
CREATE TABLE $name (id int, a int8, b text, c int2) WITH (fillfactor = 60);
INSERT INTO $name SELECT i, i * 7 % 1000, 'b ' || i, CASE WHEN i % 3 > 0 THEN i END FROM generate_series(1, $rows) i;
});
}

# Options for builds while other sessions have locks.  The locks prevent
# DROP INDEX, so a rollback removes the index.
my %undone = (begin => 'BEGIN;');

my @all = ('(id)', '(b, c)', '(c, a)', '((id + a)) WHERE a > 100');


# How tuples become dead, recently dead, and members of HOT chains.  The
# updates change only column a, so they can break HOT chains for an index on a,
# but not for an index on other columns.
foreach my $old (0, 1)
{
	foreach my $vacuum ('', 'VACUUM', 'VACUUM (FREEZE)')
	{
		my $name = ($old ? 'old snapshot' : 'no snapshot') . ($vacuum && ", $vacuum");

		fill_table('t');
		$node->safe_psql('postgres', 'VACUUM t') if $old;
		my $session = $old ? old_snapshot() : undef;
		$node->safe_psql('postgres', $_) foreach (
			'DELETE FROM t WHERE id % 10 = 0',
			'UPDATE t SET a = -a WHERE id % 10 = 1',
			'UPDATE t SET a = a - 1 WHERE id % 20 = 1',
			'BEGIN; UPDATE t SET a = 0; DELETE FROM t WHERE id % 2 = 0; INSERT INTO t SELECT i FROM generate_series(1, 500) i; ROLLBACK',
			'BEGIN; INSERT INTO t VALUES (-1); SAVEPOINT s; INSERT INTO t VALUES (-2); UPDATE t SET a = 5 WHERE id = 2; ROLLBACK TO s; UPDATE t SET a = 6 WHERE id = 3; COMMIT',
			"$vacuum " . ($vacuum && 't'));
		compare($name, 't', \@all);
		like($last_found, $old ? qr/broken: t/ : qr/broken: f/, "$name: HOT chains");
		compare($name, 't', ['(id)', '(b)'], kind => 'UNIQUE') unless $old;
		end_session($session) if $session;
		compare($name, 't', \@all, kind => 'CONCURRENTLY');
	}
}

# Pruning redirects line pointers: the table has no index, and each row has
# several updates.
fill_table('t');
$node->safe_psql('postgres', "UPDATE t SET a = a + 1 WHERE id % 3 = 0; VACUUM t") foreach (1 .. 3);
cmp_ok(
	$node->safe_psql(
		'postgres', q{SELECT count(*) FROM heap_page_items(get_raw_page('t', 0)) WHERE lp_flags = 2}),
	'>', 10, 'redirected: the page has redirected line pointers');
compare('redirected', 't', \@all);

# The server has so few buffers that it synchronizes the scans: each scan
# begins in the middle of the table, at another scan's position.
compare('from the middle', 't', \@all,
	begin => 'BEGIN; SELECT FROM (SELECT b FROM t OFFSET 2500 LIMIT 1) q;');
compare('redirected', 't', \@all, kind => 'CONCURRENTLY');


# Locks on tuples: several transactions lock rows in share modes, some of these
# transactions end, and another transaction updates some of the locked rows.
fill_table('t');
$node->safe_psql('postgres', 'VACUUM t; ALTER TABLE t ADD PRIMARY KEY (id)');
my @lockers = map { session("BEGIN; SELECT sum(a) FROM (SELECT a FROM t WHERE id % 5 < 3 FOR $_) q") }
  ('KEY SHARE', 'KEY SHARE', 'SHARE');
my $updater = session('BEGIN; SELECT sum(a) FROM (SELECT a FROM t WHERE id % 5 = 0 FOR KEY SHARE) q');
end_session($_) foreach $lockers[2], $updater;
$node->safe_psql('postgres', 'UPDATE t SET a = a + 1 WHERE id % 5 = 1 AND id % 2 = 1');
$node->safe_psql('postgres', 'SELECT sum(a) FROM (SELECT a FROM t WHERE id % 7 = 0 FOR UPDATE SKIP LOCKED) q');
compare('locked', 't', \@all, %undone);
end_session($_) foreach @lockers[ 0, 1 ];
compare('once locked', 't', \@all);


# Changes by the transaction that builds the index, also in its
# subtransactions.
fill_table('t');
my $changes = q{
BEGIN;
INSERT INTO t SELECT i, i, 'own ' || i FROM generate_series(10001, 10500) i;
UPDATE t SET a = a + 1 WHERE id % 10 = 1;
DELETE FROM t WHERE id % 10 = 2;
SAVEPOINT one;
UPDATE t SET a = a + 1 WHERE id % 10 = 3;
DELETE FROM t WHERE id % 10 = 4;
SAVEPOINT two;
DELETE FROM t WHERE id % 10 = 5;
INSERT INTO t VALUES (20000);
UPDATE t SET a = a + 1 WHERE id % 20 = 1;
ROLLBACK TO two;
RELEASE one;
};
compare('own changes', 't', \@all, begin => $changes);
compare('own changes', 't', [ '(id)', '(b)' ], kind => 'UNIQUE', begin => $changes);
compare('own table', 'own', \@all, begin => 'BEGIN; CREATE TABLE own AS SELECT id, a, b, c FROM t;');


# Other transactions release their locks on the table and stay in progress.  A
# build warns about the rows of these transactions.  The build of a unique
# index waits until the transactions end, even if a change is a HOT update.
sub other_changes
{
	my ($changes) = @_;
	my $session = session("BEGIN; $changes");
	$session->query_safe("SELECT ptsort_test_release_lock('t')");
	return $session;
}

fill_table('t');
$node->safe_psql('postgres', 'CREATE INDEX t_a ON t (a); CREATE INDEX t_b ON t (b)');
my $other = other_changes(
	q{INSERT INTO t VALUES (-1, -1, 'b'), (-2, -2, 'b'); DELETE FROM t WHERE id IN (100, 2900); UPDATE t SET a = 0 WHERE id = 1500});
my $keep = old_snapshot();
compare('in progress', 't', [ '(id)', '(b)' ], server_pages => '[345]', %undone);
foreach my $workers (0, 3)
{
	foreach my $fate ('COMMIT', 'ROLLBACK')
	{
		my $label = "in progress, $fate, unique, $workers workers";
		my $log = log_end($node);
		my $build = $node->background_psql('postgres', on_error_stop => 0);
		$build->query_safe("SET log_min_messages = debug2; SET ptsort.parallel_workers = $workers");
		$build->query_until(qr/started/,
			"\\echo started\nCREATE UNIQUE INDEX i ON t (id);\n");
		ok( $node->poll_query_until(
				'postgres',
				"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
			"$label: waits");
		$other->query_safe($fate);
		$build->query('SELECT 1');    # not query_safe(), which fails on warnings
		is_deeply([ builds_since($node, $log) ], [ 'i: ' . ($workers + 1) ], "$label: built");
		like(pages_in(slurp_file($node->logfile, $log)), qr{^\d+/[1-5]$}, "$label: some pages by the server");
		is( $node->safe_psql(
				'postgres', q{
SET ptsort.enable = off;
CREATE UNIQUE INDEX s ON t (id);
SELECT entries('s') = entries('i'), 'sound' FROM bt_index_parent_check('i', true, true);
DROP INDEX i, s}),
			't|sound',
			"$label: the server's entries");
		end_session($_) foreach $build, $other;
		$node->safe_psql('postgres', 'DELETE FROM t WHERE id < 0');
		$other = other_changes(
			q{INSERT INTO t VALUES (-1, -1, 'b'); DELETE FROM t WHERE id = (SELECT min(id) FROM t WHERE id > 200); UPDATE t SET c = c + 1 WHERE id = 1501});
	}
}
end_session($_) foreach $other, $keep;


# Columns: dropped, added with and without a default, generated, repeated, of
# all lengths and alignments, compressed and out of line, all kinds of NULL.
$node->safe_psql(
	'postgres', q{
CREATE TABLE wide (d1 int, a char, b int8, d2 text, c int2, t1 text, n name, u uuid, f float4, t2 text,
	arr int[], iv interval, big text, g int GENERATED ALWAYS AS (c * 2) STORED, bit bit varying(20), last "char");
INSERT INTO wide (d1, a, b, d2, c, t1, n, u, f, t2, arr, iv, big, bit, last)
	SELECT i, chr(65 + i % 26), i * 1e10, repeat('d', i % 5), i % 30000, CASE WHEN i % 2 = 0 THEN 't' || i END,
	'n' || i, md5(i::text)::uuid, i / 3.0, repeat('x', i % 200), ARRAY[i, NULL, -i], make_interval(secs => i),
	CASE i % 500 WHEN 0 THEN (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 2 * i) j) WHEN 1 THEN repeat('big', 2000) ELSE '' END,
	NULL, 'l' FROM generate_series(1, 2000) i;
ALTER TABLE wide DROP COLUMN d1, DROP COLUMN d2;
ALTER TABLE wide ADD COLUMN added int, ADD COLUMN def int8 DEFAULT 42, ADD COLUMN deft text DEFAULT 'default', ADD COLUMN nown int;
INSERT INTO wide (a, b, c, n, t2, big, bit, last, added, def, nown)
	SELECT chr(97 + i % 26), i, i % 100, 'm' || i, 'y', 'z', B'101', 'm', i, CASE WHEN i % 2 = 0 THEN i END, i
	FROM generate_series(1, 2000) i;
INSERT INTO wide (b, deft) SELECT i, 'not ' || i FROM generate_series(1, 200) i;
});
my @columns = (
	'(a)', '(b)', '(c, b)', '(t1)', '(n, c)', '(u)', '(f, u)', '(t2, t1)', '(arr)', '(iv)', '(left(big, 20))',
	'(g)', '(bit)', '(last, a)', '(added)', '(def, b)', '(deft, def, added)', '(nown)', '(b, c, b, deft, deft)',
	'(c) INCLUDE (n, deft, b)', '(c, g, b) INCLUDE (last)', '(md5(big))', '(b) WHERE def = 42 AND nown IS NULL',
	'(lower(deft), def) WHERE t1 IS NOT NULL', '(def DESC NULLS LAST, deft COLLATE "C")');
compare('columns', 'wide', \@columns);
compare('columns', 'wide', [ @columns[ 2, 7, 16, 18, 22 ] ], kind => 'CONCURRENTLY');

$node->safe_psql(
	'postgres', q{
CREATE TABLE short AS SELECT i AS a, -i AS b FROM generate_series(1, 1000) i;
ALTER TABLE short ADD COLUMN c int DEFAULT 7, ADD COLUMN d int8;
INSERT INTO short SELECT i, i, i, i FROM generate_series(1, 1000) i;
});
compare('columns of fixed length', 'short', [ '(a)', '(c)', '(d, a)', '(b, c)' ]);


# While a concurrent build waits at its first row, rows move to later pages,
# and a scan sets the rows' hint bits.  The build's snapshot must not see these
# rows twice.
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION waiting(int) RETURNS int IMMUTABLE LANGUAGE plpgsql
	AS $$BEGIN IF $1 = 1 THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; RETURN $1; END$$;
CREATE TABLE moving AS SELECT i AS id FROM generate_series(1, 10000) i;
DELETE FROM moving WHERE id BETWEEN 5001 AND 9900;
VACUUM moving;
SELECT count(*) FROM moving;
});
my $pause = pause_points($node);
my $mover = start_psql($node, 'SET ptsort.parallel_workers = 0',
	'CREATE UNIQUE INDEX CONCURRENTLY moving_id ON moving (waiting(id))');
ok( $node->poll_query_until(
		'postgres', "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
	'moving rows: the build waits');
$node->safe_psql('postgres', 'UPDATE moving SET id = id WHERE id BETWEEN 10 AND 2000; SELECT count(*) FROM moving');
is( $node->safe_psql('postgres', 'SELECT count(*) > 1000 FROM moving WHERE id BETWEEN 10 AND 2000 AND ctid > (SELECT ctid FROM moving WHERE id = 5000)'),
	't', 'moving rows: they moved ahead');
end_session($pause);
$mover->{run}->finish;
is( $node->safe_psql('postgres',
		"SELECT indisvalid, bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'moving'::regclass"),
	't|', 'moving rows: the index has each once') or diag($mover->{err});


# In a serializable transaction, the server does the scan.
compare(
	'serializable', 't', ['(id)'],
	kind => 'CONCURRENTLY',
	set => 'SET default_transaction_isolation = serializable;',
	server_pages => undef);


# Builds while other sessions continuously insert, update (HOT or not), delete
# and lock rows.
fill_table('t');
$node->safe_psql('postgres', 'ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX t_c ON t (c)');
my $script = $node->basedir . '/changes.sql';
append_to_file(
	$script, q{
\set i random(1, 3000)
BEGIN;
UPDATE t SET a = a + 1 WHERE id BETWEEN :i AND :i + 2;
SAVEPOINT s;
UPDATE t SET c = -c WHERE id = :i + 3;
ROLLBACK TO s;
UPDATE t SET c = c + 1 WHERE id = :i + 4;
SELECT b FROM t WHERE id = :i + 5 FOR KEY SHARE;
DELETE FROM t WHERE id = :i + 6;
INSERT INTO t VALUES (:i + 6, 0, 'again ' || :i) ON CONFLICT DO NOTHING;
COMMIT;
SELECT count(*) FROM t WHERE a = :i;
});
my $bench = start_pgbench($node, $script, '-c', '3', '--max-tries', '100');
$node->poll_query_until('postgres',
	"SELECT n_tup_upd > 100 FROM pg_stat_user_tables WHERE relname = 't'");
foreach my $kind ('INDEX', 'INDEX CONCURRENTLY')
{
	foreach my $workers (0, 3)
	{
		my $log = log_end($node);
		my ($ret, $out, $err) = $node->psql(
			'postgres', qq{
SET client_min_messages = warning;
SET log_min_messages = debug2;
SET ptsort.parallel_workers = $workers;
} . join('', map { qq{
CREATE $kind i ON t (a, id);
CREATE $kind j ON t (b);
CREATE UNIQUE $kind k ON t (id, a);
SELECT 'sound ' || count(bt_index_parent_check(index, true, true)) FROM unnest('{i, j, k}'::regclass[]) index;
DROP INDEX i, j, k;
} } 1 .. 5));
		is("$err$out", join("\n", ('sound 3') x 5), "busy table, $kind, $workers workers: sound");
		is_deeply([ builds_since($node, $log) ],
			[ map { $_ . ': ' . ($workers + 1) } ('i', 'j', 'k') x 5 ],
			"busy table, $kind, $workers workers: built by ptsort");
		like(pages_in(slurp_file($node->logfile, $log)), qr{^\d+/0$}, "busy table, $kind, $workers workers: pages");
	}
}
ok(stop_pgbench($bench), 'busy table: pgbench ran all the time') or diag($bench->{err});

$node->stop;
done_testing();
