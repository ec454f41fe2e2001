# Random faults: flips bits of one byte of a page of an index, asks for verdicts,
# and restores the page.  A crash of the server ends a series of flips, and then
# the next series begins.
package Flips;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use IndexPages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(pick random_place random_mask place_name run_flips);

sub pick { return $_[ rand @_ ] }

# Returns a random place in a page whose special area begins at $special: in the
# header, the line pointers or the special area; in tuples; or anywhere.
sub random_place
{
	my ($page, $special) = @_;
	my ($lower, $upper) = map { field($page, $at{$_}, 'S') } 'lower', 'upper';
	my $where = rand;

	return int(rand 8192) if $where < 0.1 || $lower < 24 || $upper > $special;
	return $special + int(rand(8192 - $special)) if $where < 0.25;
	return int(rand $lower) if $where < 0.4 || $upper == $special;
	return $upper + int(rand($special - $upper));
}

# Describes a place in a page.
sub place_name
{
	my ($page, $special, $offset) = @_;
	my ($lower, $upper) = map { field($page, $at{$_}, 'S') } 'lower', 'upper';

	return 'special area, byte ' . ($offset - $special) if $offset >= $special;
	return 'header' if $offset < 24;
	return $upper == $special ? 'content' : 'line pointer' if $offset < $lower;
	return 'no content' if $offset < $upper;
	foreach my $n (1 .. items($page))
	{
		my ($start, $flags, $length) = item_id($page, $n);
		return "item $n, byte " . ($offset - $start) . " of $length" if $offset >= $start && $offset < $start + $length;
	}
	return 'old content';
}

# Returns a mask: one bit of a byte, or all bits, or any bits.
sub random_mask
{
	return pick(1 << int(rand 8), 1 << int(rand 8), 0xff, 1 + int(rand 255));
}

# Returns the statements of a flip.  Between the change and its undoing, they
# ask for the verdicts, and print each on a line, after its name.  So the test
# knows which verdict crashed the server.
sub statements
{
	my ($flip, $questions) = @_;
	my ($index, $block, $offset, $page) = @{$flip}{ 'index', 'block', 'offset', 'page' };
	my $byte = substr($page, $offset, 1) ^ chr $flip->{mask};

	# scans by a damaged page may mark its entries dead: restore all of the page
	return join '', write_page($index, $block, $byte, $offset),
	  (map { sprintf "SET statement_timeout = '%ds'; SELECT '%s: ' || %s;\n", $_->[2] // 60, @{$_}[ 0, 1 ] } $questions->($flip)),
	  write_page($index, $block, $page);
}

# Runs a script in psql.  $limits has the most seconds until each line of its output;
# after that, the function ends the server process, as the server has loops without an
# end that cannot be interrupted: that is a crash, too.
sub run_script
{
	my ($node, $file, @limits) = @_;
	my ($out, $err) = ('', '');
	my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err);
	my ($lines, $since) = (0, time);

	while ($psql->pumpable)
	{
		$psql->pump_nb;
		usleep(10_000);
		my $now = $out =~ tr/\n//;
		($lines, $since) = ($now, time) if $now > $lines;
		next if time < $since + ($limits[$lines] // 60) + 10;
		kill 'ABRT', split /\n/, $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()});
		$since = time;
	}
	$psql->finish;
	return ($out, $err);
}

# Runs flips until a crash, and stores their verdicts.  Returns the number of
# flips, and the name of the verdict that crashed.
sub run_series
{
	my ($node, $questions, @list) = @_;
	my $file = $node->basedir . '/flips.sql';
	append_to_file($file, join '', map { statements($_, $questions) } @list);
	my ($out, $err) = run_script($node, $file, map { map { $_->[2] } $questions->($_) } @list);
	unlink $file;
	my @lines = split /\n/, $out;
	foreach my $n (1 .. @list)
	{
		foreach my $question ($questions->($list[ $n - 1 ]))
		{
			my $name = $question->[0];
			return ($n, $name) unless @lines;
			($list[ $n - 1 ]{$name}) = (shift @lines) =~ /^$name: (.*)/ or die "no verdict \"$name\": $err";
		}
	}
	return scalar @list;
}

# Waits until the server is back after a crash, of which the log since $offset has
# nothing yet, perhaps: until then, the server still accepts connections.
sub wait_for_restart
{
	my ($node, $offset) = @_;
	foreach my $attempt (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if slurp_file($node->logfile, $offset) =~ /terminated by signal.*ready to accept connections/s;
		usleep(100_000);
	}
	die 'the server does not restart';
}

# Runs all flips.  A flip has the fields index, block, offset, mask and page (the
# sound one).  $questions returns the questions about a flip, each as a name, an
# expression and, if not 60, the most seconds; the function stores the answers in the
# flip.  After a crash, it
# stores the name of the question as "crashed", and calls $repair, which returns
# the flips that are left: the sound pages may have changed.
sub run_flips
{
	my ($node, $questions, $repair, @list) = @_;

	while (@list)
	{
		my $end = -s $node->logfile;
		my @series = splice @list, 0, 50;
		my ($n, $crashed) = run_series($node, $questions, @series);
		next unless $crashed;
		$series[ $n - 1 ]{crashed} = $crashed;
		wait_for_restart($node, $end);
		@list = $repair->(@series[ $n .. $#series ], @list);
	}
	return;
}

1;
