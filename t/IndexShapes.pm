# Indexes of several shapes: types of keys, order, nulls, uniqueness, posting lists
# and included columns.  IndexFaults.pm has faults to plant in them.
package IndexShapes;

use strict;
use warnings;
use Exporter 'import';
use IndexPages;
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(@shapes create_shape read_shape digits set_digits set_between set_first);

my $wide = q{repeat('x', 450)};

# The shapes.  "row" is a row's key as a function of its number i, "rows" the
# number of rows.  A key contains eight decimal digits (or is a bigint), which
# end with 0; so the next number lies between two keys.  Wide keys give three
# levels.
our @shapes = (
	{
		name => 'int8', columns => 'key int8', row => 'i * 10', rows => 1500,
		index => '(key) WITH (fillfactor = 10)'
	},
	{
		# in byte order, all keys with B precede those with a
		name => 'english', columns => 'key text COLLATE "en_US.utf8"', rows => 800,
		row => qq{$wide || CASE i % 2 WHEN 0 THEN 'a' ELSE 'B' END || lpad((i * 10)::text, 8, '0')},
		index => '(key) WITH (fillfactor = 70)'
	},
	{
		name => 'bytes', descending => 1, columns => 'key text COLLATE "C"', rows => 800,
		row => qq{$wide || lpad((i * 10)::text, 8, '0')}, index => '(key DESC) WITH (fillfactor = 70)'
	},
	{
		name => 'nulls', columns => 'key text COLLATE "C", small int', rows => 800,
		row => qq{CASE WHEN i % 5 > 0 THEN $wide || lpad((i / 3 * 10)::text, 8, '0') END,
			CASE WHEN i % 7 > 0 THEN i END},
		index => '(key NULLS FIRST, small DESC) WITH (fillfactor = 70)'
	},
	{
		name => 'once', columns => 'key bytea', rows => 800, unique => 'UNIQUE',
		row => qq{convert_to($wide || lpad((i * 10)::text, 8, '0'), 'UTF8')}, index => '(key) WITH (fillfactor = 70)'
	},
	{
		name => 'posting', columns => 'key text COLLATE "C"', rows => 4000,
		row => qq{$wide || lpad((i / 5 * 10)::text, 8, '0')}, index => '(key) WITH (fillfactor = 70)'
	},
	{
		name => 'include', columns => 'key text COLLATE "C", extra text', rows => 800,
		row => qq{$wide || lpad((i * 10)::text, 8, '0'), 'extra ' || i}, index => '(key) INCLUDE (extra) WITH (fillfactor = 70)'
	});

# Returns the statements that insert the rows with these numbers.
sub insert_rows
{
	my ($shape, $from, $to) = @_;
	return "INSERT INTO $shape->{name} SELECT i, 0, $shape->{row}
		FROM generate_series($from, $to) i ORDER BY hashint4(i);\n";
}

# Creates a shape's table and index.  Then deletes the rows of one leaf, so that
# VACUUM deletes the leaf, and every other row of another leaf.  After that, the
# table gets dead rows that still have entries: of an aborted statement, and
# (with the same keys as live rows) of deleted rows.  The shape remembers the
# pages before all this.
sub create_shape
{
	my ($node, $shape) = @_;
	my $name = $shape->{name};
	my $unique = $shape->{unique} // '';

	$shape->{index_name} = "${name}_i";
	$node->safe_psql('postgres', "CREATE TABLE $name (id int, pad int, $shape->{columns}) WITH (fillfactor = 90);\n"
		  . insert_rows($shape, 1, $shape->{rows})
		  . "CREATE $unique INDEX ${name}_i ON $name $shape->{index};\n");
	my $tree = read_tree($node, "${name}_i");
	my @leaves = @{ $tree->{levels}[0] };
	my ($empty, $thin) = map { $tree->{pages}[ $leaves[ $_ * @leaves / 4 ] ] } 1, 3;
	my @gone = map { tids(item($empty, $_)) } first_data($empty) .. items($empty);
	push @gone, map { tids(item($thin, $_)) }
	  grep { $_ % 2 == 0 } first_data($thin) .. items($thin);

	$node->safe_psql('postgres', "DELETE FROM $name WHERE ctid = ANY ('{"
		  . join(',', map { qq("$_") } @gone) . "}');\n"
		  . "VACUUM (INDEX_CLEANUP ON) $name;\n"
		  . "BEGIN;\n" . insert_rows($shape, $shape->{rows} + 1, $shape->{rows} + 20) . "ROLLBACK;\n"
		  . "UPDATE $name SET pad = 1 WHERE id % 50 = 1;\n"
		  . "WITH old AS (DELETE FROM $name WHERE id % 200 = 3 RETURNING *) INSERT INTO $name SELECT * FROM old;\n"
		  . "CREATE INDEX ${name}_other ON $name (id)");
	$shape->{thin} = $leaves[ 3 * @leaves / 4 ];
	$shape->{gone} = $gone[0];
	$shape->{before} = $tree->{pages};
	return;
}

# Returns the key's digits in a tuple; undef if the key is null.
sub digits
{
	my ($tuple) = @_;
	return length $tuple == 16 ? field($tuple, 8, 'q') : ($tuple =~ /x(?:a|B)?(\d{8})/)[0];
}

# Changes the key of a tuple.
sub set_digits
{
	my ($tuple, $digits) = @_;
	return set_field($tuple, 8, 'q', $digits) if length $tuple == 16;
	$digits = sprintf '%08d', $digits;
	$tuple =~ s/(x(?:a|B)?)\d{8}/$1$digits/ or die 'the key is null';
	return $tuple;
}

# Sets a key that lies between the tuple's key and the next one, and a key that
# precedes all others.
sub set_between
{
	my ($tuple, $tree) = @_;
	return set_digits($tuple, digits($tuple) + ($tree->{shape}{descending} ? -5 : 5));
}

sub set_first
{
	my ($tuple, $tree) = @_;
	return set_digits($tuple, $tree->{shape}{descending} ? 99999990 : 0);
}

# Reads a shape's pages and chooses the places of faults: a leaf in the middle
# of the children of a parent, its siblings, and an item whose key differs from
# the next item's.
sub read_shape
{
	my ($node, $shape) = @_;
	my $tree = read_tree($node, $shape->{index_name});
	my ($leaves, $parents) = @{ $tree->{levels} };
	my $pages = $tree->{pages};

	$tree->{shape} = $shape;
	$tree->{parent} = $parents->[ @$parents / 2 ];
	my $parent = $pages->[ $tree->{parent} ];
	$tree->{slot} = int((first_data($parent) + items($parent)) / 2);
	my $slot = $tree->{slot};
	($tree->{left}, $tree->{leaf}, $tree->{right}) =
	  map { downlink(item($parent, $_)) } $slot - 1 .. $slot + 1;
	$tree->{next_right} = opaque($pages->[ $tree->{right} ], 'next');
	$tree->{far} = $leaves->[2];
	$tree->{root} = $tree->{levels}[-1][0];
	my $leaf = $pages->[ $tree->{leaf} ];
	($tree->{n}) = grep {
		my ($here, $next) = map { digits(item($leaf, $_)) } $_, $_ + 1;
		defined $here && defined $next && $here != $next
	} int(items($leaf) / 2) .. items($leaf) - 1;
	$tree->{other} = read_tree($node, "$shape->{name}_other");
	$tree->{heap} = pack 'H*', $node->safe_psql('postgres',
		"SELECT encode(get_raw_page('$shape->{name}', 1), 'hex')");
	return $tree;
}
