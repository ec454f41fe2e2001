#!/usr/bin/perl
#
# macro-arguments.pl - find arguments with a possible side effect in calls of
# macros that evaluate them more than once.
#
#	macro-arguments.pl [--allow FILE] 'COMPILER FLAGS' SOURCE...
#
# The script counts the evaluations of each macro argument.  The compiler
# lists the macros that are in effect at the end of each source (-E -dM).  In
# the macros' definitions, the script follows calls of other macros.  An
# argument may have a side effect if it contains an assignment, an increment, a
# decrement or a function call.  The file that --allow names lists functions
# without side effects, one name a line; "#" begins a comment.
# The script prints one line for each finding, "FILE: MACRO: ARGUMENT".
use strict;
use warnings;

my $allow_file;
if (@ARGV && $ARGV[0] eq '--allow')
{
	shift;
	$allow_file = shift;
}
my ($compiler, @sources) = @ARGV;
die "usage: macro-arguments.pl [--allow FILE] 'COMPILER FLAGS' SOURCE...\n"
  unless @sources;

my %harmless;
my %macro;    # name => { params => [...], body => text, times => [...] }

sub slurp
{
	my ($path) = @_;
	open(my $fh, '<', $path) or die "could not open $path: $!\n";
	local $/;
	return scalar <$fh>;
}

# Returns the source without comments.  Each string literal becomes "" and each
# character constant becomes '0'.
sub bare
{
	my ($text) = @_;
	$text =~ s{("(?:[^"\\]|\\.)*")|('(?:[^'\\]|\\.)*')|/\*.*?\*/|//[^\n]*}
		{defined $1 ? '""' : defined $2 ? "'0'" : ' '}gse;
	return $text;
}

# Returns the position after the parenthesis that closes the one at $open, and
# the arguments between these parentheses.
sub arguments
{
	my ($text, $open) = @_;
	my ($depth, $start, @found) = (0, $open + 1);

	for (my $i = $open; $i < length $text; $i++)
	{
		my $c = substr($text, $i, 1);
		$depth++ if $c =~ /[(\[{]/;
		$depth-- if $c =~ /[)\]}]/;
		if ($depth == 0 || ($depth == 1 && $c eq ','))
		{
			push @found, substr($text, $start, $i - $start);
			$start = $i + 1;
		}
		return ($i + 1, @found) if $depth == 0;
	}
	return;
}

# Reads the function-like macros that are in effect at the end of a source.
sub learn_macros
{
	my ($source) = @_;
	open(my $pipe, '-|', "$compiler -E -dM '$source'") or die "could not run $compiler: $!\n";
	while (my $line = <$pipe>)
	{
		next unless $line =~ /^#define (\w+)\(([^)]*)\)\s*(.*)$/;
		my ($name, $params, $body) = ($1, $2, bare($3));
		my @params = map { s/^\s+|\s+$//gr } split /,/, $params;
		$params[-1] = '__VA_ARGS__' if @params && $params[-1] eq '...';
		# the compiler does not evaluate operands of sizeof, typeof, #, ## etc.
		$body =~ s/\b(?:sizeof|__typeof__|typeof|offsetof|__builtin_types_compatible_p|__builtin_constant_p)\s*(\((?:[^()]|(?1))*\))/0/g;
		$body =~ s/#?#\s*\w+//g;
		$macro{$name} = { params => \@params, body => $body, times => [ (0) x @params ] };
	}
	close $pipe or die "$compiler failed for $source\n";
}

# Counts the evaluations of a parameter in a body, using the counts of other
# macros.
sub evaluations
{
	my ($body, $param) = @_;
	my $times = 0;

	while ($body =~ /\b(\w+)\b(\s*\()?/g)
	{
		my ($word, $call) = ($1, $2);
		my $behind = pos $body;
		$times++ if $word eq $param;
		next unless $call && $macro{$word};
		my ($end, @args) = arguments($body, $behind - 1);
		next unless defined $end;
		for my $i (0 .. $#args)
		{
			my $factor = times_of($word, $i);
			$times += $factor * evaluations($args[$i], $param);
		}
		pos($body) = $end;
	}
	return $times;
}

# Returns the number of times that a macro evaluates its argument number $i.
sub times_of
{
	my ($name, $i) = @_;
	my $times = $macro{$name}{times};
	return 1 unless @$times;
	return $times->[ $i > $#$times ? $#$times : $i ];
}

# Computes how often each macro evaluates each of its arguments; 9 stands for 9
# or more.  Repeats the computation until no count changes.
sub count_evaluations
{
	my $changed = 1;
	while ($changed)
	{
		$changed = 0;
		foreach my $m (values %macro)
		{
			for my $i (0 .. $#{ $m->{params} })
			{
				my $n = evaluations($m->{body}, $m->{params}[$i]);
				$n = 9 if $n > 9;
				next if $n <= $m->{times}[$i];
				$m->{times}[$i] = $n;
				$changed = 1;
			}
		}
	}
}

# True if the argument may have a side effect.
sub side_effect
{
	my ($argument) = @_;
	return 1 if $argument =~ /\+\+|--|(?<![=!<>])=(?!=)/;
	while ($argument =~ /\b([A-Za-z_]\w*)\s*\(/g)
	{
		if (exists $harmless{$1}) { $harmless{$1}++; next; }
		next if $macro{$1} || $1 =~ /^(?:sizeof|offsetof|__typeof__|typeof|return|if|while|for|switch)$/;
		return 1;
	}
	return 0;
}

sub scan
{
	my ($source) = @_;
	my $text = bare(slurp($source));
	my @found;

	$text =~ s/^[ \t]*#[ \t]*define\s+\w+(?:\([^)\n]*\))?//mg;
	while ($text =~ /\b(\w+)\s*\(/g)
	{
		my $name = $1;
		my $behind = pos $text;
		next unless $macro{$name};
		my ($end, @args) = arguments($text, $behind - 1);
		next unless defined $end;
		for my $i (0 .. $#args)
		{
			next if times_of($name, $i) < 2 || !side_effect($args[$i]);
			push @found, [ $source, $name, $args[$i] =~ s/\s+/ /gr =~ s/^ | $//gr ];
		}
	}
	return @found;
}

learn_macros($_) foreach grep { /\.c$/ } @sources;
count_evaluations();
if ($allow_file)
{
	$harmless{$_} = 0 foreach grep { /\S/ && !/^#/ } split /\n/, slurp($allow_file);
}
my @found = map { scan($_) } @sources;
print join(': ', @$_), "\n" foreach @found;
my @unused = sort grep { !$harmless{$_} } keys %harmless;
print "$allow_file: no longer needed: $_\n" foreach @unused;
exit(@found || @unused ? 1 : 0);
