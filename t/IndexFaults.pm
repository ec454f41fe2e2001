# Faults to plant in the indexes of IndexShapes.pm.  A fault changes pages of an
# index, or its row in the catalogs.  For each fault the module knows which message
# of amcheck is right, and which columns of ptsort_check() count the fault.
package IndexFaults;

use strict;
use warnings;
use Exporter 'import';
use IndexPages;
use IndexShapes;
use Planting;
use Ptsort;

our @EXPORT = qw(page_faults catalog_faults);

# Messages of amcheck that several faults can cause, depending on what it looks at
# first
my $order = qr/invariant violated|mismatch between parent key|could not find tuple using search from root/;
my $links = qr/left[ ]link\/right[ ]link[ ]pair|lacks[ ]downlink|circular[ ]link[ ]chain|can't[ ]traverse
	|invalid[ ]level|is[ ]not[ ]leftmost|whose[ ]level[ ]is[ ]not|$order/x;
my $no_entry = qr/lacks matching index tuple/;

# The functions below return a fault's changed pages, by block.  Each returns a
# function of a tree.

# Sets fields of the special area.  A value is a number, or names a block of the
# tree.
sub special
{
	my ($place, %new) = @_;
	return on($place, sub {
		my ($page, $tree) = @_;
		return set_opaque($page, map { ($_ => place($tree, $new{$_})) } keys %new);
	});
}

# Sets a number in the metapage.
sub meta
{
	my ($field, $value) = @_;
	return on(0, sub {
		my ($page, $tree) = @_;
		return set_field($page, $at{$field}, 'L', place($tree, $value));
	});
}

# Sets or clears a flag of a page.
sub flags
{
	my ($place, $set, $clear) = @_;
	return on($place, sub {
		my ($page) = @_;
		return set_opaque($page, flags => (opaque($page, 'flags') | $set) & ~$clear);
	});
}

sub swap_downlinks
{
	my ($page, $tree) = @_;
	my $slot = $tree->{slot};
	my ($here, $next) = map { item($page, $_) } $slot, $slot + 1;
	$page = set_item($page, $slot, set_downlink($here, downlink($next)));
	return set_item($page, $slot + 1, set_downlink($next, downlink($here)));
}

sub torn
{
	my ($page, $tree) = @_;
	return substr($page, 0, 4096) . substr($tree->{shape}{before}[ $tree->{shape}{thin} ], 4096);
}

# A page that links to both neighbours of another page, and they to it: the
# other page is in no chain any more.
sub bypass
{
	my ($tree) = @_;
	my ($left, $right) = @{$tree}{ 'leaf', 'next_right' };
	return {
		$left => set_opaque($tree->{pages}[$left], next => $right),
		$right => set_opaque($tree->{pages}[$right], prev => $left)
	};
}

# Faults in the order of items and in keys
sub key_faults
{
	return (
		{
			name => 'two items exchanged', found => 'out_of_order',
			change => on('leaf', sub { swap_items($_[0], $_[1]{n}, $_[1]{n} + 1) }),
			amcheck => $order
		},
		{
			name => 'first and last item exchanged', found => 'out_of_order',
			change => on('leaf', sub { swap_items($_[0], first_data($_[0]), items($_[0])) }),
			amcheck => $order
		},
		{
			name => 'key too large', found => 'out_of_order',
			change => on_entry(sub { set_digits($_[0], 99999990) }),
			amcheck => $order
		},
		{
			name => 'another key, in order', found => 'rows_without_entry', table => 1,
			change => on_entry(\&set_between),
			amcheck => $no_entry
		},
		{
			name => 'another included value', found => 'rows_without_entry', table => 1, only => 'include',
			change => on_entry(sub { $_[0] =~ s/extra \K\d/9/r =~ s/extra 9\K\d/x/r }),
			amcheck => $no_entry
		},
		{
			name => 'high key too small', found => 'out_of_order',
			change => on('leaf', sub { set_item($_[0], 1, set_first(item($_[0], 1), $_[1])) }),
			amcheck => $order
		},
		{
			name => 'high key too large', found => 'out_of_order broken_links',
			change => on('leaf', sub { set_item($_[0], 1, set_between(item($_[0], 1), $_[1])) }),
			amcheck => $order
		},
		{
			name => 'key of a parent too large', found => 'out_of_order broken_links',
			change => on_slot(\&set_between),
			amcheck => $order
		},
		{
			name => 'items of a parent exchanged', found => 'out_of_order',
			change => on('parent', sub { swap_items($_[0], $_[1]{slot}, $_[1]{slot} + 1) }),
			amcheck => $order
		});
}

