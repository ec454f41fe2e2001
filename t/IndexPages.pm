# Reads the pages of an index, takes those of a btree apart and changes them.  A page
# is a string of 8192 bytes in the server's byte order, which is Perl's, too.
# No function changes its argument: a changed page or tuple is the result.
package IndexPages;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(%flag %at read_pages read_tree field set_field opaque set_opaque items first_data
  item_id set_item_id item set_item remove_item insert_item downlink set_downlink
  is_posting tids set_tid set_tids set_count_of_tids set_length
  meaning write_page);

my $size = 8192;
my $special = $size - 16;
my $big_endian = unpack('h*', pack('s', 1)) =~ /01/;

# Flags of a page (btpo_flags)
our %flag = (
	leaf => 1, root => 2, deleted => 4, meta => 8, half_dead => 16, split_end => 32,
	garbage => 64, incomplete => 128);

# Offsets of fields of all pages, and of the metapage
our %at = (
	lower => 12, upper => 14, special => 16, version => 18,
	meta_magic => 24, meta_version => 28, meta_root => 32, meta_level => 36,
	meta_fastroot => 40, meta_fastlevel => 44, meta_allequalimage => 64);

# Returns or changes a number at an offset; $format is a format of pack.
sub field
{
	my ($bytes, $offset, $format) = @_;
	return unpack("x$offset $format", $bytes);
}

sub set_field
{
	my ($bytes, $offset, $format, $value) = @_;
	my $new = pack($format, $value);
	substr($bytes, $offset, length $new) = $new;
	return $bytes;
}

# The special area: prev, next, level, flags, cycle
my %opaque_field = (
	prev => [ 0, 'L' ], next => [ 4, 'L' ], level => [ 8, 'L' ],
	flags => [ 12, 'S' ], cycle => [ 14, 'S' ]);

sub opaque
{
	my ($page, $name) = @_;
	my ($offset, $format) = @{ $opaque_field{$name} };
	return field($page, $special + $offset, $format);
}

sub set_opaque
{
	my ($page, %new) = @_;
	foreach my $name (keys %new)
	{
		my ($offset, $format) = @{ $opaque_field{$name} };
		$page = set_field($page, $special + $offset, $format, $new{$name});
	}
	return $page;
}

# Line pointers: number 1 is the first.  item_id() returns offset, flags and
# length.
sub items
{
	my ($page) = @_;
	my $lower = field($page, $at{lower}, 'S');
	return $lower < 24 ? 0 : ($lower - 24) / 4;
}

sub item_id
{
	my ($page, $n) = @_;
	my $word = field($page, 20 + 4 * $n, 'L');
	my ($low, $high) = ($word & 0x7fff, $word >> 17);
	return $big_endian ? ($high, ($word >> 15) & 3, $low) : ($low, ($word >> 15) & 3, $high);
}

sub set_item_id
{
	my ($page, $n, $offset, $flags, $length) = @_;
	($offset, $length) = ($length, $offset) if $big_endian;
	return set_field($page, 20 + 4 * $n, 'L', $offset | $flags << 15 | $length << 17);
}

# Returns the number of the first item that is not the high key.
sub first_data
{
	my ($page) = @_;
	return opaque($page, 'next') ? 2 : 1;
}

# Tuples
sub item
{
	my ($page, $n) = @_;
	my ($offset, $flags, $length) = item_id($page, $n);
	return substr($page, $offset, $length);
}

sub set_item
{
	my ($page, $n, $tuple) = @_;
	my ($offset, $flags, $length) = item_id($page, $n);
	die 'the tuple has another length' if length $tuple != $length;
	substr($page, $offset, $length) = $tuple;
	return $page;
}

# Removes a line pointer; the tuple's bytes stay.
sub remove_item
{
	my ($page, $n) = @_;
	my $end = field($page, $at{lower}, 'S');
	my $here = 20 + 4 * $n;
	substr($page, $here, $end - $here) = substr($page, $here + 4, $end - $here - 4) . "\0" x 4;
	return set_field($page, $at{lower}, 'S', $end - 4);
}

