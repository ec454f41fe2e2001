# Random sorts, the server's tuplesort as oracle: that a tuple left out is found,
# and that the script which is left repeats it; then 40 seconds of random ones.
# SORT_FUZZ_SECONDS says how long, FUZZ_SEED which.
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

my $node = new_node('main', conf => "ptsort.debug_slices = 0\nmax_wal_size = 4GB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();

# A tuple that is not put into ptsort is missed.
my ($status, $said) = fuzz($node, $scripts, '--sorts', '--seed', 'spoiled', '--case', '1-20', '--spoil');
is($status, 1, 'spoiled: a failure');
like($said, qr/^FAILED SEED=spoiled CASE=\d+, statement \d+: ./m, 'spoiled: what, and where');
my ($case) = $said =~ /CASE=(\d+)/;
my ($message) = $said =~ /^FAILED .*?: ERROR: XX000: (.*?) after:/m;
my ($script) = glob("$scripts/seed-spoiled-case-$case.sql");

# The script that it leaves fails in the same way, in a database like its own.
my ($world) = slurp_file($script) =~ /^-- in a database made like (\w+)/m;
ok($message && $world, 'spoiled: a message and a database');
$node->safe_psql('postgres', "CREATE DATABASE again TEMPLATE template0 " .
	$node->safe_psql('postgres', "SELECT format('ENCODING %L LC_COLLATE %L LC_CTYPE %L', pg_encoding_to_char(encoding), datcollate, datctype)
		FROM pg_database WHERE datname = '$world'"));
my ($ret, $out, $err) = $node->psql('again', "\\set ON_ERROR_STOP 0\n" . slurp_file($script), on_error_stop => 0);
like($err, qr/\Q$message\E/, "spoiled: the script fails as well: $message");

my @seed = $ENV{FUZZ_SEED} ? ('--seed', $ENV{FUZZ_SEED}) : ();
my $seconds = $ENV{SORT_FUZZ_SECONDS} || 40;
($status, $said) = fuzz($node, $scripts, '--sorts', '--seconds', $seconds, @seed);
is($status, 0, 'no difference') or diag($said);
show_scripts($scripts) if $status != 0;
my ($total) = $said =~ /^(total: .*)/m;
my ($sorts) = $total =~ /(\d+) sorts \(/;
cmp_ok($sorts, '>=', $seconds / 2, 'many sorts');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('parallel', 'in slices', 'spilled', 'in memory', 'ties', 'random access', 'stable', 'reset', 'bounded', 'datums', 'slots scan', 'slots heap', 'slots minimal');
note($total);

$node->stop;
done_testing();
