# Compares random sorts with the server's tuplesort.  The test checks that the
# fuzzer notices a missing tuple and writes a script that repeats the failure.
# Then it runs at least 1,800 random sorts, for at least 40 seconds.
# SORT_FUZZ_SECONDS sets another duration, without a minimum number of sorts;
# FUZZ_SEED chooses the cases.
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

# The test leaves one of the tuples out of ptsort's sort.  The fuzzer must
# notice.
my ($case, $line, $script) = find_spoiled($node, $scripts, '--sorts', '--case', '1-20');
my ($message) = $line =~ /: ERROR: XX000: (.*?) after:/;

# The fuzzer's script must fail with the same message, in a database with the
# same encoding and locale.
my ($world) = slurp_file($script) =~ /^-- in a database made like (\w+)/m;
ok($message && $world, 'spoiled: a message and a database');
$node->safe_psql('postgres', "CREATE DATABASE again TEMPLATE template0 " .
	$node->safe_psql('postgres', "SELECT format('ENCODING %L LC_COLLATE %L LC_CTYPE %L', pg_encoding_to_char(encoding), datcollate, datctype)
		FROM pg_database WHERE datname = '$world'"));
my ($ret, $out, $err) = $node->psql('again', "\\set ON_ERROR_STOP 0\n" . slurp_file($script), on_error_stop => 0);
like($err, qr/\Q$message\E/, "spoiled: the script fails as well: $message");

my @least = $ENV{SORT_FUZZ_SECONDS} ? () : ('--least', 1800);
my ($seconds, $total) = play($node, $scripts, 'SORT_FUZZ_SECONDS', 40, '--sorts', @least);
my ($sorts) = $total =~ /(\d+) sorts \(/;
cmp_ok($sorts, '>=', $least[1] // $seconds / 2, 'many sorts');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('parallel', 'in slices', 'spilled', 'in memory', 'ties', 'random access', 'stable', 'reset', 'bounded', 'datums', 'slots scan', 'slots heap', 'slots minimal');

$node->stop;
done_testing();
