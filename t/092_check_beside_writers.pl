# Checks of sound indexes find nothing while other sessions write, vacuum and
# rebuild, on a primary and on its replica.  A check lets them go on: it waits
# for no session that has only a row lock, and no session waits for it.
#
# Depends on the version: it reads pages as the server writes them
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PTSORT_CHECK_ROUNDS} || 12;
my $node = new_node('primary', init => { allows_streaming => 1 }, conf => "hot_standby_feedback = on\n");
$node->safe_psql(
	'postgres', q{
CREATE TABLE t (id serial PRIMARY KEY, few int, word text COLLATE "en_US", n numeric) WITH (fillfactor = 80);
INSERT INTO t (few, word, n) SELECT g % 50, md5((g % 3000)::text), g FROM generate_series(1, 10000) g;
CREATE INDEX t_few ON t (few);
CREATE INDEX t_word ON t (word) WITH (fillfactor = 50);
CREATE UNIQUE INDEX t_n ON t (n);
CREATE INDEX t_part ON t ((few + id)) WHERE few < 25;
CREATE INDEX t_wide ON t (repeat(word, 20)) INCLUDE (few);
});
my @indexes = qw(t_pkey t_few t_word t_n t_part t_wide);

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
	reindex => load('reindex', "REINDEX INDEX CONCURRENTLY t_word;\n\\sleep 300 ms\n"));

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

my $written = $node->safe_psql('postgres', 'SELECT last_value FROM t_id_seq');
foreach my $round (1 .. $rounds)
{
	is(problems($node, $round % 3), '', "primary, round $round");
	is(problems($replica, $round % 2), '', "replica, round $round");
	is(problems_of_all($node, $round % 3), '', "primary, all indexes, round $round");
	is(problems_of_all($replica, $round % 2), '', "replica, all indexes, round $round");
}
cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM t_id_seq'), '>', $written, 'there were writes');
ok(stop_pgbench($load{$_}), "$_ went on") or diag($load{$_}{err}) foreach sort keys %load;

# The same indexes, now with an entry less: the checks can find something.
$node->safe_psql(
	'postgres', q{
UPDATE pg_index SET indisready = false WHERE indexrelid = 't_few'::regclass;
INSERT INTO t (few, word, n) VALUES (1, 'unknown to t_few', -1);
UPDATE pg_index SET indisready = true WHERE indexrelid = 't_few'::regclass;
});
like(problems($node, 1), qr/^t_few\|\{"row without entry at \(\d+,\d+\): [^"]*"\}$/, 'primary: a row without entry');
$node->wait_for_catchup($replica);
like(problems($replica, 1), qr/^t_few\|\{"row without entry at \(\d+,\d+\): [^"]*"\}$/, 'replica: a row without entry');
$replica->stop;
check_nothing_left($node, 'checks');
$node->stop;
done_testing();
