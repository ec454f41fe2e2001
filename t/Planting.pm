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

our @EXPORT = qw(on on_item on_entry on_slot place swap_items replace_item change_item_id bad_page
  bad_page_faults downlink_faults broken_file plant_changes plant_faults);

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

# Changes the chosen item of the leaf, or the downlink to the leaf.
sub on_entry
{
	my ($change) = @_;
	return on_item('leaf', 'n', $change);
}

sub on_slot
{
	my ($change) = @_;
	return on_item('parent', 'slot', $change);
}

# Replaces an item by one that may be longer.
sub replace_item
{
	my ($page, $n, $tuple) = @_;
	return set_item($page, $n, $tuple) if length $tuple == length item($page, $n);
	return insert_item(remove_item($page, $n), $n, $tuple);
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

# Returns a fault of the leaf as a page.
sub bad_page
{
	my ($name, $change) = @_;
	return { name => $name, found => 'bad_pages', change => on('leaf', $change) };
}

# Returns faults of headers and line pointers of a leaf whose special area begins at
# $special.
sub bad_page_faults
{
	my ($special) = @_;
	my $pointer = sub {
		my ($name, $change) = @_;
		return { name => "line pointer $name", found => 'bad_pages', change => change_item_id($change) };
	};
	return (
		bad_page('lower beyond upper', sub { set_field($_[0], $at{lower}, 'S', field($_[0], $at{upper}, 'S') + 4) }),
		bad_page('lower between line pointers', sub { set_field($_[0], $at{lower}, 'S', field($_[0], $at{lower}, 'S') + 2) }),
		bad_page('upper beyond tuples', sub { set_field($_[0], $at{upper}, 'S', $special) }),
		bad_page('no special area', sub { set_field($_[0], $at{special}, 'S', 8192) }),
		bad_page('another version of pages', sub { set_field($_[0], $at{version}, 'S', 8192 | 3) }),
		bad_page('page of the table', sub { $_[1]{heap} }),
		$pointer->('beyond the page', sub { (8192 - 8, 1, $_[4]) }),
		$pointer->('to the special area', sub { ($special, 1, 16) }),
		$pointer->('not aligned', sub { ($_[2] + 4, 1, $_[4]) }),
		$pointer->('without length', sub { ($_[2], 1, 0) }),
		$pointer->('not used', sub { (0, 0, 0) }),
		$pointer->('redirected', sub { ($_[2], 2, 0) }),
		$pointer->('of another tuple', sub { item_id($_[0], $_[1] + 1) }),
		{ name => 'wrong size of a tuple', found => 'bad_pages', change => on_entry(sub { set_field($_[0], 6, 'S', field($_[0], 6, 'S') + 8) }) });
}

# Returns faults of downlinks, for example to these places.
sub downlink_faults
{
	my (@places) = @_;
	my @faults = map {
		my $to = $_;
		{ name => "downlink to $to", found => 'broken_links', change => on_slot(sub { set_downlink($_[0], place($_[1], $to)) }) }
	} @places;
	return (
		@faults,
		{ name => 'downlink lost', found => 'broken_links', change => on('parent', sub { remove_item($_[0], $_[1]{slot}) }) },
		{
			name => 'downlink doubled', found => 'broken_links out_of_order',
			change => on('parent', sub { insert_item($_[0], $_[1]{slot}, item($_[0], $_[1]{slot})) })
		},
		{
			name => 'two downlinks exchanged', found => 'out_of_order broken_links',
			change => on('parent', sub {
				my ($page, $tree) = @_;
				my @n = ($tree->{slot}, $tree->{slot} + 1);
				my ($here, $next) = map { item($page, $_) } @n;
				$page = set_item($page, $n[0], set_downlink($here, downlink($next)));
				return set_item($page, $n[1], set_downlink($next, downlink($here)));
			})
		},
		{
			name => 'downlink in the root to a leaf', found => 'broken_links', deep => 1,
			change => on('root', sub { set_item($_[0], 1, set_downlink(item($_[0], 1), $_[1]{leaf})) })
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
