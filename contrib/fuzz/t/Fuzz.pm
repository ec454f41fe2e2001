# Run contrib/fuzz/fuzz.py from a test.
package Fuzz;
use strict;
use warnings;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(fuzz show_scripts);

# Run fuzz.py with these arguments on a node of ours; scripts of failures are
# left in a directory.  Returns its exit status and what it said.
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

# The scripts of failures, but for those of the case that was spoiled.
sub show_scripts
{
	my ($scripts) = @_;
	diag("$_:\n" . slurp_file($_))
	  foreach grep { !/seed-spoiled/ } glob("$scripts/*.sql");
	return;
}

1;
