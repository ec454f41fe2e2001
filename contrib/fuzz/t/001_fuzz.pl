# Runs the unit tests of contrib/fuzz, and checks that the fuzzer finds a
# deliberate difference.  Then plays random cases for at least two minutes, and
# until there are at least 1,400 builds.  FUZZ_SECONDS sets another duration,
# without a minimum number of builds; FUZZ_SEED chooses the cases.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = fuzz_node();
my $scripts = PostgreSQL::Test::Utils::tempdir();

local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
command_ok(
	[ 'python3', '-m', 'unittest', 'discover', '-s', "$FindBin::RealBin/..", '-p', 'test_*.py' ],
	'unit tests');

# The test deletes a row between the server's build and ptsort's build.  The
# fuzzer must notice.
my ($case, undef, $script) = find_spoiled($node, $scripts, '--case', '1-20');
like(
	slurp_file($script),
	qr/^CREATE EXTENSION ptsort.*^CREATE SCHEMA fuzz.*^DELETE FROM t WHERE ctid/ms,
	'spoiled: a script for the failure');
# The same case must fail again if the fuzzer plays only this case.
find_spoiled($node, $scripts, '--case', $case);

my @least = $ENV{FUZZ_SECONDS} ? () : ('--least', 1400);
my ($seconds, $total) = play($node, $scripts, 'FUZZ_SECONDS', 120, @least);
my ($builds, $identical) = $total =~ /(\d+) builds \((\d+)/;
cmp_ok($builds, '>=', $least[1] // $seconds / 10, 'many builds');
cmp_ok($identical, '>', $builds / 4, 'some builds compared page by page');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('parallel', 'spilled', 'keys exact', 'keys prefix', 'keys compared');

$node->stop;
done_testing();
