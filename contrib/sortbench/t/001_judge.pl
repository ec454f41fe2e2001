# Uses judge.py to check the files that sortbench makes and sorts, and the
# results of sortbench_validate.  judge.py implements the benchmark's rules, and
# uses no code of sortbench.
use strict;
use warnings;
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $judge = dirname(__FILE__) . '/judge.py';
my $node = PostgreSQL::Test::Cluster->new('main');
my $dir = PostgreSQL::Test::Utils::tempdir;

$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
fsync = off
jit = off
max_worker_processes = 12
session_preload_libraries = 'ptsort, ptsort_test'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION sortbench CASCADE');

# Returns judge.py's verdict, or its error message.
sub judge
{
	my @command = ('python3', $judge, @_);
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	chomp $out;
	return $err eq '' ? $out : $err;
}

foreach my $kind ('terasort', 'uniform', 'skewed', 'ascii', 'ascii skewed')
{
	my ($seed, $n) = $kind =~ /skewed/ ? (0, 60000) : (123456789012, 20000);
	my $in = "$dir/in";

	$node->safe_psql('postgres',
		"SELECT sortbench_generate('$in', $n, $seed, '$kind', true)");
	is(judge('made', $in, $kind, $seed), 'right', "$kind: every byte is right");
	my $input = judge('sum', $in);
	is( $node->safe_psql('postgres',
			"SELECT * FROM sortbench_validate('{$in}')"),
		$input,
		"$kind: sortbench_validate agrees with judge.py: $input");
	foreach my $way ([ 1, 0 ], [ 2, 0 ], [ 1, 2 ], [ 2, 2 ])
	{
		my ($passes, $workers) = @$way;
		my $name = "$kind, $passes passes, $workers workers";

		is( $node->safe_psql('postgres', qq{
SET ptsort_test.spill_entries = 3000;
SET ptsort_test.slices = 5;
SELECT records, passes_made, temp_bytes > 0 FROM sortbench_sort('{$in}', '{$dir/out1,$dir/out2}',
	$workers, passes => $passes, overwrite => true);
}), "$n|$passes|t", $name);
		is(judge('sorted', $in, "$dir/out1", "$dir/out2"), 'right',
			"$name: the same records, in order");
		is( $node->safe_psql('postgres',
				"SELECT * FROM sortbench_validate('{$dir/out1,$dir/out2}', $workers)"),
			judge('sum', "$dir/out1", "$dir/out2"),
			"$name: sortbench_validate agrees with judge.py");
	}
}

# judge.py detects wrong files.
append_to_file("$dir/in", 'x' x 100);
like(judge('sorted', "$dir/in", "$dir/out1", "$dir/out2"),
	qr{^60001 records became 60000$}, 'a record is missing');
is(judge('made', "$dir/in", 'ascii skewed', 0), 'record 60000 is wrong',
	'a record is wrong');
like(judge('sorted', "$dir/in", "$dir/in"), qr/^record \d+ is too late$/,
	'records are not in order');

$node->stop;
done_testing();
