# Checks of sound indexes find nothing while other sessions write, vacuum and
# rebuild, on a primary and on its replica, also if old snapshots and prepared
# transactions hold back the horizon.  A check lets them go on: it waits for no
# session that has only a row lock, and no session waits for it.
#
#   PTSORT_CHECK_ROUNDS    rounds of checks (1000 for about 20 minutes)
#   PTSORT_CHECK_INDEXES   check only the indexes with such names
#
# Depends on the version: it reads pages as the server writes them
# Its servers are kept after a failure: the pages and the WAL show the cause
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PTSORT_CHECK_ROUNDS} || 8;
my $node = new_node('primary', init => { allows_streaming => 1 }, conf => "hot_standby_feedback = on\nmax_prepared_transactions = 4\n");
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION pageinspect;
CREATE TABLE t (id serial PRIMARY KEY, few int, word text COLLATE "en_US", n numeric) WITH (fillfactor = 80);
INSERT INTO t (few, word, n) SELECT g % 50, md5((g % 3000)::text), g FROM generate_series(1, 10000) g;
CREATE INDEX t_few ON t (few);
CREATE INDEX t_word ON t (word) WITH (fillfactor = 50);
CREATE UNIQUE INDEX t_n ON t (n);
CREATE INDEX t_part ON t ((few + id)) WHERE few < 25;
CREATE INDEX t_wide ON t (repeat(word, 20)) INCLUDE (few);
CREATE INDEX t_gist ON t USING gist (point(few, id), int4range(id, id + few)) INCLUDE (n);
CREATE INDEX t_gist_text ON t USING gist (to_tsvector('simple', word || ' ' || few)) WHERE few > 10;
CREATE INDEX t_gin ON t USING gin (to_tsvector('simple', word || ' ' || few), (ARRAY[few, id % 7, few * 3]))
	WITH (gin_pending_list_limit = 64);
CREATE INDEX t_gin_slow ON t USING gin (string_to_array(word, 'a')) WITH (fastupdate = off);
});
my @all = qw(t_pkey t_few t_word t_n t_part t_wide t_gist t_gist_text t_gin t_gin_slow);
my @indexes = grep { $_ =~ ($ENV{PTSORT_CHECK_INDEXES} || '.') } @all;

$node->backup('b');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'b', has_streaming => 1);
$replica->start;

# Starts a pgbench with a script of this text.
sub load
{
	my ($name, $script, @options) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name";
	append_to_file($file, $script);
	return start_pgbench($node, $file, @options);
}
my %load = (
	writers => load('writers', q{
BEGIN;
INSERT INTO t (few, word, n) SELECT random() * 50, md5((random() * 3000)::int::text), nextval('t_id_seq') + 1e6 FROM generate_series(1, 100);
COMMIT;
UPDATE t SET few = few + 1 WHERE id IN (SELECT id FROM t ORDER BY random() LIMIT 20);
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id > random() * (SELECT max(id) FROM t) ORDER BY id LIMIT 110);
BEGIN;
INSERT INTO t (few, word, n) SELECT 99, 'x' || g, - g - random() * 1e9 FROM generate_series(1, 50) g;
ROLLBACK;
}, '-c', 2),
	vacuum => load('vacuum', "VACUUM t;\n\\sleep 50 ms\n"),
	reindex => load('reindex', join '', map { "REINDEX INDEX CONCURRENTLY $_;\n\\sleep 300 ms\n" } qw(t_word t_gist t_gin)),
	cleanup => load('cleanup', "SELECT gin_clean_pending_list('t_gin');\n\\sleep 70 ms\n"),
	snapshot => load('snapshot', "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1;\n\\sleep 400 ms\nCOMMIT;\n\\sleep 100 ms\n"),
	prepared => load('prepared', q{
BEGIN;
INSERT INTO t (few, word, n) SELECT 98, 'p' || g, - g - random() * 1e9 FROM generate_series(1, 50) g;
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE few = 98 ORDER BY random() LIMIT 50);
PREPARE TRANSACTION 'p';
\sleep 200 ms
COMMIT PREPARED 'p';
\sleep 100 ms
}));

# Checks an index; returns its problems.  Checks again if REINDEX CONCURRENTLY
# replaced the index after the statement got its snapshot.
sub problems_of
{
	my ($server, $index, $workers) = @_;
	my ($ret, $out, $err);
	foreach my $try (1 .. 100)
	{
		($ret, $out, $err) = $server->psql('postgres',
			qq{SELECT index_name, details FROM ptsort_check('$index', true, $workers) WHERE problems > 0});
		return $out if $ret == 0;
		last if $err !~ /newer than the transaction's snapshot|could not open relation|not valid/;
	}
	return $err;
}

# Checks all indexes of the database, several at a time; returns the problems.
# Indexes that were replaced meanwhile have no problems.
sub problems_of_all
{
	my ($server, $workers) = @_;
	my ($ret, $out, $err) = $server->psql('postgres', qq{
SET ptsort_test.all_workers = off;
SELECT index, details FROM ptsort_check_all(true, workers => $workers) WHERE problems > 0});
	return $ret == 0 ? $out : $err;
}

# Checks every index on a server; returns the problems that it found.
sub problems
{
	my ($server, $workers) = @_;
	return join "\n", grep { $_ ne '' } map { problems_of($server, $_, $workers) } @indexes;
}

