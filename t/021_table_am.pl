# Tables of an access method that cannot scan in parallel, such as Citus's
# columnar tables.  The access method's planner hook forbids parallel work, no
# matter whether its library or ptsort is loaded first.  No request for workers
# overrules the hook.
#
# Depends on the version: it uses hooks of the planner and of table access methods
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => q{
session_preload_libraries = 'ptsort, ptsort_test'
});
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION ptsort_test;
CREATE TABLE serial_am (id int, word text) USING ptsort_test_serial;
CREATE TABLE parallel_am (id int, word text);
INSERT INTO serial_am SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
INSERT INTO parallel_am SELECT * FROM serial_am;
});

# Runs statements that leave indexes on the table, and checks the indexes.
sub builds
{
	my ($table, $statements) = @_;
	my $end = log_end($node);
	my ($out, $err) = try_sql(
		$node, qq{
$statements;
SELECT 'checked', bt_index_parent_check(indexrelid, true, true)
FROM pg_index WHERE indrelid = '$table'::regclass;
ALTER TABLE $table DROP CONSTRAINT IF EXISTS c;
DROP INDEX IF EXISTS i;
});
	my $error = error_of($err);
	return $error if $error;
	return 'unchecked' unless $out =~ /^checked/m;
	return join ' ', builds_since($node, $end);
}

my %requests = (
	'WITH' => 'CREATE INDEX i ON %s (word) WITH (parallel_workers = 2)',
	'WITH of a constraint' =>
	  'ALTER TABLE %s ADD CONSTRAINT c UNIQUE (id) WITH (parallel_workers = 2)',
	'setting' =>
	  'SET ptsort.parallel_workers = 2; CREATE INDEX i ON %s (id)');

foreach my $order ('ptsort, ptsort_test', 'ptsort_test, ptsort')
{
	$node->safe_psql('postgres',
		"ALTER DATABASE postgres SET session_preload_libraries = $order");
	foreach my $request (sort keys %requests)
	{
		my $index = $request =~ /constraint/ ? 'c' : 'i';
		is(builds('serial_am', sprintf($requests{$request}, 'serial_am')),
			"$index: 1", "$order: $request: serial");
		is(builds('parallel_am', sprintf($requests{$request}, 'parallel_am')),
			"$index: 3", "$order: $request: parallel where nothing forbids it");
	}
	is( builds(
			'serial_am',
			'ALTER TABLE serial_am SET (parallel_workers = 2);'
			  . 'CREATE INDEX i ON serial_am (id);'
			  . 'ALTER TABLE serial_am RESET (parallel_workers)'),
		'i: 1',
		"$order: the table's option is no permission");
	is( builds(
			'parallel_am',
			'ALTER TABLE parallel_am SET (parallel_workers = 0);'
			  . 'CREATE INDEX i ON parallel_am (id) WITH (parallel_workers = 2);'
			  . 'ALTER TABLE parallel_am RESET (parallel_workers)'),
		'i: 3',
		"$order: a statement's request overrides the table's option");
	is( builds(
			'serial_am',
			'SET ptsort.parallel_workers = 2; CREATE INDEX i ON serial_am (id);'
			  . 'REINDEX TABLE serial_am; VACUUM FULL serial_am'),
		'i: 1 i: 1 i: 1',
		"$order: rebuilt");
	is( builds(
			'serial_am',
			'SET ptsort.enable = off;'
			  . 'CREATE INDEX i ON serial_am (word) WITH (parallel_workers = 2)'),
		'i: left, ptsort.enable is off',
		"$order: left to the server");
}

# The log line at the start of the build states why the build is serial.
my $end = log_end($node);
$node->safe_psql('postgres',
	'CREATE INDEX i ON serial_am (word) WITH (parallel_workers = 2)');
like(
	slurp_file($node->logfile, $end),
	qr/building index "i": 1 participant, WITH \(parallel_workers = 2\), serial because of an extension that forbids parallel work on the table,/,
	'the start line gives the reason');
$node->stop;
done_testing();