# Inserts a tuple before the item $n.
sub insert_item
{
	my ($page, $n, $tuple) = @_;
	my $end = field($page, $at{lower}, 'S');
	my $here = 20 + 4 * $n;
	my $upper = field($page, $at{upper}, 'S') - ((length($tuple) + 7) & ~7);
	die 'the page is full' if $upper < $end + 4;
	substr($page, $here, $end + 4 - $here) = "\0" x 4 . substr($page, $here, $end - $here);
	substr($page, $upper, length $tuple) = $tuple;
	$page = set_field($page, $at{lower}, 'S', $end + 4);
	$page = set_field($page, $at{upper}, 'S', $upper);
	return set_item_id($page, $n, $upper, 1, length $tuple);
}

# The block to which a tuple of an upper level points
sub downlink
{
	my ($tuple) = @_;
	return field($tuple, 0, 'S') << 16 | field($tuple, 2, 'S');
}

sub set_downlink
{
	my ($tuple, $block) = @_;
	return set_field(set_field($tuple, 0, 'S', $block >> 16), 2, 'S', $block & 0xffff);
}

# The TIDs of a tuple of a leaf, each "(block,offset)".  The field t_tid of a
# tuple with a posting list has the list's offset and its number of TIDs.
sub is_posting
{
	my ($tuple) = @_;
	return field($tuple, 6, 'S') & 0x2000 && field($tuple, 4, 'S') & 0x2000;
}

sub tid_offset
{
	my ($tuple, $k) = @_;
	return is_posting($tuple) ? downlink($tuple) + 6 * $k : 0;
}

sub tids
{
	my ($tuple) = @_;
	my $n = is_posting($tuple) ? field($tuple, 4, 'S') & 0xfff : 1;
	return map {
		my $at = tid_offset($tuple, $_);
		sprintf '(%d,%d)', downlink(substr($tuple, $at)), field($tuple, $at + 4, 'S')
	} 0 .. $n - 1;
}

sub set_tid
{
	my ($tuple, $k, $tid) = @_;
	my ($block, $offset) = $tid =~ /(\d+),(\d+)/;
	my $at = tid_offset($tuple, $k);
	$tuple = set_field($tuple, $at, 'S', $block >> 16);
	$tuple = set_field($tuple, $at + 2, 'S', $block & 0xffff);
	return set_field($tuple, $at + 4, 'S', $offset);
}

# Replaces all TIDs, by as many others, in the order of TIDs.
sub set_tids
{
	my ($tuple, @tids) = @_;
	my $rank = sub { $_[0] =~ /(\d+),(\d+)/; return $1 * 65536 + $2 };
	my $k = 0;

	$tuple = set_tid($tuple, $k++, $_) foreach sort { $rank->($a) <=> $rank->($b) } @tids;
	return $tuple;
}

sub set_count_of_tids
{
	my ($tuple, $n) = @_;
	return set_field($tuple, 4, 'S', 0x2000 | $n);
}

# Sets the length of a value with a header of four bytes.
sub set_length
{
	my ($tuple, $offset, $length) = @_;
	return set_field($tuple, $offset, 'L', $big_endian ? $length : $length << 2);
}

# Returns the start of a value, which may be after padding, and its end.  Its
# length is -1, a header of one or four bytes, or -2, a null byte at the end.
sub value_place
{
	my ($tuple, $at, $length) = @_;
	my $byte = ord substr($tuple, $at, 1);

	return ($at, 1 + index $tuple, "\0", $at) if $length == -2;
	return ($at, $at + ($big_endian ? $byte & 0x7f : $byte >> 1))
	  if $big_endian ? $byte & 0x80 : $byte & 1;
	$at = ($at + 3) & ~3;
	my $word = field($tuple, $at, 'L');
	return ($at, $at + ($big_endian ? $word & 0x3fffffff : $word >> 2));
}

