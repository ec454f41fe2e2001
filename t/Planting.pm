# Plants faults in indexes, and tests what ptsort_check() reports.  A fault has:
#   name      its name
#   change    a function of a tree; it returns the changed pages, by block
#   plant     or statements that plant the fault, and undo that undo it
#   broken    true if the index is broken already
#   found     columns of ptsort_check(), of which one counts the fault; "nothing"
#             if there must be no problem; "anything" if both is right
#   table     true if the check needs the table
# A tree has the fields "index", "pages", "deleted" (blocks of deleted pages), and
# blocks by name.
package Planting;

use strict;
use warnings;
use Exporter 'import';
use IndexPages;
use PostgreSQL::Test::Cluster;
use Test::More;
use Verdicts;

our @EXPORT = qw(on on_item place swap_items change_item_id broken_file plant_changes plant_faults);

# Returns the block with a name, or a number.
sub place
{
	my ($tree, $value) = @_;
	return $value =~ /^\d+$/ ? $value
	  : $value eq 'end' ? scalar @{ $tree->{pages} }
	  : $value eq 'deleted' ? $tree->{deleted}[0]
	  : $tree->{$value} // die "no place $value";
}

# Changes one of the tree's pages.
sub on
{
	my ($place, $change) = @_;
	return sub {
		my ($tree) = @_;
		my $block = place($tree, $place);
		return { $block => $change->($tree->{pages}[$block], $tree) };
	};
}

# Changes an item of a page, whose number has a name.
sub on_item
{
	my ($place, $number, $change) = @_;
	return on($place, sub {
		my ($page, $tree) = @_;
		return set_item($page, $tree->{$number}, $change->(item($page, $tree->{$number}), $tree));
	});
}

# Exchanges two line pointers.
sub swap_items
{
	my ($page, $i, $j) = @_;
	my @i = item_id($page, $i);
	$page = set_item_id($page, $i, item_id($page, $j));
	return set_item_id($page, $j, @i);
}

# Changes the line pointer of the leaf's chosen item.
sub change_item_id
{
	my ($change) = @_;
	return on('leaf', sub {
		my ($page, $tree) = @_;
		return set_item_id($page, $tree->{n}, $change->($page, $tree->{n}, item_id($page, $tree->{n})));
	});
}

# Damages a file of a stopped server: inverts four bytes of a block, whose checksum
# is then wrong, or removes the last block, if $block is undefined.
sub broken_file
{
	my ($path, $block) = @_;
	open(my $fh, '+<', $path) or die "$path: $!";
	binmode $fh;
	if (!defined $block)
	{
		truncate($fh, (-s $path) - 8192) or die "$path: $!";
		return;
	}
	seek($fh, $block * 8192 + 8000, 0);
	read($fh, my $bytes, 4);
	seek($fh, $block * 8192 + 8000, 0);
	print $fh ~$bytes;
	close $fh or die "$path: $!";
	return;
}

# Returns the statements that print verdicts on an index, one on each line.
sub ask_ptsort
{
	my ($index, $table, @workers) = @_;
	my $heap = $table ? 'true' : 'false';
	return '' unless $has_check;
	return join '', map { "SELECT ptsort_says('$index', $heap, $_);\n" } @workers;
}

# Tests the verdicts of ptsort_check() on a fault, or on a sound index if
# $expected is "nothing".
sub ptsort_finds
{
	my ($verdict, $expected, $name) = @_;
	my $found = problems_in($verdict);

	if ($expected eq 'nothing')
	{
		is_deeply($found, {}, "$name: no problem") or diag($verdict);
		return;
	}
	ok(!$found->{error} && ($expected eq 'anything' || grep({ $found->{$_} } split / /, $expected)), "$name: $expected")
	  or diag($verdict);
	return;
}

# Plants faults in an index, one after the other, and tests the verdicts on the sound
# index and on each fault.  $ask returns more statements for a fault, each of which
# prints a line, and $judge gets the fault, its name and these lines.
sub plant_faults
{
	my ($node, $index, $faults, $ask, $judge) = @_;
	my $sql = join '', map {
		($_->{broken} ? '' : ask_ptsort($index, 1, 0)) . ($_->{plant} // '') . ask_ptsort($index, $_->{table}, 0, 3)
		  . ($ask ? $ask->($_) : '') . ($_->{undo} // '')
	} @$faults;
	my @lines = split /\n/, $node->safe_psql('postgres', $sql), -1;

	foreach my $fault (@$faults)
	{
		my $name = "$index: $fault->{name}";
		my @sound = splice @lines, 0, $has_check && !$fault->{broken} ? 1 : 0;
		my @faulty = splice @lines, 0, $has_check ? 2 : 0;
		my @others = splice @lines, 0, $ask ? scalar(split /\n/, $ask->($fault)) : 0;
		$judge->($fault, $name, @others) if @others;
		ptsort_finds($_, 'nothing', "$name: sound before") foreach @sound;
		ptsort_finds($_, $fault->{found}, $name) foreach @faulty;
	}
	return;
}

# Plants faults of pages in a tree.
sub plant_changes
{
	my ($node, $tree, $faults, @judge) = @_;
	my $index = $tree->{index};

	foreach my $fault (@$faults)
	{
		my $new = $fault->{change}->($tree);
		my @blocks = sort { $a <=> $b } keys %$new;
		$fault->{plant} = join '', map { write_page($index, $_, $new->{$_}) } @blocks;
		$fault->{undo} = join '', map { write_page($index, $_, $tree->{pages}[$_]) } @blocks;
	}
	plant_faults($node, $index, $faults, @judge);
	is($node->safe_psql('postgres', "SELECT pg_relation_size('$index')"), 8192 * @{ $tree->{pages} }, "$index: no pages added");
	return;
}

1;
