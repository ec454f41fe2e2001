# Faults to plant in GiST indexes.  For each fault the module knows which columns of
# ptsort_check() count it.
package GistFaults;

use strict;
use warnings;
use Exporter 'import';
use IndexPages;
use Planting;

our @EXPORT = qw(gist_tree gist_faults);

# Flags of a page of a GiST index, and fields of its special area
my %flag = (leaf => 1, deleted => 2, tuples_deleted => 4, follow_right => 8, garbage => 16);
my %special = (nsn => [ 8176, 'Q' ], next => [ 8184, 'L' ], flags => [ 8188, 'S' ], id => [ 8190, 'S' ]);

sub gist_special
{
	my ($page, $name) = @_;
	return field($page, @{ $special{$name} });
}

sub set_gist_special
{
	my ($page, %new) = @_;
	$page = set_field($page, @{ $special{$_} }, $new{$_}) foreach keys %new;
	return $page;
}

sub children
{
	my ($page) = @_;
	return map { downlink(item($page, $_)) } 1 .. items($page);
}

# Reads a GiST index of two levels or more, and chooses the places of faults: a leaf
# ("leaf") in the middle of the children of a parent, the next child, an item of the
# leaf, and a leaf with another parent, if any.
sub gist_tree
{
	my ($node, $index, $table) = @_;
	my @pages = read_pages($node, $index);
	my (@levels, @inner) = ([0]);

	unshift @levels, [ map { children($pages[$_]) } @{ $levels[0] } ]
	  until gist_special($pages[ $levels[0][0] ], 'flags') & $flag{leaf};
	# faults may add an item to the leaf and to its parent
	my $has_room = sub { field($pages[ $_[0] ], $at{upper}, 'S') - field($pages[ $_[0] ], $at{lower}, 'S') > 1000 };
	my @parents = grep { $has_room->($_) } @{ $levels[1] };
	my $parent = $parents[ @parents / 2 ];
	my %tree = (index => $index, pages => \@pages, levels => \@levels, root => 0, parent => $parent);
	my @slots = grep {
		my $leaf = downlink(item($pages[$parent], $_));
		items($pages[$leaf]) > 4 && $has_room->($leaf)
	} 1 .. items($pages[$parent]) - 1;
	$tree{slot} = $slots[ @slots / 2 ];
	($tree{leaf}, $tree{right}) = map { downlink(item($pages[$parent], $_)) } $tree{slot}, $tree{slot} + 1;
	$tree{n} = int(items($pages[ $tree{leaf} ]) / 2);
	($tree{far}) = grep { $_ != $tree{leaf} && $_ != $tree{right} } reverse @{ $levels[0] };
	$tree{deleted} = [ grep { gist_special($pages[$_], 'flags') & $flag{deleted} } 0 .. $#pages ];
	$tree{heap} = (read_pages($node, $table))[1];
	return \%tree;
}

# Sets or clears flags of a page.
sub flags
{
	my ($place, $set, $clear) = @_;
	return on($place, sub { set_gist_special($_[0], flags => (gist_special($_[0], 'flags') | $set) & ~$clear) });
}

# Faults of headers, line pointers and whole pages
sub gist_page_faults
{
	return (
		bad_page_faults(8176),
		bad_page('no GiST page', sub { set_gist_special($_[0], id => 0) }),
		bad_page('unknown flag', sub { set_gist_special($_[0], flags => gist_special($_[0], 'flags') | 32) }),
		{ name => 'reserved bit of a tuple', found => 'bad_pages', change => on_entry(sub { set_field($_[0], 6, 'S', field($_[0], 6, 'S') | 0x2000) }) },
		{ name => 'leaf of zeroes', found => 'bad_pages broken_links', change => on('leaf', sub { "\0" x 8192 }) },
		{ name => 'root of zeroes', found => 'bad_pages', change => on('root', sub { "\0" x 8192 }) },
		{ name => 'copy of another leaf', found => 'out_of_order', change => on('leaf', sub { $_[1]{pages}[ $_[1]{far} ] }) },
		{
			name => 'half of another leaf', found => 'bad_pages out_of_order entries_without_row rows_without_entry', table => 1,
			change => on('leaf', sub { substr($_[0], 0, 4096) . substr($_[1]{pages}[ $_[1]{far} ], 4096) })
		},
		{
			name => 'two leaves exchanged', found => 'out_of_order',
			change => sub {
				my ($tree) = @_;
				my ($leaf, $far) = @{$tree}{ 'leaf', 'far' };
				return { $leaf => $tree->{pages}[$far], $far => $tree->{pages}[$leaf] };
			}
		});
}

# Entries that are lost, doubled or point elsewhere, or have another key
sub gist_entry_faults
{
	my $other_row = sub {
		my ($name, $tid) = @_;
		return {
			name => "entry of $name", found => 'entries_without_row', table => 1, change => on_entry(sub { set_tid($_[0], 0, $tid->($_[1])) })
		};
	};
	my @faults = (
		{ name => 'entry lost', found => 'rows_without_entry', change => on('leaf', sub { remove_item($_[0], $_[1]{n}) }) },
		{
			name => 'entry doubled', found => 'entries_without_row',
			change => on('leaf', sub { insert_item($_[0], $_[1]{n}, item($_[0], $_[1]{n})) })
		},
		{
			name => 'entry of no row added', found => 'entries_without_row',
			change => on('leaf', sub { insert_item($_[0], $_[1]{n}, set_tid(item($_[0], $_[1]{n}), 0, '(60000,1)')) })
		},
		$other_row->('a row beyond the end of the table', sub { '(60000,1)' }),
		$other_row->('no row of its page', sub { '(1,290)' }),
		$other_row->('a deleted row', sub { $_[0]{gone} }),
		$other_row->('another row', sub { (tids(item($_[0]{pages}[ $_[0]{far} ], 1)))[0] }),
		{
			name => 'key of another entry', found => 'entries_without_row',
			change => on('leaf', sub {
				my ($page, $tree) = @_;
				my $other = item($tree->{pages}[ $tree->{far} ], 1);
				return replace_item($page, $tree->{n}, set_tid($other, 0, (tids(item($page, $tree->{n})))[0]));
			})
		},
		{
			name => 'dead entry', found => 'rows_without_entry',
			change => on('leaf', sub {
				my ($page, $tree) = @_;
				my ($at, undef, $length) = item_id($page, $tree->{n});
				$page = set_gist_special($page, flags => gist_special($page, 'flags') | $flag{garbage});
				return set_item_id($page, $tree->{n}, $at, 3, $length);
			})
		});
	$_->{table} = 1 foreach @faults;
	return (
		@faults,
		{ name => 'dead entry, but no garbage', found => 'bad_pages', change => change_item_id(sub { ($_[2], 3, $_[4]) }) },
		{ name => 'entry without a row number', found => 'bad_pages', change => on_entry(sub { set_field($_[0], 4, 'S', 0) }) });
}

# Faults of downlinks
sub gist_downlink_faults
{
	return (
		downlink_faults(qw(right far parent root deleted end 4294967295)),
		{
			name => 'key of another downlink', found => 'out_of_order',
			change => on('parent', sub {
				my ($page, $tree) = @_;
				my $slot = $tree->{slot};
				return replace_item($page, $slot, set_downlink(item($page, $slot + 1), $tree->{leaf}));
			})
		},
		{
			name => 'key of the root of another child', found => 'out_of_order', deep => 1,
			change => on('root', sub { replace_item($_[0], 1, set_downlink(item($_[0], 2), downlink(item($_[0], 1)))) })
		},
		{ name => 'invalid downlink', found => 'bad_pages', change => on_slot(sub { set_field($_[0], 4, 'S', 0xfffe) }) },
		{ name => 'downlink with a number of a row', found => 'bad_pages', change => on_slot(sub { set_field($_[0], 4, 'S', 1) }) });
}

# Faults of right links, flags and NSNs
sub gist_state_faults
{
	my $right = sub {
		my ($to, $flags, $found) = @_;
		return {
			name => "right link to $to" . ($flags ? ' in an unfinished split' : ''), found => $found,
			change => on('leaf', sub { set_gist_special($_[0], next => place($_[1], $to), flags => gist_special($_[0], 'flags') | $flags) })
		};
	};
	return (
		# a page that was deleted, and then split off its old left neighbour
		$right->('leaf', 0, 'nothing'),
		$right->('leaf', $flag{follow_right}, 'broken_links'),
		$right->('end', 0, 'broken_links'),
		$right->('4294967294', 0, 'broken_links'),
		$right->('right', $flag{follow_right}, 'broken_links'),
		$right->('far', $flag{follow_right}, 'broken_links'),
		$right->('deleted', $flag{follow_right}, 'anything'),    # scans find nothing there
		$right->('4294967295', $flag{follow_right}, 'broken_links'),
		{ name => 'NSN of the future', found => 'broken_links', change => on('leaf', sub { set_gist_special($_[0], nsn => ~0 >> 2) }) },
		{ name => 'leaf marked deleted', found => 'broken_links', change => flags('leaf', $flag{deleted}, 0) },
		{ name => 'parent marked deleted', found => 'broken_links', deep => 1, change => flags('parent', $flag{deleted}, 0) },
		{ name => 'root marked deleted', found => 'bad_pages', change => flags('root', $flag{deleted}, 0) },
		{ name => 'deleted page in use', found => 'broken_links bad_pages', change => flags('deleted', 0, $flag{deleted}) },
		{ name => 'leaf without its flag', found => 'bad_pages', change => flags('leaf', 0, $flag{leaf}) },
		{ name => 'parent with a leaf\'s flag', found => 'bad_pages broken_links', change => flags('parent', $flag{leaf}, 0) },
		{ name => 'parent with garbage', found => 'bad_pages', change => flags('parent', $flag{garbage}, 0) },
		{ name => 'parent without downlinks', found => 'bad_pages', change => on('parent', sub { set_field($_[0], $at{lower}, 'S', 24) }) },
		# no faults
		{ name => 'leaf with garbage', found => 'nothing', change => flags('leaf', $flag{garbage}, 0) },
		{ name => 'leaf with deleted tuples', found => 'nothing', change => flags('leaf', $flag{tuples_deleted}, 0) },
		{ name => 'old right link', found => 'nothing', change => on('leaf', sub { set_gist_special($_[0], next => $_[1]{right}, nsn => 0) }) },
		{
			name => 'bytes between items and tuples', found => 'nothing',
			change => on('leaf', sub {
				my ($page) = @_;
				substr($page, field($page, $at{lower}, 'S'), 8) = 'whatever';
				return $page;
			})
		});
}

# Returns all faults of the pages of a tree.
sub gist_faults
{
	my ($tree) = @_;
	my $is_deep = @{ $tree->{levels} } > 2;
	return grep { $is_deep || !$_->{deep} } gist_page_faults(), gist_entry_faults(), gist_downlink_faults(), gist_state_faults();
}

1;
