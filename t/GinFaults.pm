# Faults to plant in GIN indexes.  For each fault the module knows which columns of
# ptsort_check() count it.
package GinFaults;

use strict;
use warnings;
use Exporter 'import';
use IndexPages;
use Planting;

our @EXPORT = qw(gin_tree gin_faults posting_tree posting_faults pending_list pending_faults);

# Flags of a page of a GIN index, fields of its special area, and the metapage
my %flag = (
	data => 1, leaf => 2, deleted => 4, meta => 8, list => 16, full_row => 32, incomplete => 64, compressed => 128);
my %place_of = (next => [ 8184, 'L' ], maxoff => [ 8188, 'S' ], flags => [ 8190, 'S' ]);
my %meta = (
	head => [ 24, 'L' ], tail => [ 28, 'L' ], tail_free => [ 32, 'L' ], pending_pages => [ 36, 'L' ], pending_rows => [ 40, 'q' ],
	entries => [ 64, 'q' ], version => [ 72, 'L' ]);
my $none = 0xffffffff;
my $problems = 'bad_pages out_of_order broken_links entries_without_row rows_without_entry';

sub special
{
	my ($page, $name) = @_;
	return field($page, @{ $place_of{$name} });
}

sub set_special
{
	my ($page, %new) = @_;
	$page = set_field($page, @{ $place_of{$_} }, $new{$_}) foreach keys %new;
	return $page;
}

# Returns the downlinks of an inner page of the entry tree.
sub children
{
	my ($page) = @_;
	return map { downlink(item($page, $_)) } 1 .. items($page);
}

