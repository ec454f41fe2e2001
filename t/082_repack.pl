# REPACK, the statement for CLUSTER and VACUUM FULL since PostgreSQL 19: which
# copies and builds ptsort does.
#
# Depends on the version: REPACK is new in 19
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'this server has no REPACK' if server_major() < 19;
my $node = new_node(
	'main',
	init => { allows_streaming => 1 },
	conf => q{
ptsort.parallel_workers = 2
maintenance_work_mem = '2MB'
});

$node->safe_psql('postgres', q{
CREATE FUNCTION fill(t text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, md5(i::text), i %% 100 FROM generate_series(1, 20000) i', t);
END $$;
CREATE TABLE one (id int PRIMARY KEY, word text, few int);
CREATE INDEX one_word ON one (word);
CREATE TABLE two (LIKE one INCLUDING ALL);
CREATE TABLE parted (id int, word text, few int) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (5000);
CREATE TABLE high PARTITION OF parted FOR VALUES FROM (5000) TO (50000);
CREATE INDEX parted_word ON parted (word);
CREATE TABLE excludes (id int PRIMARY KEY, word text, few int, EXCLUDE USING btree (word WITH =));
CREATE INDEX excludes_few ON excludes (few);
SELECT fill(t) FROM unnest('{one, two, parted, excludes}'::text[]) t;
VACUUM ANALYZE});

# Returns the copies in the log since a position.
sub copies_since
{
	my ($offset) = @_;
	return join '; ', map { s/ of table//r }
	  map { s/copied table "(\w+)": (\d+) participants?, .*/$1: $2/r }
	  map { s/leaving copy of table "(\w+)" to the server: (.*)/$1: left, $2/r }
	  slurp_file($node->logfile, $offset) =~ /LOG:  ptsort: ((?:copied table|leaving copy) .*)/g;
}

# Runs a statement, and returns its copies and builds and the state of its tables.
sub run_statement
{
	my ($statement, @tables) = @_;
	my $end = log_end($node);

	$node->safe_psql('postgres', $statement);
	my $state = join ' ', map { state_of($_) } @tables;
	return join ' | ', copies_since($end), join(', ', sort(builds_since($node, $end))), $state;
}

# Returns the number of rows, the number of rows whose word is smaller than the
# previous row's word in the table's file, the number of sound btree indexes,
# and what amcheck finds in the table.
sub state_of
{
	my ($table) = @_;
	return $node->safe_psql('postgres', qq{
SET enable_indexscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
SELECT concat_ws('/', count(*), count(*) FILTER (WHERE word < before),
	(SELECT count(bt_index_parent_check(indexrelid, true, true)::text) FROM pg_index WHERE indrelid = '$table'::regclass),
	(SELECT string_agg(msg, ' ') FROM verify_heapam('$table')))
FROM (SELECT word, lag(word) OVER (ORDER BY ctid) AS before FROM $table) s});
}

is(run_statement('REPACK one USING INDEX one_word', 'one'),
	'one: 3 | one_pkey: 3, one_word: 3 | 20000/0/2', 'USING INDEX');
is(run_statement('REPACK (ANALYZE, VERBOSE) two USING INDEX two_word_idx', 'two'),
	'two: 3 | two_pkey: 3, two_word_idx: 3 | 20000/0/2', '(ANALYZE, VERBOSE)');
is(run_statement('REPACK one', 'one'),
	'one: 3 | one_pkey: 3, one_word: 3 | 20000/0/2', 'in physical order');
is(run_statement('REPACK parted USING INDEX parted_word', 'low', 'high'),
	'low: 3; high: 3 | high_word_idx: 3, low_word_idx: 3 | 4999/0/1 15001/0/1', 'partitions');
my $all = run_statement('REPACK USING INDEX', 'one', 'two');
my ($copies) = $all =~ /^(.*?) \|/;
is(join('; ', sort split(/; /, $copies)), 'high: 3; low: 3; one: 3; two: 3', 'all tables');

# REPACK (CONCURRENTLY): ptsort copies the table and builds the indexes.  The
# server makes the exclusion constraint after the constraint's index, so workers
# must not read the constraint.
is(run_statement('REPACK (CONCURRENTLY) excludes USING INDEX excludes_word_excl', 'excludes'),
	'excludes: 3'
	  . ' | excludes_few_repacknew: 3, excludes_pkey_repacknew: 3, excludes_word_excl_repacknew: 3'
	  . ' | 20000/0/3', 'CONCURRENTLY: copy and builds');
is(run_statement('REPACK (CONCURRENTLY) two', 'two'),
	'two: 3 | two_pkey_repacknew: 3, two_word_idx_repacknew: 3 | 20000/0/2',
	'CONCURRENTLY: in physical order');
my $end = log_end($node);
$node->safe_psql('postgres', 'CREATE INDEX one_few ON one (few)');
is(run_statement(q{SET min_parallel_table_scan_size = 0; SET maintenance_work_mem = '16MB'; REPACK (CONCURRENTLY) one USING INDEX one_word}, 'one'),
	'one: 3 | one_few_repacknew: 3, one_pkey_repacknew: 3, one_word_repacknew: 3 | 20000/0/3',
	'CONCURRENTLY: several plain indexes');
like(slurp_file($node->logfile, $end), qr/one scan for 3 indexes.*from the scan for.*from the scan for/s,
	'CONCURRENTLY: one scan');
my ($out, $err) = try_sql($node, q{INSERT INTO excludes VALUES (0, md5('1'), 0)});
like(error_of($err), qr/^ERROR:  23P01: conflicting key value violates exclusion constraint/,
	'CONCURRENTLY: the constraint works');

$node->stop;
done_testing();