# Faults of whole pages
sub content_faults
{
	my $zeroes = on('leaf', sub { "\0" x 8192 });
	return (
		{
			name => 'leaf of zeroes', found => 'bad_pages broken_links',
			change => $zeroes, amcheck => qr/unexpected zero page/
		},
		{
			name => 'parent of zeroes', found => 'bad_pages broken_links',
			change => on('parent', sub { "\0" x 8192 }), amcheck => qr/unexpected zero page/
		},
		{
			name => 'root of zeroes', found => 'bad_pages broken_links',
			change => on('root', sub { "\0" x 8192 }), amcheck => qr/unexpected zero page/
		},
		{
			name => 'metapage of zeroes', found => 'bad_pages broken_links',
			change => on(0, sub { "\0" x 8192 }), amcheck => qr/unexpected zero page/
		},
		{
			name => 'torn leaf', found => 'problems', table => 1,
			change => sub {
				my ($tree) = @_;
				my $block = $tree->{shape}{thin};
				return { $block => torn($tree->{pages}[$block], $tree) };
			},
			amcheck => $order, unsafe => 'text'
		},
		{
			name => 'copy of another leaf', found => 'broken_links',
			change => on('leaf', sub { $_[1]{pages}[ $_[1]{far} ] }), amcheck => $order
		},
		{
			name => 'leaf of another index', found => 'problems',
			change => on('leaf', sub { $_[1]{other}{pages}[ $_[1]{other}{levels}[0][1] ] }),
			amcheck => $order, unsafe => 'text'
		},
		{
			name => 'page of the table', found => 'bad_pages',
			change => on('leaf', sub { $_[1]{heap} }), amcheck => qr/corrupted page/
		},
		{
			name => 'metapage in place of a leaf', found => 'bad_pages',
			change => on('leaf', sub { $_[1]{pages}[0] }), amcheck => qr/invalid meta page/
		},
		{
			name => 'leaf in place of the metapage', found => 'bad_pages broken_links',
			change => on(0, sub { $_[1]{pages}[ $_[1]{leaf} ] }), amcheck => qr/meta page is corrupt|is not a btree/
		});
}

# Faults in page headers, line pointers and headers of tuples
sub header_faults
{
	return (
		{
			name => 'lower beyond upper', found => 'bad_pages',
			change => on('leaf', sub { set_field($_[0], $at{lower}, 'S', field($_[0], $at{upper}, 'S') + 4) }),
			amcheck => qr/exceeds MaxIndexTuplesPerPage|invalid line pointer storage/
		},
		{
			name => 'no special area', found => 'bad_pages',
			change => on('leaf', sub { set_field($_[0], $at{special}, 'S', 8192) }), amcheck => qr/corrupted page/
		},
		{
			name => 'no items', found => 'problems', table => 1,
			change => on('leaf', sub { set_field($_[0], $at{lower}, 'S', 24) }), amcheck => qr/lacks high key item/
		},
		{
			name => 'line pointer beyond the page', found => 'bad_pages',
			change => change_item_id(sub { (8192 - 8, 1, $_[4]) }), amcheck => qr/line pointer points past end/
		},
		{
			name => 'line pointer to the header', found => 'bad_pages',
			change => change_item_id(sub { (0, 1, $_[4]) }), amcheck => qr/index tuple size does not equal|$order/, unsafe => 'text'
		},
		{
			name => 'line pointer without storage', found => 'bad_pages',
			change => change_item_id(sub { (0, 0, 0) }), amcheck => qr/invalid line pointer storage/
		},
		{
			name => 'redirected line pointer', found => 'bad_pages',
			change => change_item_id(sub { ($_[2], 2, 0) }), amcheck => qr/invalid line pointer storage/
		},
		{
			name => 'two line pointers to one item', found => 'out_of_order bad_pages',
			change => change_item_id(sub { item_id($_[0], $_[1] + 1) }), amcheck => $order
		},
		{
			name => 'wrong size of a tuple', found => 'bad_pages',
			change => on_entry(sub { set_field($_[0], 6, 'S', field($_[0], 6, 'S') + 8) }),
			amcheck => qr/index tuple size does not equal lp_len/
		},
		{
			name => 'value longer than its tuple', found => 'bad_pages', only => 'bytes',
			change => on_entry(sub { set_length($_[0], 8, 0x7fff) }), amcheck => $order
		},
		{
			name => 'pivot tuple in a leaf', found => 'bad_pages',
			change => on_entry(sub {
				set_field(set_field($_[0], 6, 'S', field($_[0], 6, 'S') | 0x2000), 4, 'S', 1)
			}),
			amcheck => qr/wrong number of index tuple attributes|$order/
		},
		{
			name => 'entry marked dead', found => 'rows_without_entry', table => 1,
			change => change_item_id(sub { ($_[2], 3, $_[4]) }), amcheck => $no_entry
		});
}