# Reads a GIN index whose entry tree has two levels or more, and chooses the places of
# faults: a leaf ("leaf") in the middle of the children of a parent, the children
# beside it, an item of the leaf, and another leaf.
sub gin_tree
{
	my ($node, $index, $table) = @_;
	my @pages = read_pages($node, $index);
	my @levels = ([1]);

	unshift @levels, [ map { children($pages[$_]) } @{ $levels[0] } ] until special($pages[ $levels[0][0] ], 'flags') & $flag{leaf};
	my $parent = $levels[1][ @{ $levels[1] } / 2 ];
	my %tree = (index => $index, pages => \@pages, levels => \@levels, root => 1, parent => $parent);
	$tree{slot} = int(items($pages[$parent]) / 2) || 1;
	($tree{left}, $tree{leaf}, $tree{right}) = map { downlink(item($pages[$parent], $_ < 1 ? 1 : $_)) } $tree{slot} - 1 .. $tree{slot} + 1;
	my $leaf = $pages[ $tree{leaf} ];
	# an entry of one row, if any
	my @one = grep { field(item($leaf, $_), 4, 'S') == 1 } 2 .. items($leaf) - 1;
	$tree{n} = @one ? $one[ @one / 2 ] : int(items($leaf) / 2);
	($tree{far}) = grep { $_ != $tree{leaf} && $_ != $tree{right} && $_ != $tree{left} } reverse @{ $levels[0] };
	$tree{deleted} = [ grep { $_ && special($pages[$_], 'flags') & $flag{deleted} } 0 .. $#pages ];
	$tree{heap} = (read_pages($node, $table))[1];
	return \%tree;
}

# Sets a field of the special area of a page.  A value is a number or a place.
sub set
{
	my ($place, $name, $value) = @_;
	return on($place, sub { set_special($_[0], $name => place($_[1], $value)) });
}

sub flags
{
	my ($place, $set, $clear) = @_;
	return on($place, sub { set_special($_[0], flags => (special($_[0], 'flags') | $set) & ~$clear) });
}

sub meta
{
	my ($name, $value) = @_;
	return on(0, sub { set_field($_[0], @{ $meta{$name} }, place($_[1], $value)) });
}

sub zeroes
{
	my ($place) = @_;
	return on($place, sub { "\0" x 8192 });
}

# A page that its left neighbour bypasses
sub bypass
{
	my ($tree) = @_;
	return { $tree->{left} => set_special($tree->{pages}[ $tree->{left} ], next => special($tree->{pages}[ $tree->{leaf} ], 'next')) };
}

sub exchange
{
	my ($tree) = @_;
	my ($leaf, $far) = @{$tree}{ 'leaf', 'far' };
	return { $leaf => $tree->{pages}[$far], $far => $tree->{pages}[$leaf] };
}

# Faults of pages of the entry tree, of their flags and of the metapage
sub entry_page_faults
{
	my $fault = sub { return { name => $_[0], found => $_[1], change => $_[2] } };
	return (
		bad_page_faults(8184),
		$fault->('leaf of zeroes', 'bad_pages broken_links', zeroes('leaf')),
		$fault->('parent of zeroes', 'bad_pages broken_links', zeroes('parent')),
		$fault->('root of zeroes', 'bad_pages broken_links', zeroes('root')),
		$fault->('metapage of zeroes', 'bad_pages', zeroes(0)),
		$fault->('no metapage', 'bad_pages', flags(0, 0, $flag{meta})),
		$fault->('version 99', 'bad_pages', meta(version => 99)),
		$fault->('metapage in place of a leaf', 'bad_pages broken_links', on('leaf', sub { $_[1]{pages}[0] })),
		$fault->('leaf in place of the metapage', 'bad_pages', on(0, sub { $_[1]{pages}[ $_[1]{leaf} ] })),
		$fault->('copy of another leaf', 'broken_links out_of_order', on('leaf', sub { $_[1]{pages}[ $_[1]{far} ] })),
		$fault->('two leaves exchanged', 'broken_links out_of_order', \&exchange),
		$fault->('half of another leaf', $problems, on('leaf', sub { substr($_[0], 0, 4096) . substr($_[1]{pages}[ $_[1]{far} ], 4096) })),
		$fault->('unknown flag', 'bad_pages', flags('leaf', 0x100, 0)),
		$fault->('leaf without its flag', 'bad_pages broken_links', flags('leaf', 0, $flag{leaf})),
		$fault->('parent with a leaf\'s flag', 'bad_pages broken_links', flags('parent', $flag{leaf}, 0)),
		$fault->('leaf of a posting tree', 'bad_pages broken_links', flags('leaf', $flag{data}, 0)),
		$fault->('leaf of the pending list', 'bad_pages broken_links', flags('leaf', $flag{list}, 0)),
		$fault->('leaf marked deleted', 'bad_pages broken_links', flags('leaf', $flag{deleted}, 0)),
		$fault->('root marked deleted', 'bad_pages broken_links', flags('root', $flag{deleted}, 0)),
		$fault->('unfinished split', 'anything', flags('leaf', $flag{incomplete}, 0)),
		$fault->('unfinished split of the root', 'broken_links', flags('root', $flag{incomplete}, 0)),
		$fault->('parent without downlinks', 'bad_pages broken_links', on('parent', sub { set_field($_[0], $at{lower}, 'S', 24) })),
		$fault->('other statistics', 'nothing', meta(entries => 1)),
		$fault->('bytes between items and tuples', 'nothing',
			on('leaf', sub { my ($page) = @_; substr($page, field($page, $at{lower}, 'S'), 8) = 'whatever'; $page })));
}

# Faults in the order of keys
sub key_faults
{
	my $fault = sub { return { name => $_[0], found => $_[1], change => $_[2], table => $_[3] } };
	return (
		$fault->('two items exchanged', 'out_of_order', on('leaf', sub { swap_items($_[0], $_[1]{n}, $_[1]{n} + 1) })),
		$fault->('first and last item exchanged', 'out_of_order broken_links', on('leaf', sub { swap_items($_[0], 1, items($_[0])) })),
		$fault->('key doubled', 'out_of_order', on('leaf', sub { insert_item($_[0], $_[1]{n}, item($_[0], $_[1]{n})) })),
		$fault->('key lost', 'rows_without_entry', on('leaf', sub { remove_item($_[0], $_[1]{n}) }), 1),
		$fault->('key of another leaf', 'out_of_order',
			on('leaf', sub { replace_item($_[0], $_[1]{n}, item($_[1]{pages}[ $_[1]{far} ], 1)) })),
		$fault->('items of a parent exchanged', 'out_of_order broken_links', on('parent', sub { swap_items($_[0], $_[1]{slot}, $_[1]{slot} + 1) })),
		$fault->('key of another downlink', 'out_of_order broken_links',
			on('parent', sub {
				my ($page, $tree) = @_;
				my $slot = $tree->{slot};
				return replace_item($page, $slot, set_downlink(item($page, $slot + 1), $tree->{leaf}));
			})),
		$fault->('null bitmap without a null', 'bad_pages out_of_order', on_entry(sub { set_field($_[0], 6, 'S', field($_[0], 6, 'S') ^ 0x8000) })),
		$fault->('reserved bit of a tuple', 'anything', on_entry(sub { set_field($_[0], 6, 'S', field($_[0], 6, 'S') | 0x2000) })));
}

# The list of row numbers in an entry: its place in the tuple
sub list_at
{
	my ($tuple) = @_;
	return field($tuple, 0, 'S') << 16 & 0x7fff0000 | field($tuple, 2, 'S');
}

# Changes the first row number of the list of the leaf's item $n.
sub on_list
{
	my ($change) = @_;
	return on_entry(sub { $change->($_[0], list_at($_[0]), $_[1]) });
}

# Sets a row number at a place.
sub set_tid_at
{
	my ($bytes, $at, $block, $offset) = @_;
	$bytes = set_field(set_field($bytes, $at, 'S', $block >> 16), $at + 2, 'S', $block & 0xffff);
	return set_field($bytes, $at + 4, 'S', $offset);
}

# Faults of lists in entries
sub list_faults
{
	my $fault = sub { return { name => $_[0], found => $_[1], change => $_[2], table => $_[3] } };
	return (
		$fault->('one row number too many', 'bad_pages', on_entry(sub { set_field($_[0], 4, 'S', field($_[0], 4, 'S') + 1) })),
		$fault->('no row numbers', 'bad_pages rows_without_entry', on_entry(sub { set_field($_[0], 4, 'S', 0) }), 1),
		$fault->('list beyond its tuple', 'bad_pages', on_entry(sub { set_field($_[0], 2, 'S', length $_[0]) })),
		$fault->('list in its key', $problems, on_entry(sub { set_field($_[0], 2, 'S', 4) })),
		$fault->('list longer than its tuple', 'bad_pages', on_list(sub { set_field($_[0], $_[1] + 6, 'S', 4000) })),
		$fault->('entry of a row beyond the end of the table', 'entries_without_row', on_list(sub { set_tid_at($_[0], $_[1], 60000, 1) }), 1),
		$fault->('entry of no row of its page', 'entries_without_row', on_list(sub { set_tid_at($_[0], $_[1], 0, 290) }), 1),
		$fault->('entry of another row', 'entries_without_row', on_list(sub { set_tid_at($_[0], $_[1], 1, 3) }), 1),
		$fault->('row number 0', 'bad_pages', on_list(sub { set_field($_[0], $_[1] + 4, 'S', 0) })),
		(
			map { $fault->("posting tree at $_", 'broken_links bad_pages', posting_root($_)) } qw(leaf root end), 0
		));
}

# Makes an item point to a posting tree.
sub posting_root
{
	my ($to) = @_;
	return on_entry(sub { set_field(set_downlink($_[0], place($_[1], $to)), 4, 'S', 0xffff) });
}

# Faults of links in the entry tree
sub entry_link_faults
{
	my @faults = map {
		my ($place, $to) = @$_;
		{ name => "right link of $place to $to", found => 'broken_links', change => set($place, next => $to) }
	} ([ leaf => 'leaf' ], [ leaf => 'far' ], [ leaf => 'end' ], [ leaf => 'parent' ], [ leaf => 0 ], [ leaf => $none ], [ root => 'leaf' ], [ root => 'root' ]);
	return (
		@faults,
		downlink_faults(qw(right far parent root 0 end 4294967295)),
		{ name => 'a leaf bypasses the next', found => 'broken_links', change => \&bypass },
		{ name => 'downlink with a number of a row', found => 'anything', change => on_slot(sub { set_field($_[0], 4, 'S', 1) }) });
}

# Returns all faults of an entry tree.
sub gin_faults
{
	my ($tree) = @_;
	my $is_deep = @{ $tree->{levels} } > 2;
	return grep { $is_deep || !$_->{deep} } entry_page_faults(), key_faults(), list_faults(), entry_link_faults();
}

# Posting trees: the inner page has items of 10 bytes at 32: child and bound.
sub posting_child
{
	my ($page, $n) = @_;
	return downlink(substr $page, 22 + 10 * $n, 4);
}

sub set_posting_child
{
	my ($page, $n, $block) = @_;
	substr($page, 22 + 10 * $n, 4) = set_downlink("\0" x 4, $block);
	return $page;
}

# Changes the item "slot" of the root of the posting tree.
sub set_child
{
	my ($to) = @_;
	return on('root', sub { set_posting_child($_[0], $_[1]{slot}, place($_[1], $to)) });
}

# Finds the largest posting tree of an index.
sub posting_tree
{
	my ($tree) = @_;
	my @pages = @{ $tree->{pages} };
	my ($root) = sort { special($pages[$b], 'maxoff') <=> special($pages[$a], 'maxoff') }
	  grep { $_ && (special($pages[$_], 'flags') & ($flag{data} | $flag{leaf} | $flag{deleted})) == $flag{data} } 0 .. $#pages;
	my $slot = int(special($pages[$root], 'maxoff') / 2);
	my ($left, $leaf, $right) = map { posting_child($pages[$root], $_) } $slot - 1 .. $slot + 1;
	my $far = posting_child($pages[$root], special($pages[$root], 'maxoff'));
	return { %$tree, entry => $tree->{leaf}, root => $root, slot => $slot, left => $left, leaf => $leaf, right => $right, far => $far };
}

# Faults of a posting tree's inner page and links
sub posting_link_faults
{
	my $fault = sub { return { name => $_[0], found => $_[1], change => $_[2], table => $_[3] } };
	my $bound = sub {
		my ($place, $at, $block) = @_;
		return on($place, sub { set_tid_at($_[0], ref $at ? $at->($_[1]) : $at, $block, 1) });
	};
	my $key = sub { 26 + 10 * $_[0]{slot} };
	return (
		(map { $fault->("posting tree: downlink to $_", 'broken_links bad_pages', set_child($_)) } qw(right far root entry deleted end 0 4294967295)),
		(map { $fault->("posting tree: right link to $_", 'broken_links', set('leaf', next => $_)) } qw(leaf far root entry deleted end 0 4294967295)),
		$fault->('posting tree: a leaf bypasses the next', 'broken_links', \&bypass),
		$fault->('posting tree: two downlinks exchanged', 'broken_links', on('root', sub {
			my ($page, $tree) = @_;
			my $n = $tree->{slot};
			return set_posting_child(set_posting_child($page, $n, $tree->{right}), $n + 1, $tree->{leaf});
		})),
		$fault->('posting tree: downlink lost', 'broken_links', on('root', sub {
			my ($page, $tree) = @_;
			my ($at, $end) = (22 + 10 * $tree->{slot}, field($page, $at{lower}, 'S'));
			substr($page, $at, $end - $at) = substr($page, $at + 10, $end - $at - 10) . "\0" x 10;
			return set_special(set_field($page, $at{lower}, 'S', $end - 10), maxoff => special($page, 'maxoff') - 1);
		})),
		$fault->('posting tree: bound of a downlink too small', 'broken_links out_of_order', $bound->('root', $key, 1)),
		$fault->('posting tree: bound of a downlink too large', 'broken_links out_of_order', $bound->('root', $key, 70000)),
		$fault->('posting tree: bound of the leaf too small', 'broken_links out_of_order', $bound->('leaf', 24, 1)),
		$fault->('posting tree: bound of the leaf too large', 'broken_links out_of_order', $bound->('leaf', 24, 70000)),
		$fault->('posting tree: number of downlinks', 'bad_pages broken_links', on('root', sub { set_special($_[0], maxoff => special($_[0], 'maxoff') + 1) })),
		$fault->('posting tree: no downlinks', 'bad_pages broken_links', on('root', sub { set_special(set_field($_[0], $at{lower}, 'S', 32), maxoff => 0) })));
}

# Faults of the leaves of a posting tree, whose segments begin at 32: first row number,
# number of bytes, bytes
sub posting_leaf_faults
{
	my $fault = sub { return { name => $_[0], found => $_[1], change => $_[2], table => $_[3] } };
	my $next = sub { 40 + ((field($_[0], 38, 'S') + 1) & ~1) };    # the second segment
	return (
		$fault->('posting leaf of zeroes', 'bad_pages broken_links', zeroes('leaf')),
		$fault->('root of a posting tree of zeroes', 'bad_pages broken_links', zeroes('root')),
		$fault->('copy of another posting leaf', 'broken_links', on('leaf', sub { $_[1]{pages}[ $_[1]{far} ] })),
		$fault->('two posting leaves exchanged', 'broken_links', \&exchange),
		$fault->('posting leaf marked deleted', 'bad_pages broken_links', flags('leaf', $flag{deleted}, 0)),
		# no link leads there
		$fault->('deleted posting leaf in use', 'anything', flags('deleted', 0, $flag{deleted})),
		$fault->('posting leaf of another kind', 'bad_pages broken_links', flags('leaf', 0, $flag{data})),
		$fault->('posting leaf without its flag', 'bad_pages broken_links', flags('leaf', 0, $flag{leaf})),
		$fault->('posting leaf that is not compressed', 'rows_without_entry', flags('leaf', 0, $flag{compressed}), 1),
		$fault->('posting leaf of an unfinished split', 'anything', flags('leaf', $flag{incomplete}, 0)),
		$fault->('posting leaf of an old build', 'nothing', set('leaf', maxoff => 0)),
		$fault->('segment beyond the page', 'bad_pages', on('leaf', sub { set_field($_[0], 38, 'S', 8100) })),
		$fault->('segment without bytes', $problems, on('leaf', sub { set_field($_[0], 38, 'S', 0) }), 1),
		$fault->('segment after a later one', 'out_of_order bad_pages', on('leaf', sub { set_tid_at($_[0], 32, 60000, 1) })),
		$fault->('segment before an earlier one', 'out_of_order bad_pages', on('leaf', sub { set_tid_at($_[0], $next->($_[0]), 0, 1) })),
		$fault->('row number 0 in a segment', 'bad_pages out_of_order', on('leaf', sub { set_field($_[0], 40, 'C', 0) })),
		$fault->('number without an end', 'bad_pages out_of_order', on('leaf', sub { substr($_[0], 0, 40) . "\xff" x 8 . substr($_[0], 48) })),
		$fault->('lower beyond the page', 'bad_pages', on('leaf', sub { set_field($_[0], $at{lower}, 'S', 8190) })),
		$fault->('last bytes lost', $problems, on('leaf', sub { set_field($_[0], $at{lower}, 'S', field($_[0], $at{lower}, 'S') - 2) }), 1),
		$fault->('row numbers of a segment changed', 'bad_pages out_of_order entries_without_row rows_without_entry', on('leaf', sub { set_field($_[0], 40, 'C', 2) }), 1),
		$fault->('first segment lost', 'rows_without_entry', on('leaf', sub {
			my ($page) = @_;
			my ($from, $end) = ($next->($page), field($page, $at{lower}, 'S'));
			my $rest = substr($page, $from, $end - $from);
			substr($page, 32, length $rest) = $rest;
			return set_field($page, $at{lower}, 'S', 32 + length $rest);
		}), 1),
		$fault->('lower before the segments', 'bad_pages rows_without_entry', on('leaf', sub { set_field($_[0], $at{lower}, 'S', 24) }), 1),
		$fault->('posting tree of no entry', 'rows_without_entry', sub {
			my ($tree) = @_;
			return { $tree->{entry} => lose_posting($tree->{pages}[ $tree->{entry} ], $tree->{root}) };
		}, 1),
		$fault->('posting tree of two entries', 'entries_without_row', sub {
			my ($tree) = @_;
			my ($block, $n) = find_posting($tree, $tree->{root});
			my ($other) = grep { $_ != $n } posting_items($tree->{pages}[$block]);
			my $page = $tree->{pages}[$block];
			return { $block => set_item($page, $other, set_downlink(item($page, $other), $tree->{root})) };
		}, 1));
}

# Numbers of a leaf's items that have posting trees
sub posting_items
{
	my ($page) = @_;
	return grep { field(item($page, $_), 4, 'S') == 0xffff } 1 .. items($page);
}

# Returns the place of the entry of a posting tree.
sub find_posting
{
	my ($tree, $root) = @_;
	foreach my $block (@{ $tree->{levels}[0] })
	{
		my ($n) = grep { downlink(item($tree->{pages}[$block], $_)) == $root } posting_items($tree->{pages}[$block]);
		return ($block, $n) if $n;
	}
	die 'no entry of the posting tree';
}

sub posting_faults
{
	my ($tree) = @_;
	my ($block, $n) = find_posting($tree, $tree->{root});
	$tree->{entry} = $block;
	return (posting_link_faults(), posting_leaf_faults());
}

sub lose_posting
{
	my ($page, $root) = @_;
	my ($n) = grep { downlink(item($page, $_)) == $root } posting_items($page);
	return remove_item($page, $n);
}

# Reads the pending list of an index: its head, a page in the middle ("leaf") and its
# tail.
sub pending_list
{
	my ($tree) = @_;
	my @list = field($tree->{pages}[0], @{ $meta{head} });
	push @list, special($tree->{pages}[ $list[-1] ], 'next') while special($tree->{pages}[ $list[-1] ], 'next') != $none;
	my $middle = int(@list / 2);
	return { %$tree, list => \@list, head => $list[0], tail => $list[-1], entry => $tree->{leaf}, left => $list[ $middle - 1 ], leaf => $list[$middle],
		n => int(items($tree->{pages}[ $list[$middle] ]) / 2) };
}

# Faults of the pending list
sub pending_faults
{
	my $fault = sub { return { name => "pending list: $_[0]", found => $_[1], change => $_[2], table => $_[3] } };
	return (
		(map { $fault->("head is $_", 'broken_links bad_pages', meta(head => $_)) } qw(leaf tail entry root end 0 4294967295)),
		(map { $fault->("tail is $_", 'broken_links bad_pages', meta(tail => $_)) } qw(leaf head entry end 0 4294967295)),
		(map { $fault->("link to $_", 'broken_links bad_pages', set('leaf', next => $_)) } qw(leaf head entry end 0 4294967295)),
		$fault->('page bypassed', 'broken_links', \&bypass),
		$fault->('number of pages', 'broken_links', meta(pending_pages => 77)),
		$fault->('number of rows', 'broken_links', meta(pending_rows => 77)),
		$fault->('number of rows of a page', 'bad_pages broken_links', on('leaf', sub { set_special($_[0], maxoff => special($_[0], 'maxoff') + 1) })),
		$fault->('free space of the tail', 'anything', meta(tail_free => 8000)),
		$fault->('page of zeroes', 'bad_pages broken_links', zeroes('leaf')),
		$fault->('page of the entry tree', 'bad_pages broken_links', flags('leaf', $flag{leaf}, $flag{list} | $flag{full_row})),
		$fault->('page marked deleted', 'bad_pages broken_links', flags('leaf', $flag{deleted}, 0)),
		$fault->('page of an unfinished row', 'anything', flags('leaf', 0, $flag{full_row})),
		$fault->('entry lost', 'rows_without_entry', on('leaf', sub { remove_item($_[0], $_[1]{n}) }), 1),
		$fault->('entry of no row', 'entries_without_row', on_entry(sub { set_tid($_[0], 0, '(60000,1)') }), 1),
		$fault->('entry of another row', 'entries_without_row', on_entry(sub { set_tid($_[0], 0, '(0,1)') }), 1),
		$fault->('entry without a row number', 'bad_pages', on_entry(sub { set_field($_[0], 4, 'S', 0) })),
		bad_page_faults(8184));
}

1;
