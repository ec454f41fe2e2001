# Runs contrib/fuzz/fuzz.py from a test: first with a deliberate mistake, which
# fuzz.py must find, then with random cases.
package Fuzz;
use strict;
use warnings;
use Exporter 'import';
use FindBin;
use lib "$FindBin::RealBin/../../../t";
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(fuzz_node fuzz find_spoiled play);

# Starts a server for the fuzzer.  The fuzzer itself sets the number of slices.
# The client, and not only the server's log, receives the lines about builds.
sub fuzz_node
{
	my ($conf) = @_;
	plan skip_all => 'python3 is missing'
	  if system('python3 -c "" >/dev/null 2>&1') != 0;
	return new_node('main', conf => "ptsort.log_build = off\nptsort_test.slices = 0\nmax_wal_size = 4GB\n" . ($conf // ''));
}

# Runs fuzz.py with the given arguments on a server; fuzz.py leaves scripts of
# failures in a directory.  Returns the exit status and the output of fuzz.py.
sub fuzz
{
	my ($node, $scripts, @arguments) = @_;
	my ($stdout, $stderr);
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PYTHONDONTWRITEBYTECODE => 1);
	IPC::Run::run(
		[
			'python3', "$FindBin::RealBin/../fuzz.py", '--log', $node->logfile,
			'--out', $scripts, @arguments
		],
		'<', \undef, '>', \$stdout, '2>', \$stderr);
	my $status = $? >> 8;
	diag($stderr) if $stderr;
	return ($status, $stdout);
}

# Runs cases with a deliberate mistake; one of the cases must fail.  Returns the
# number of that case, its message, and the name of its script.
sub find_spoiled
{
	my ($node, $scripts, @arguments) = @_;
	my ($status, $said) = fuzz($node, $scripts, '--seed', 'spoiled', '--spoil', @arguments);
	is($status, 1, 'spoiled: a failure');
	my ($line, $case) = $said =~ /^(FAILED SEED=spoiled CASE=(\d+), statement \d+: ..*)/m;
	ok($case, 'spoiled: the case and the statement that failed') or diag($said);
	return ($case, $line, "$scripts/seed-spoiled-case-$case.sql");
}

# Plays random cases of FUZZ_SEED for the number of seconds in the given variable,
# or for the default number.  The fuzzer must find no difference.  Returns that
# number of seconds, and the line in which fuzz.py prints its totals.
sub play
{
	my ($node, $scripts, $variable, $default, @arguments) = @_;
	my $seconds = $ENV{$variable} || $default;
	push @arguments, '--seed', $ENV{FUZZ_SEED} if $ENV{FUZZ_SEED};
	my ($status, $said) = fuzz($node, $scripts, '--seconds', $seconds, @arguments);
	is($status, 0, 'no difference') or diag($said);
	if ($status != 0)
	{
		diag("$_:\n" . slurp_file($_))
		  foreach grep { !/seed-spoiled/ } glob("$scripts/*.sql");
	}
	my ($total) = $said =~ /^(total: .*)/m;
	note($total);
	return ($seconds, $total);
}

1;
