# contrib/fuzz: its unit tests, that it finds a difference where there is one,
# and two minutes of random ones: FUZZ_SECONDS says how long, FUZZ_SEED which.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'python3 is missing'
  if system('python3 -c "" >/dev/null 2>&1') != 0;

my $dir = "$FindBin::RealBin/..";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;

command_ok(
	[ 'python3', '-m', 'unittest', 'discover', '-s', $dir, '-p', 'test_*.py' ],
	'unit tests');

# Slices are as many as the fuzz says.
my $node =
  new_node('main', conf => "ptsort.debug_slices = 0\nmax_wal_size = 4GB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();

# A row that is deleted between the two builds is a difference.
my ($status, $said) = fuzz($node, $scripts, '--seed', 'spoiled', '--case', '1-20', '--spoil');
is($status, 1, 'spoiled: a failure');
like($said, qr/^FAILED SEED=spoiled CASE=\d+, statement \d+: ./m,
	'spoiled: what, and where');
my ($case) = $said =~ /CASE=(\d+)/;
my ($script) = glob("$scripts/seed-spoiled-case-$case.sql");
like(
	slurp_file($script),
	qr/^CREATE EXTENSION ptsort.*^CREATE SCHEMA fuzz.*^DELETE FROM t WHERE ctid/ms,
	'spoiled: a script for it');
# The same case alone fails in the same way.
my ($again) = fuzz($node, $scripts, '--seed', 'spoiled', '--case', $case, '--spoil');
is($again, 1, 'spoiled: the case alone');

my @seed = $ENV{FUZZ_SEED} ? ('--seed', $ENV{FUZZ_SEED}) : ();
my $seconds = $ENV{FUZZ_SECONDS} || 120;
($status, $said) = fuzz($node, $scripts, '--seconds', $seconds, @seed);
is($status, 0, 'no difference') or diag($said);
show_scripts($scripts) if $status != 0;
my ($total) = $said =~ /^(total: .*)/m;
my ($builds, $identical) = $total =~ /(\d+) builds \((\d+)/;
cmp_ok($builds, '>=', $seconds / 10, 'many builds');
cmp_ok($identical, '>', $builds / 4, 'some compared page by page');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('parallel', 'spilled', 'keys exact', 'keys prefix', 'keys compared');
note($total);

$node->stop;
done_testing();