# Shows what a server has at the places of the problems: the index entry, the line
# pointers to which it points, and the pages of those that point to no row.  Shows
# amcheck's verdict, too.
sub evidence
{
	my ($server, $problems) = @_;
	my @shown = '== ' . $server->name;
	foreach my $found ($problems =~ /^(\w+\|\{.*)/mg)
	{
		my ($index) = $found =~ /^(\w+)/;
		push @shown, "$index by amcheck: " . ($server->psql('postgres', "SELECT bt_index_check('$index', true)"))[2];
		while ($found =~ /(entry without row|row without entry) at (\((\d+),(\d+)\))/g)
		{
			my $entry = "bt_page_items('$index', $3) WHERE itemoffset = $4";
			my $tids = $1 eq 'row without entry' ? "SELECT '$2'::tid AS tid" : "SELECT unnest(coalesce(tids, ARRAY[htid])) AS tid FROM $entry";
			my (undef, $out, $err) = $server->psql('postgres', ($1 eq 'row without entry' ? '' : "SELECT 'entry: ' || e FROM (SELECT * FROM $entry) e;") . qq{
WITH tids AS ($tids),
pages AS (
	SELECT block, format('(%s,%s)', block, lp)::tid AS place, lp_flags = 1 AND t_infomask2 & 32768 = 0 AS is_row,
		format('%s, %s bytes, xmin %s, xmax %s, ctid %s%s', (ARRAY['unused', 'normal', 'redirect', 'dead'])[lp_flags + 1], lp_len,
			t_xmin, t_xmax, t_ctid, CASE WHEN t_infomask2 & 32768 > 0 THEN ', heap-only' END) AS what
	FROM (SELECT DISTINCT (tid::text::point)[0]::int8 AS block FROM tids) b, heap_page_items(get_raw_page('t', block)) p),
found AS (SELECT tid, coalesce(is_row, false) AS is_row, coalesce(what, 'missing') AS what FROM tids LEFT JOIN pages ON place = tid)
SELECT format('line pointer %s: %s', tid, what) FROM found
UNION ALL SELECT format('on the page: %s: %s', place, what) FROM pages
WHERE block IN (SELECT (tid::text::point)[0]::int8 FROM found WHERE NOT is_row)});
			push @shown, "$index $2", $out, $err;
		}
	}
	return join "\n", @shown;
}

# Ends the test after a failure.  The servers remain as they are.
sub give_up
{
	my ($problems) = @_;
	diag(evidence($_, $problems)) foreach $node, $replica;
	stop_pgbench($_) foreach grep { $_->{run}->pumpable } values %load;
	die 'an index is not sound';
}

sub is_sound
{
	my ($problems, $name) = @_;
	is($problems, '', $name) or give_up($problems);
}

my $written = $node->safe_psql('postgres', 'SELECT last_value FROM t_id_seq');
foreach my $round (1 .. $rounds)
{
	is_sound(problems($node, $round % 3), "primary, round $round");
	is_sound(problems($replica, $round % 2), "replica, round $round");
	is_sound(problems_of_all($node, $round % 3), "primary, all indexes, round $round");
	is_sound(problems_of_all($replica, $round % 2), "replica, all indexes, round $round");
}
cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM t_id_seq'), '>', $written, 'there were writes');
# REINDEX waits for the prepared transaction, which pgbench may leave behind
ok(stop_pgbench($load{$_}), "$_ went on") or diag($load{$_}{err}) foreach grep({ $_ ne 'prepared' } sort keys %load), 'prepared';
$node->psql('postgres', "ROLLBACK PREPARED 'p'");

# The same indexes.  Now one of them lacks an entry, and has entries whose rows are
# gone.  A parallel VACUUM must not run meanwhile: its processes would number the
# indexes differently, and leave the entries of another index, too.
$node->safe_psql(
	'postgres', q{
BEGIN;
INSERT INTO t (few, word, n) SELECT 777, 'gone', - g FROM generate_series(1, 100) g;
ROLLBACK;
UPDATE pg_index SET indisready = false WHERE indexrelid = 't_few'::regclass;
INSERT INTO t (few, word, n) VALUES (1, 'unknown to t_few', -1);
VACUUM (INDEX_CLEANUP ON, PARALLEL 0) t;
UPDATE pg_index SET indisready = true WHERE indexrelid = 't_few'::regclass;
});
@indexes = @all;
foreach my $server ($node, $replica)
{
	my $name = $server->name;
	$node->wait_for_catchup($replica);
	my $problems = problems($server, 1);
	like($problems, qr/^t_few\|\{"entry without row at \(\d+,\d+\): the entry points to no row","row without entry at \(\d+,\d+\): [^"]*"\}$/m,
		"$name: a row without entry, entries without row")
	  && is(scalar(() = $problems =~ /\|\{/g), 1, "$name: the other indexes are sound")
	  or give_up($problems);
	my $evidence = evidence($server, $problems);
	like($evidence, qr/^t_few by amcheck: .*lacks matching index tuple.*^entry: .*^line pointer \(\d+,\d+\): (?:unused|missing).*^on the page: .*^line pointer \(\d+,\d+\): normal, /ms,
		"$name: the evidence") or diag($evidence);
}
$replica->stop;
check_nothing_left($node, 'checks');
$node->stop;
done_testing();
