# Compares sortbench's files with those of gensort 1.5, byte by byte, and checks
# sortbench's results with valsort.  The test runs only if gensort and valsort
# are in the path; no distribution includes them.
use strict;
use warnings;
use File::Compare;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'gensort and valsort are not in the path'
  if grep { my $name = $_; !grep { -x "$_/$name" } split /:/, $ENV{PATH} } 'gensort', 'valsort';

my $node = PostgreSQL::Test::Cluster->new('main');
my $dir = PostgreSQL::Test::Utils::tempdir;
my %options = (
	'uniform' => [],
	'skewed' => ['-s'],
	'ascii' => ['-a'],
	'ascii skewed' => [ '-a', '-s' ]);

$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION sortbench CASCADE');

foreach my $kind (sort keys %options)
{
	foreach my $first (0, 1, 987654321)
	{
		$node->safe_psql('postgres', "SELECT sortbench_generate('$dir/ours', 200000, $first, '$kind', true, false)");
		command_ok([ 'gensort', @{ $options{$kind} }, "-b$first", '200000', "$dir/theirs" ], "$kind: gensort");
		is(compare("$dir/ours", "$dir/theirs"), 0, "$kind, from record $first: the same bytes");
	}
	foreach my $passes (1, 2)
	{
		my ($out, $err);
		my $sorted = $node->safe_psql('postgres', qq{
SELECT passes_made FROM sortbench_sort('{$dir/theirs}', '{$dir/out}', 1, '64MB', passes => $passes, overwrite => true);
SELECT records, checksum, duplicates FROM sortbench_validate('{$dir/out}');
});
		IPC::Run::run([ 'valsort', "$dir/out" ], '>', \$out, '2>', \$err);
		my ($records) = $err =~ /^Records: (\d+)$/m;
		my ($checksum) = $err =~ /^Checksum: (\w+)$/m;
		my ($duplicates) = $err =~ /^Duplicate keys: (\d+)$/m;
		like($err, qr/^SUCCESS - all records are in order$/m, "$kind, $passes passes: valsort");
		is($sorted, "$passes\n$records|$checksum|$duplicates", "$kind, $passes passes: valsort agrees with sortbench");
	}
}
$node->stop;
done_testing();
