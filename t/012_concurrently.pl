# Builds next to other transactions: CONCURRENTLY while rows change, rows that
# are dead for the build but not for an old snapshot, broken HOT chains, and
# unique indexes with recently dead duplicates.
#
# Depends on the version: like the server, ptsort decides which rows are dead
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => "ptsort.parallel_workers = 2\n");
my $end;

# The values follow the order of the table's blocks, so that each participant
# gets some of the rows that the test changes.
sub fill_table
{
	my ($name) = @_;
	$node->safe_psql(
		'postgres', qq{
DROP TABLE IF EXISTS $name;
CREATE TABLE $name (id int, a int, b text) WITH (fillfactor = 70);
INSERT INTO $name SELECT i, i, 'b ' || i FROM generate_series(1, 20000) i;
VACUUM ANALYZE $name;
});
}

# Starts a session that keeps a snapshot of the current rows.
sub old_snapshot
{
	my $session = $node->background_psql('postgres');
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query_safe('SELECT 1');
	return $session;
}

# With these settings, the session that keeps the old snapshot uses an index for
# its queries.
my $by_index = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;';


# Deleted and updated rows that an old snapshot still sees are in the index.
# (An index on the updated column keeps the updates from being HOT.)
fill_table('dead');
my $old = old_snapshot();
$node->safe_psql(
	'postgres', q{
CREATE INDEX dead_ai ON dead (a, id);
DELETE FROM dead WHERE id % 10 = 0;
UPDATE dead SET a = -a, id = -id WHERE id % 10 = 1;
DROP INDEX dead_ai;
});
$end = log_end($node);
$node->safe_psql(
	'postgres', q{
CREATE INDEX dead_a ON dead (a);
CREATE UNIQUE INDEX dead_id ON dead (id);
SELECT bt_index_parent_check('dead_a', true, true), bt_index_parent_check('dead_id', true, true)});
is_deeply([ builds_since($node, $end) ],
	[ 'dead_a: 3', 'dead_id: 3' ], 'recently dead rows: built in parallel');
is($node->safe_psql('postgres', 'SELECT count(*) FROM dead'),
	'18000', 'recently dead rows: fewer are visible');
is($node->safe_psql('postgres', "SELECT reltuples FROM pg_class WHERE relname = 'dead_a'"),
	'22000', 'recently dead rows: more are in the index');
like($old->query_safe("$by_index EXPLAIN SELECT sum(id) FROM dead WHERE a > -1000000"),
	qr/Index Scan using dead_a /, 'recently dead rows: the old snapshot uses the index');
is( $old->query_safe(
		"$by_index SELECT count(*), sum(a) FROM dead WHERE a > -1000000"),
	'20000|200010000',
	'recently dead rows: the old snapshot finds all that it sees');
end_session($old);


# A unique index ignores duplicates that are recently dead; a live pair of
# duplicates among dead duplicates is still an error.
fill_table('dup');
$old = old_snapshot();
$node->safe_psql('postgres', 'UPDATE dup SET b = b; UPDATE dup SET b = b');
$end = log_end($node);
$node->safe_psql(
	'postgres', q{
CREATE UNIQUE INDEX dup_id ON dup (id);
SELECT bt_index_parent_check('dup_id', true, true);
DROP INDEX dup_id;
INSERT INTO dup VALUES (12345, 0, 'second')});
is_deeply([ builds_since($node, $end) ],
	['dup_id: 3'], 'recently dead duplicates: built in parallel');
foreach my $concurrently ('', 'CONCURRENTLY')
{
	my (undef, $err) = try_sql($node,
		"CREATE UNIQUE INDEX $concurrently dup_id ON dup (id); DROP INDEX IF EXISTS dup_id");
	is( error_of($err), qq{ERROR:  23505: could not create unique index "dup_id"
DETAIL:  Key (id)=(12345) is duplicated.},
		"recently dead duplicates: a live pair is found $concurrently");
}
end_session($old);


# Broken HOT chains: older snapshots must not use the index, no matter which
# process found the chain.
foreach my $leader ('on', 'off')
{
	fill_table('hot');
	$old = old_snapshot();
	$node->safe_psql('postgres', 'UPDATE hot SET a = a + 1 WHERE id IN (5, 19990)');
	$end = log_end($node);
	$node->safe_psql(
		'postgres', qq{
SET ptsort_test.leader_participates = $leader;
CREATE INDEX hot_a ON hot (a);
SELECT bt_index_parent_check('hot_a', true, true)});
	is($node->safe_psql('postgres',
			"SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'hot_a'::regclass"),
		't', "broken HOT chain: noticed, leader participates: $leader");
	is_deeply(
		[ builds_since($node, $end) ],
		[ 'hot_a: ' . ($leader eq 'on' ? 3 : 2) ],
		"broken HOT chain: built in parallel");
	is($old->query_safe("$by_index SELECT a FROM hot WHERE a = 19990"),
		'19990', 'broken HOT chain: the old snapshot sees its row');
	end_session($old);
}


