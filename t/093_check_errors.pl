# Errors during a check of an index: a cancel, the end of a worker, too few
# temporary files, no memory.  Each check ends with the fault's own error and
# leaves nothing behind, and the next check is right.  Without free workers or
# memory for them, the leader checks alone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => "maintenance_work_mem = '3MB'\n");
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 60000) g;
CREATE INDEX t_word ON t (word);
});
my $segments = dsm_segments($node);
my $check = q{SELECT problems, participants FROM ptsort_check('t_word', true, 2)};

is($node->safe_psql('postgres', $check), '0|3', 'a check by three processes');
check_nothing_left($node, 'no error', $segments);

# Runs a check with settings; expects an error that matches.
sub fails
{
	my ($name, $settings, $expected) = @_;
	my ($out, $err) = try_sql($node, "$settings; $check");
	is($out, '', "$name: no result");
	like(error_of($err), $expected, $name);
	check_nothing_left($node, $name, $segments);
	is($node->safe_psql('postgres', $check), '0|3', "$name: and the next check");
}
fails('temp_file_limit', "SET temp_file_limit = '64kB'", qr/^ERROR:  53400: temporary file size exceeds "?temp_file_limit"? \(64kB\)$/m);
fails("no memory at '$_'", "SET ptsort_test.fault = '$_:1:palloc'", qr/^ERROR:  53200: out of memory/m)
  foreach 'build: after scan', 'build: before load';
fails("error of a worker at '$_'", "SET ptsort_test.fault = '$_:1:error:worker'", qr/^ERROR:  /m)
  foreach 'build: worker start', 'build: after sort';

# A process that pauses, at different points, until the leader is canceled or a
# worker is terminated
foreach my $point ('build: before scan', 'build: after sort', 'build: before load')
{
	foreach my $signal ('pg_cancel_backend', 'pg_terminate_backend')
	{
		my $name = "$signal at '$point'";
		my $who = $signal eq 'pg_cancel_backend' ? 'client backend' : 'parallel worker';
		my $pause = pause_points($node);
		my $session = start_psql($node, "SET ptsort_test.fault = '$point:1:pause'", $check);
		wait_for_point($node, $point, 2) or fail("$name: no pause");
		$node->safe_psql('postgres', "SELECT $signal(pid) FROM pg_stat_activity WHERE backend_type = '$who' AND application_name = 'at $point' LIMIT 1");
		$session->{run}->finish;
		end_session($pause);
		is($session->{out}, '', "$name: no result");
		like($session->{err}, $who eq 'client backend' ? qr/^ERROR:  57014: / : qr/^ERROR:  57P01: |lost connection to parallel worker/m, $name);
		check_nothing_left($node, $name, $segments);
		is($node->safe_psql('postgres', $check), '0|3', "$name: and the next check");
	}
}

is($node->safe_psql('postgres', "SET max_parallel_workers = 0; $check"), '0|1', 'no workers');
is($node->safe_psql('postgres', "SET maintenance_work_mem = '2047kB'; $check"), '0|1', 'no memory for a second sort');
is($node->safe_psql('postgres', q{
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT problems, participants FROM ptsort_check('t_word', true, 1);
SAVEPOINT s;
SELECT problems, participants FROM ptsort_check('t_word', true, 1);
ROLLBACK TO s;
COMMIT}), "0|2\n0|2", 'in a transaction');

# Damaged pages of the table are problems.  Neither their rows nor the entries of
# these are reported.  The check finds what is wrong elsewhere: 5 rows that have no
# entry.
$node->safe_psql('postgres', q{
CREATE TABLE damaged AS SELECT g AS a, g AS b FROM generate_series(1, 60000) g;
CREATE INDEX damaged_a ON damaged (a);
CREATE UNIQUE INDEX damaged_b ON damaged (b);
-- two versions of each row have entries
UPDATE damaged SET a = a + 1 WHERE b % 100 = 0 OR b BETWEEN 4000 AND 6000;
UPDATE pg_index SET indisready = false WHERE indexrelid = 'damaged_a'::regclass;
INSERT INTO damaged SELECT g, g FROM generate_series(60001, 60005) g;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'damaged_a'::regclass;
CREATE TABLE toasted (a text);
ALTER TABLE toasted ALTER a SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat(g::text, 3000) FROM generate_series(1, 100) g;
CREATE INDEX toasted_a ON toasted (left(a, 5));
});

sub damage
{
	my ($relation, @blocks) = @_;
	my $path = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath($relation)");
	$node->restart;
	open my $file, '+<:raw', $path or die "$path: $!";
	foreach my $block (@blocks)
	{
		seek $file, $block * 8192 + 12, 0;    # pd_lower
		print $file pack 'S', 65535;
	}
	close $file or die "$path: $!";
	return;
}
damage(q{'damaged'}, 20, 21, 200);
damage(q{(SELECT reltoastrelid FROM pg_class WHERE relname = 'toasted')}, 3);
my $counts = 'bad_pages, out_of_order, duplicates, entries_without_row, rows_without_entry';
my $damage = 'bad page at (20,0): this page of table "damaged" has a wrong checksum or header';
foreach my $settings ('', 'SET max_parallel_workers = 0; ', "SET ptsort_test.spill_entries = 1000; ")
{
	foreach my $workers (0, 2)
	{
		my $name = "$settings$workers workers";
		is($node->safe_psql('postgres', "${settings}SELECT $counts, details[1] FROM ptsort_check('damaged_a', true, $workers)"),
			"3|0|0|0|5|$damage", "damaged pages of the table, $name");
		is($node->safe_psql('postgres', "${settings}SELECT $counts, details FROM ptsort_check('damaged_b', true, $workers)"),
			qq({"$damage"}) =~ s/(?<!\{)"(?!\})/\\"/gr =~ s/^/3|0|0|0|0|/r, "... a unique index, $name");
	}
}
is($node->safe_psql('postgres', "SELECT index, problems, details[1] FROM ptsort_check_indexes('{damaged_a,t_word}', true, $_) ORDER BY 1"),
	"t_word|0|\ndamaged_a|8|$damage", "... several checks, $_ workers") foreach 0, 2;
is($node->safe_psql('postgres', "SELECT problems FROM ptsort_check('damaged_a')"), 0, '... the index itself is sound');
like($node->safe_psql('postgres', "SELECT $counts, details[1] FROM ptsort_check('damaged_b')"),
	qr/^[1-9]\d*\|0\|0\|0\|0\|\Q$damage\E$/, '... which the check of a unique index meets, too');

# Other errors of the table end the check, and name it.
$damage = qr/could not read table "toasted": invalid page in block 3 of relation "?base/;
foreach my $workers (0, 2)
{
	my ($out, $err) = try_sql($node, "SELECT ptsort_check('toasted_a', true, $workers)");
	like(error_of($err), qr/^ERROR:  XX001: $damage/m, "a damaged page of a TOAST table, $workers workers");
	like($node->safe_psql('postgres', "SELECT index, problems, details[1] FROM ptsort_check_indexes('{toasted_a,t_word}', true, $workers) ORDER BY 1"),
		qr/^t_word\|0\|\ntoasted_a\|\|not checked: $damage/, '... and the result of several checks');
}
check_nothing_left($node, 'the end');
$node->stop;
done_testing();