# Faults in links between siblings
sub sibling_faults
{
	my @faults = map {
		my ($field, $to, $amcheck) = @$_;
		{
			name => "leaf: $field is $to", found => 'broken_links',
			change => special('leaf', $field => $to), amcheck => $amcheck,
			unsafe => $amcheck ? undef : 'always'
		}
	  } (
		[ next => 'next_right', $links ],
		[ next => 'left', $links ],
		[ next => 'leaf', $links ],
		[ next => 'parent', $links ],
		[ next => 'deleted', qr/invalid line pointer storage/ ],
		[ next => 'end', qr/could not read block/ ],
		[ next => '0', $links ],
		[ next => '4294967295' ],
		[ prev => 'far', $links ],
		[ prev => 'leaf', $links ],
		[ prev => 'end', $links ],
		[ prev => '0', $links ]);
	return (
		@faults,
		{
			name => 'two siblings bypass a leaf', found => 'broken_links', change => \&bypass,
			amcheck => $links
		},
		{
			name => 'parent: prev is leaf', found => 'broken_links',
			change => special('parent', prev => 'leaf'), amcheck => $links
		},
		{
			name => 'root: next is leaf', found => 'broken_links',
			change => special('root', next => 'leaf'), amcheck => qr/wrong number of high key/
		});
}

# Faults in links from parents to children
sub btree_downlink_faults
{
	my @faults = map {
		my ($to, $amcheck) = @$_;
		{
			name => "downlink to $to", found => 'broken_links',
			change => on_slot(sub { set_downlink($_[0], place($_[1], $to)) }), amcheck => $amcheck,
			unsafe => $amcheck ? undef : 'always'
		}
	  } (
		[ right => $links ],
		[ far => $links ],
		[ parent => $links ],
		[ deleted => $links ],
		[ end => qr/could not read block/ ],
		[ 4294967295 => undef ],
		[ 0 => $links ]);
	return (
		@faults,
		{
			name => 'two downlinks exchanged', found => 'broken_links out_of_order',
			change => on('parent', \&swap_downlinks), amcheck => $links
		},
		{
			name => 'downlink lost', found => 'broken_links',
			change => on('parent', sub { remove_item($_[0], $_[1]{slot}) }), amcheck => $links
		});
}