# Returns the parts of a tuple that have a meaning, each as start and end.  The
# other bytes are padding.  The attributes of the index are pairs of length and
# alignment.
sub parts
{
	my ($tuple, @attributes) = @_;
	my $info = field($tuple, 6, 'S');
	my $bits = $info & 0x8000 ? ord substr($tuple, 8, 1) : 0xff;
	my $at = $info & 0x8000 ? 16 : 8;
	my $is_pivot = $info & 0x2000 && !is_posting($tuple);
	my $n = $is_pivot ? field($tuple, 4, 'S') & 0xfff : @attributes;
	my @parts = [ 0, 8 ];

	foreach my $k (0 .. $n - 1)
	{
		next unless $bits & 1 << $k;
		my ($length, $align) = @{ $attributes[$k] };
		my $start = ($at + $align - 1) & ~($align - 1);
		($start, $at) = $length < 0 ? value_place($tuple, $at, $length) : ($start, $start + $length);
		push @parts, [ $start, $at ];
	}
	push @parts, [ downlink($tuple), downlink($tuple) + 6 * tids($tuple) ] if is_posting($tuple);
	push @parts, [ length($tuple) - 6, length $tuple ]
	  if $is_pivot && field($tuple, 4, 'S') & 0x1000;
	return @parts;
}

# Returns a mask of the bits that have a meaning in the byte of a page at an
# offset.  The server writes the LSN and the checksum, so no check looks at them.
# There is no meaning in bytes between line pointers and tuples, in padding, and
# in the bits of null bitmaps that are for no attribute.  The index has at most
# eight attributes.
sub meaning
{
	my ($page, $offset, @attributes) = @_;

	return 0 if $offset < 10;
	return 0xff if opaque($page, 'flags') & ($flag{meta} | $flag{deleted});
	foreach my $n (1 .. items($page))
	{
		my ($start, $flags, $length) = item_id($page, $n);
		next unless $offset >= $start && $offset < $start + $length;
		my $at = $offset - $start;
		my $tuple = item($page, $n);
		return (1 << @attributes) - 1 if $at == 8 && field($tuple, 6, 'S') & 0x8000;
		return grep({ $at >= $_->[0] && $at < $_->[1] } parts($tuple, @attributes)) ? 0xff : 0;
	}
	return $offset < field($page, $at{lower}, 'S') || $offset >= $special ? 0xff : 0;
}

# Returns the pages of an index.
sub read_pages
{
	my ($node, $index) = @_;
	return map { pack 'H*', $_ } split /\n/, $node->safe_psql('postgres',
		"SELECT encode(get_raw_page('$index', block::int), 'hex')
		FROM generate_series(0, pg_relation_size('$index') / $size - 1) block ORDER BY block");
}

# Returns the pages of a btree, and the blocks of each level in key order.
# Deleted pages are in no level.
sub read_tree
{
	my ($node, $index) = @_;
	my @pages = read_pages($node, $index);
	my %tree = (index => $index, pages => \@pages, levels => []);
	my $first = field($pages[0], $at{meta_root}, 'L');

	while (1)
	{
		my @level;
		for (my $block = $first; $block; $block = opaque($pages[$block], 'next'))
		{
			push @level, $block;
		}
		unshift @{ $tree{levels} }, \@level;
		last if opaque($pages[$first], 'flags') & $flag{leaf};
		$first = downlink(item($pages[$first], first_data($pages[$first])));
	}
	$tree{deleted} =
	  [ grep { $_ && opaque($pages[$_], 'flags') & $flag{deleted} } 0 .. $#pages ];
	return \%tree;
}

# Returns the statement that overwrites a page, or bytes of a page.
sub write_page
{
	my ($index, $block, $bytes, $offset) = @_;
	return sprintf "SELECT ptsort_test_write_page('%s', %d, %d, '\\x%s') \\g /dev/null\n",
	  $index, $block, $offset // 0, unpack('H*', $bytes);
}

1;
