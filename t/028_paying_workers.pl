# If ptsort.parallel_workers or the server's cost model allows workers, ptsort
# starts only workers that make the build faster.  Given
# WITH (parallel_workers) or the table's option, ptsort always starts the
# workers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(ceil);
use Test::More;

my $node = new_node('main', conf => q{
ptsort_test.all_workers = off
maintenance_work_mem = '256MB'
});

# ptsort estimates a table's size from pg_class, so the tables here have few
# rows.
$node->safe_psql('postgres', q{
CREATE TABLE small AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE TABLE large AS TABLE small;
CREATE TABLE ordered (LIKE small) WITH (parallel_workers = 1);
INSERT INTO ordered TABLE small;
VACUUM ANALYZE small, large, ordered});

sub believe
{
	my ($rows) = @_;
	$node->safe_psql('postgres',
		"UPDATE pg_class SET reltuples = $rows WHERE relname = 'large'");
}

# Returns a part of the log lines at the start of builds: "name: participants,
# reason".
sub starts
{
	my ($sql) = @_;
	my $end = log_end($node);
	$node->safe_psql('postgres', $sql);
	my $log = slurp_file($node->logfile, $end);
	my @starts;
	while ($log =~ /ptsort: (?:building index|copying table) "(\w+)"(?: in the order of (?:index "\w+"|its blocks))?: (\d+) participants?, (.*?), (?:keys|\d+ kB)/g)
	{
		push @starts, "$1: $2, $3";
	}
	return join('; ', @starts);
}

my $limit = 'SET ptsort.parallel_workers = 3';
my $said = 'ptsort.parallel_workers = 3';
my $none = 'a worker would not pay';

is(starts("$limit; CREATE INDEX small_word ON small (word)"),
	"small_word: 1, $said, $none", 'a small table');
is(starts("$limit; REINDEX TABLE small"),
	"small_word: 1, $said, $none", 'REINDEX of it');
is(starts("$limit; CLUSTER small USING small_word"),
	"small: 1, $said, $none; small_word: 1, $said, $none", 'CLUSTER of it');
is(starts("$limit; VACUUM FULL small"),
	"small: 1, $said, $none; small_word: 1, $said, $none", 'VACUUM FULL of it');
is(starts("$limit; ALTER TABLE small ADD UNIQUE (id)"),
	"small_id_key: 1, $said, $none", 'a constraint on it');
is(starts("SET min_parallel_table_scan_size = 0; CREATE INDEX c ON small (id)"),
	"c: 1, cost model, $none", q{the server's cost model allows workers});
is(starts("SET min_parallel_table_scan_size = 0; $limit; REINDEX TABLE small"),
	join('; ', map { "$_: 1, $said, $none" } qw(small_word small_id_key c)),
	'several indexes, and no shared scan');

# requests that start workers anyway
is(starts("$limit; CREATE INDEX o ON small (id) WITH (parallel_workers = 2)"),
	'o: 3, WITH (parallel_workers = 2)', 'WITH');
is(starts('CREATE INDEX t ON ordered (id)'),
	't: 2, parallel_workers of the table', 'an option of the table');
is(starts('SET ptsort_test.all_workers = on; SET ptsort.parallel_workers = 2; REINDEX INDEX o'),
	'o: 3, ptsort.parallel_workers = 2', 'all workers');

# the minimum memory of each participant
$node->safe_psql('postgres',
	q{SET maintenance_work_mem = '1MB'; CREATE INDEX k ON small (id) WITH (parallel_workers = 2)});
like(slurp_file($node->logfile), qr/building index "k": 3 participants, .*, 3072 kB$/m,
	'memory of three participants');

# Returns the number of processors that this process may use: those of its
# affinity, or fewer by the quotas of its cgroup and of those above it.
sub processors
{
	my $n = `nproc`;
	foreach (split /\n/, slurp_file('/proc/self/cgroup'))
	{
		my ($controllers, $group) = /^\d+:([^:]*):(.*)/ or next;
		next unless $controllers =~ /^(?:cpu(?:,.*)?)?$/;
		$group = '/sys/fs/cgroup' . ($controllers eq '' ? '' : '/cpu') . $group;
		do
		{
			my @quota = map { -r "$group/$_" ? split(' ', slurp_file("$group/$_")) : () } $controllers eq '' ? 'cpu.max' : qw(cpu.cfs_quota_us cpu.cfs_period_us);
			$n = ceil($quota[0] / $quota[1]) if @quota == 2 && $quota[0] =~ /^\d+$/ && $quota[0] / $quota[1] < $n;
		} while ($group =~ s{/[^/]*$}{});
	}
	return $n + 0;
}

# a large table: at most one participant for each CPU
my $cpus = processors();
my $most = $cpus < 4 ? $cpus : 4;
my $why = $cpus < 2 ? ", $none" : $cpus < 4 ? ', more would not pay' : '';
believe(10_000_000);
is(starts("$limit; CREATE INDEX large_word ON large (word)"),
	"large_word: $most, $said$why", 'a large table');
believe(10_000_000);
is(starts("$limit; REINDEX INDEX large_word"),
	"large_word: $most, $said$why", 'REINDEX of it');
believe(10_000_000);
like(starts("$limit; CLUSTER large USING large_word"),
	qr/^large: $most, \Q$said$why\E; /, 'CLUSTER of it');
believe(10_000_000);
like(starts("$limit; VACUUM FULL large"),
	qr/^large: $most, \Q$said$why\E; /, 'VACUUM FULL of it');
is(starts("SET ptsort.parallel_workers = 0; REINDEX INDEX large_word"),
	'large_word: 1, ptsort.parallel_workers = 0', 'no workers allowed');

# The minimum number of rows for which one worker pays off depends on the key.
SKIP:
{
	skip 'needs two CPUs', 6 if $cpus < 2;
	my $one = 'SET ptsort.parallel_workers = 1';
	my $drop = 'DROP INDEX IF EXISTS x; CREATE INDEX x ON large';
	believe(300_000);
	is(starts("$one; $drop (id)"), "x: 1, ptsort.parallel_workers = 1, $none",
		'300,000 numbers');
	believe(300_000);
	is(starts("$one; $drop (word COLLATE \"en_US.utf8\")"),
		'x: 2, ptsort.parallel_workers = 1', '300,000 strings');

	# compressing the values takes most of the time
	$node->safe_psql('postgres', q{
CREATE TABLE long AS
	SELECT (SELECT string_agg(md5(i || '/' || part), '') FROM generate_series(1, 20) part) AS words
	FROM generate_series(1, 20000) i;
VACUUM ANALYZE long});
	is(starts("$one; CREATE INDEX l ON long (words COLLATE \"C\")"),
		'l: 2, ptsort.parallel_workers = 1', '20,000 long strings');

	# One scan for two indexes: the second build has as many workers as the
	# first
	believe(10_000_000);
	is(starts("SET min_parallel_table_scan_size = 0; $one; REINDEX TABLE large"),
		join('; ', map { "$_: 2, ptsort.parallel_workers = 1" } qw(large_word x)),
		'several indexes of a large table');
	like(slurp_file($node->logfile), qr/building index "x": 2 .*from the scan for "large_word"$/m,
		'... which share a scan');

	# a server that may use one processor only
	skip 'needs taskset', 1 unless `taskset -cp $$` =~ /: (\d+)/;
	my $cpu = $1;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	system_or_bail('taskset', '-cp', $cpu, $postmaster);
	believe(10_000_000);
	is(starts("$limit; REINDEX INDEX large_word"), "large_word: 1, $said, $none", 'one processor');
}

$node->stop;
done_testing();