# Entries that are lost, doubled or point elsewhere
sub entry_faults
{
	return (
		{
			name => 'entry lost', found => 'rows_without_entry', table => 1,
			change => on('leaf', sub { remove_item($_[0], $_[1]{n}) }),
			amcheck => $no_entry
		},
		{
			name => 'entry doubled', found => 'out_of_order',
			change => on('leaf', sub { insert_item($_[0], $_[1]{n}, item($_[0], $_[1]{n})) }),
			amcheck => $order
		},
		{
			name => 'entry of no row added', found => 'entries_without_row', table => 1,
			change => on('leaf', sub {
				my ($page, $tree) = @_;
				my $n = $tree->{n} + 1;
				my $entry = item($page, $tree->{n});
				my @tids = tids($entry);
				$entry = set_tid($entry, $_, '(60000,' . ($_ + 1) . ')') foreach 0 .. $#tids;
				return insert_item($page, $n, $entry);
			}),
			# the check of a unique index in 17 and later reads the row
			amcheck => qr/^$|could not read blocks? 60000/
		},
		(
			map {
				my ($to, $tid) = @$_;
				{
					name => "entry of $to", found => 'entries_without_row rows_without_entry', table => 1,
					change => on_entry(sub {
						my ($tuple, $tree) = @_;
						my @tids = tids($tuple);
						return set_tids($tuple, @tids[ 0 .. $#tids - 1 ], $tid->($tree));
					}),
					amcheck => $no_entry
				}
			} (
				[ 'a row beyond the end of the table', sub { '(60000,1)' } ],
				[ 'no row of its page', sub { '(9,300)' } ],
				[ 'a deleted row', sub { $_[0]{shape}{gone} } ],
				[
					'another row', sub {
						my ($tree) = @_;
						return (tids(item($tree->{pages}[ $tree->{leaf} ], $tree->{n} + 1)))[-1];
					}
				])
		));
}

# Faults of posting lists
sub posting_faults
{
	my @faults = (
		{
			name => 'TIDs out of order', found => 'out_of_order bad_pages',
			change => on_entry(sub {
				my ($tuple) = @_;
				my @tids = tids($tuple);
				return set_tid(set_tid($tuple, 1, $tids[2]), 2, $tids[1]);
			}),
			amcheck => qr/posting list contains misplaced TID/
		},
		{
			name => 'TID doubled', found => 'out_of_order bad_pages',
			change => on_entry(sub { set_tid($_[0], 2, (tids($_[0]))[1]) }),
			amcheck => qr/posting list contains misplaced TID/
		},
		{
			name => 'TID of no row', found => 'entries_without_row', table => 1,
			change => on_entry(sub { set_tid($_[0], scalar(tids($_[0])) - 1, '(60000,1)') }),
			amcheck => $no_entry
		},
		{
			name => 'one TID too few', found => 'rows_without_entry bad_pages', table => 1,
			change => on_entry(sub { set_count_of_tids($_[0], scalar(tids($_[0])) - 1) }),
			amcheck => $no_entry
		},
		{
			name => 'one TID too many', found => 'bad_pages out_of_order entries_without_row', table => 1,
			change => on_entry(sub { set_count_of_tids($_[0], scalar(tids($_[0])) + 1) }),
			amcheck => qr/./, unsafe => 'text'
		},
		{
			name => 'no TIDs', found => 'bad_pages',
			change => on_entry(sub { set_count_of_tids($_[0], 0) }), amcheck => undef, unsafe => 'text'
		},
		{
			name => 'list beyond its tuple', found => 'bad_pages',
			change => on_entry(sub { set_downlink($_[0], 8000) }), amcheck => qr/./, unsafe => 'text'
		});
	$_->{only} = 'posting' foreach @faults;
	return @faults;
}

# Faults of levels, flags and the metapage
sub state_faults
{
	return (
		{
			name => 'leaf of level 1', found => 'bad_pages broken_links',
			change => special('leaf', level => 1), amcheck => qr/level/
		},
		{
			name => 'parent of level 0', found => 'bad_pages broken_links',
			change => special('parent', level => 0), amcheck => qr/level/
		},
		{
			name => 'parent of level 5', found => 'bad_pages broken_links',
			change => special('parent', level => 5), amcheck => qr/level/
		},
		{
			name => 'leaf without its flag', found => 'bad_pages broken_links',
			change => flags('leaf', 0, $flag{leaf}), amcheck => qr/level/
		},
		{
			name => 'parent with a leaf\'s flag', found => 'bad_pages broken_links',
			change => flags('parent', $flag{leaf}, 0), amcheck => qr/level/
		},
		{
			name => 'leaf marked deleted', found => 'bad_pages broken_links',
			change => flags('leaf', $flag{deleted}, 0), amcheck => qr/downlink to deleted page/
		},
		{
			name => 'leaf marked half-dead', found => 'bad_pages broken_links',
			change => flags('leaf', $flag{half_dead}, 0), amcheck => $no_entry
		},
		{
			name => 'leaf marked as metapage', found => 'bad_pages',
			change => flags('leaf', $flag{meta}, 0), amcheck => qr/invalid meta page/
		},
		{
			name => 'leaf marked as root', found => 'bad_pages broken_links',
			change => flags('leaf', $flag{root}, 0), amcheck => undef
		},
		{
			name => 'root without its flag', found => 'bad_pages broken_links',
			change => flags('root', 0, $flag{root}), amcheck => qr/is not true root/
		},
		{
			name => 'leaf marked as an unfinished split', found => 'anything',
			change => flags('leaf', $flag{incomplete}, 0), amcheck => undef
		},
		{
			name => 'metapage without its flag', found => 'bad_pages broken_links',
			change => flags(0, 0, $flag{meta}), amcheck => qr/is not a btree|meta page is corrupt/
		},
		{
			name => 'wrong magic', found => 'bad_pages broken_links',
			change => meta(meta_magic => 0x053163), amcheck => qr/meta page is corrupt|is not a btree/
		},
		{
			name => 'version 1', found => 'bad_pages broken_links',
			change => meta(meta_version => 1), amcheck => qr/version/
		},
		{
			name => 'version 99', found => 'bad_pages broken_links',
			change => meta(meta_version => 99), amcheck => qr/version/
		},
		{
			name => 'root is a leaf', found => 'bad_pages broken_links',
			change => meta(meta_root => 'leaf'), amcheck => $links
		},
		{
			name => 'root beyond the end', found => 'bad_pages broken_links',
			change => meta(meta_root => 'end'), amcheck => qr/could not read block/
		},
		{
			name => 'no root', found => 'bad_pages broken_links',
			change => meta(meta_root => 0), amcheck => $no_entry
		},
		{
			name => 'wrong level of the root', found => 'bad_pages broken_links',
			change => meta(meta_level => 7), amcheck => qr/level/
		},
		{
			name => 'fast root is a leaf', found => 'bad_pages broken_links',
			change => meta(meta_fastroot => 'leaf'), amcheck => qr/level/
		},
		{
			name => 'fast root beyond the end', found => 'bad_pages broken_links',
			change => meta(meta_fastroot => 'end'), amcheck => qr/could not read block/
		},
		{
			name => 'wrong level of the fast root', found => 'bad_pages broken_links',
			change => meta(meta_fastlevel => 0), amcheck => qr/level/
		},
		{
			name => 'posting lists, but no equal image', found => 'bad_pages', only => 'posting',
			change => on(0, sub { set_field($_[0], $at{meta_allequalimage}, 'C', 0) }), amcheck => undef
		},
		{
			name => 'included values, but equal image', found => 'bad_pages', only => 'include',
			change => on(0, sub { set_field($_[0], $at{meta_allequalimage}, 'C', 1) }), amcheck => qr/deduplication is safe/
		});
}

# Changes that are no faults
sub harmless
{
	my @faults = (
		{ name => 'leaf with garbage', change => flags('leaf', $flag{garbage}, 0) },
		{ name => 'leaf after a split during VACUUM', change => special('leaf', cycle => 77) },
		{ name => 'bytes between items and tuples', change => on('leaf', sub {
			my ($page) = @_;
			my $lower = field($page, $at{lower}, 'S');
			substr($page, $lower, 8) = 'whatever';
			return $page;
		}) },
		{ name => 'no equal image', change => on(0, sub { set_field($_[0], $at{meta_allequalimage}, 'C', 0) }), only => 'bytes' });
	$_->{found} = 'nothing' foreach @faults;
	return @faults;
}

# Returns all faults of pages, each with a name and:
#   change    function of a tree: returns the changed pages, by block
#   amcheck   the message of bt_index_parent_check; undef: it finds nothing
#   found     columns of ptsort_check(), of which one counts the fault; "nothing"
#             if there must be no problem; "anything" if both is right
#   table     true if the check needs the table
#   only      the only shape that can have the fault
#   unsafe    why the test must not ask amcheck.  "text": amcheck may read beyond
#             a tuple whose keys have no fixed length.  "always": it reads block
#             4294967295, by which the server extends the index.
sub page_faults
{
	my ($shape) = @_;
	my @faults = grep { !$_->{only} || $_->{only} eq $shape->{name} }
	  (key_faults(), content_faults(), header_faults(), sibling_faults(), btree_downlink_faults(),
		entry_faults(), posting_faults(), state_faults(), harmless());
	delete $_->{unsafe}
	  foreach grep { $shape->{name} eq 'int8' && ($_->{unsafe} // '') eq 'text' } @faults;
	return @faults;
}

# Returns the faults that changes of the catalogs cause.  "plant" and "undo" are
# SQL.  An index may contradict the catalogs, which say that it has another
# order, or rows may change while the catalogs say that the index is not unique
# or needs no entries.
sub catalog_faults
{
	my ($shape) = @_;
	my ($name, $index) = @{$shape}{ 'name', 'index_name' };
	my $set = sub {
		my ($change) = @_;
		return "UPDATE pg_index SET $change WHERE indexrelid = '$index'::regclass;\n";
	};
	my $row = $shape->{row} =~ s/\bi\b/10/gr;
	my $unique = server_major() >= 17 ? qr/uniqueness is violated/ : undef;
	my @faults = (
		{
			name => 'claims descending order', only => 'int8 english once posting', found => 'out_of_order',
			plant => $set->("indoption = '1'"), undo => $set->("indoption = '0'"), amcheck => $order
		},
		{
			name => 'claims that nulls come last', only => 'nulls', found => 'out_of_order',
			plant => $set->("indoption = '0 3'"), undo => $set->("indoption = '2 3'"), amcheck => $order
		},
		{
			name => 'built in the order of another collation', only => 'english', found => 'out_of_order',
			plant => $set->("indcollation = '950'") . "REINDEX INDEX $index;\n"
			  . $set->(q{indcollation = (SELECT ('"en_US.utf8"'::regcollation::oid)::text::oidvector)}),
			undo => "REINDEX INDEX $index;\n", amcheck => $order
		},
		{
			name => 'built by another operator class', only => 'english', found => 'out_of_order',
			plant => $set->(q{indclass = (SELECT oid::text::oidvector FROM pg_opclass WHERE opcname = 'text_pattern_ops'
				AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree'))})
			  . "REINDEX INDEX $index;\n"
			  . $set->(q{indclass = (SELECT oid::text::oidvector FROM pg_opclass WHERE opcname = 'text_ops'
				AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree'))}),
			undo => "REINDEX INDEX $index;\n", amcheck => $order
		},
		{
			name => 'row inserted while the index was not ready', found => 'rows_without_entry', table => 1,
			plant => $set->('indisready = false') . "INSERT INTO $name SELECT 10, 77, $row;\n" . $set->('indisready = true'),
			undo => "DELETE FROM $name WHERE pad = 77; VACUUM $name;\n", amcheck => $no_entry
		},
		{
			name => 'two equal rows', only => 'once', found => 'duplicates', table => 1,
			plant => $set->('indisunique = false') . "INSERT INTO $name SELECT 10, 77, $row;\n" . $set->('indisunique = true'),
			undo => "DELETE FROM $name WHERE pad = 77;\n", amcheck => $unique
		},
		{
			name => 'many equal rows', only => 'once', found => 'duplicates', table => 1,
			plant => $set->('indisunique = false')
			  . "INSERT INTO $name SELECT 10, 77, $row FROM generate_series(1, 100);\n" . $set->('indisunique = true'),
			undo => "DELETE FROM $name WHERE pad = 77;\n", amcheck => $unique
		},
		{
			name => 'two nulls', only => 'once', found => 'nothing', table => 1,
			plant => "INSERT INTO $name SELECT 1, 77, NULL FROM generate_series(1, 2);\n", undo => ''
		},
		{
			name => 'two nulls that are not distinct', only => 'once', found => 'duplicates', table => 1,
			plant => $set->('indnullsnotdistinct = true'), undo => $set->('indnullsnotdistinct = false')
			  . "DELETE FROM $name WHERE pad = 77;\n", amcheck => $unique
		});
	return grep { !$_->{only} || $_->{only} =~ /\b$name\b/ } @faults;
}

1;