# CONCURRENTLY while other sessions insert, update and delete rows.
fill_table('busy');
$node->safe_psql('postgres', 'CREATE UNIQUE INDEX busy_id ON busy (id)');
my $script = $node->basedir . '/busy.sql';
append_to_file(
	$script, q{
\set i random(1, 20000)
\set k random(1, 3)
BEGIN;
UPDATE busy SET a = a + 1 WHERE id = :i;
UPDATE busy SET b = 'new ' || :i WHERE id = :i + 1;
DELETE FROM busy WHERE id = :i + 2;
INSERT INTO busy VALUES (:i + 2, :k, 'again') ON CONFLICT DO NOTHING;
COMMIT;
});
my $bench = start_pgbench($node, $script, '-c', '3');
$node->poll_query_until('postgres',
	"SELECT n_tup_upd > 100 FROM pg_stat_user_tables WHERE relname = 'busy'");

$end = log_end($node);
foreach my $round (1 .. 3)
{
	$node->safe_psql('postgres', $_) foreach (
		'CREATE INDEX CONCURRENTLY busy_a ON busy (a)',
		'CREATE UNIQUE INDEX CONCURRENTLY busy_u ON busy (id, b) WITH (parallel_workers = 1)',
		'CREATE INDEX CONCURRENTLY busy_e ON busy (lower(b)) WHERE a > 10',
		'REINDEX INDEX CONCURRENTLY busy_a',
		q{SELECT bt_index_check('busy_a', true), bt_index_check('busy_u', true), bt_index_check('busy_e', true)},
		'REINDEX TABLE CONCURRENTLY busy',
		q{SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'busy'::regclass},
		'DROP INDEX busy_a, busy_u, busy_e');
}
ok(stop_pgbench($bench), 'CONCURRENTLY: rows changed all the time') or diag($bench->{err});
unlike($bench->{err}, qr/ERROR/, 'CONCURRENTLY: other sessions had no errors');

my %builds;
$builds{$_}++ foreach builds_since($node, $end);
is_deeply(
	\%builds,
	{
		'busy_a: 3' => 3,
		'busy_u: 2' => 3,
		'busy_e: 3' => 3,
		'busy_a_ccnew: 3' => 6,
		'busy_u_ccnew: 3' => 3,
		'busy_e_ccnew: 3' => 3,
		'busy_id_ccnew: 3' => 3
	},
	'CONCURRENTLY: ptsort does all builds in parallel');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_index WHERE NOT indisvalid'),
	'0', 'CONCURRENTLY: all indexes are valid');


# Sessions that build at the same time do not take the builds from each other:
# all wait for an old transaction, and then build.
$node->safe_psql(
	'postgres', q{
DO $$ BEGIN
FOR t IN 1 .. 4 LOOP
	EXECUTE format('CREATE TABLE many%s (a int)', t);
	EXECUTE format('INSERT INTO many%s SELECT generate_series(1, 1000)', t);
	FOR i IN 1 .. 8 LOOP
		EXECUTE format('CREATE INDEX many%s_%s ON many%s (a)', t, i, t);
	END LOOP;
END LOOP;
END $$});
$old = $node->background_psql('postgres');
$old->query_safe('BEGIN; LOCK many1, many2, many3, many4 IN ROW EXCLUSIVE MODE');
$end = log_end($node);
my @sessions = map { start_psql($node, "REINDEX TABLE CONCURRENTLY many$_") } (1 .. 4);
$node->poll_query_until('postgres',
	q{SELECT count(*) = 4 FROM pg_stat_activity WHERE query ~ '^REINDEX' AND wait_event = 'virtualxid'});
end_session($old);
$_->{run}->finish foreach @sessions;
is_deeply(
	[ sort(builds_since($node, $end)) ],
	[ map { my $t = $_; map { "many${t}_${_}_ccnew: 3" } (1 .. 8) } (1 .. 4) ],
	'CONCURRENTLY: several sessions at the same time');

$node->stop;
done_testing();
