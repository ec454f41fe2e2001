# Planted faults: ptsort_check() finds each fault of a GiST or GIN index, and counts
# it in the right column.  Before each fault, the index is sound.  OtherFaults.pm has
# the faults.
#
# Depends on the version: it knows the pages of the version
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IndexPages;
use OtherFaults;
use Planting;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Verdicts;

my $node = verdict_node('main');
my $planted = 0;
my $has_btree_gist = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'btree_gist'});
$node->safe_psql('postgres', 'CREATE EXTENSION btree_gist') if $has_btree_gist;

# The tables: columns, a row as a function of its number i, number of rows, index
my $place = 'point(hashint4(i) % 1000, hashint4(-i) % 1000)';
my %shapes = (
	point => [ 'key point', $place, 1500, '(key) WITH (fillfactor = 10)' ],
	box => [ 'key box, extra text', "box($place, $place + point(i % 7, 3)), repeat('x', 300) || i", 800, '(key) INCLUDE (extra)' ],
	nulls => [ 'key point, key2 circle', "CASE WHEN i % 10 > 0 THEN $place END, circle($place, i % 9)", 1500, '(key, key2) WITH (fillfactor = 20)' ],
	ranges => [ 'key int8range', 'int8range(i, i + i % 9)', 1500, '(key)' ],
	words => [ 'key tsvector', q{to_tsvector('simple', concat_ws(' ', 'a' || i % 30, 'b' || i))}, 800, '(key tsvector_ops(siglen = 200))' ],
	polygons => [ 'key polygon', "polygon(box($place, $place + point(i % 7, 3)))", 1500, '(key)' ]);
%shapes = (
	%shapes,
	numbers => [ 'key int', 'hashint4(i) % 10000', 2500, '(key)' ],
	texts => [ 'key text COLLATE "C"', q{repeat(chr(97 + i % 26), 400) || lpad(i::text, 8, '0')}, 1500, '(key)' ]) if $has_btree_gist;

# Creates a table and its index, whose leaf in the middle VACUUM deletes.  Returns the
# place of a row of this leaf.
sub create_shape
{
	my ($name, $columns, $row, $rows, $index) = @_;

	$node->safe_psql('postgres', "CREATE TABLE $name (id int, $columns);
		INSERT INTO $name SELECT i, $row FROM generate_series(1, $rows) i;
		CREATE INDEX ${name}_i ON $name USING gist $index");
	my $tree = gist_tree($node, "${name}_i", $name);
	my @gone = map { tids(item($tree->{pages}[ $tree->{leaf} ], $_)) } 1 .. items($tree->{pages}[ $tree->{leaf} ]);
	my $list = join ',', map { qq("$_") } @gone;
	$node->safe_psql('postgres', "DELETE FROM $name WHERE ctid = ANY ('{$list}')");
	$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP on) $name");
	return $gone[0];
}

foreach my $name (sort keys %shapes)
{
	my $gone = create_shape($name, @{ $shapes{$name} });
	my $tree = gist_tree($node, "${name}_i", $name);
	$tree->{gone} = $gone;
	note("== $name: " . join ' ', map { scalar @$_ } @{ $tree->{levels} });
	cmp_ok(scalar @{ $tree->{deleted} }, '>', 0, "$name: a deleted page");
	my @faults = gist_faults($tree);
	plant_changes($node, $tree, \@faults);
	$planted += @faults;
}
note("== $planted faults");
$node->stop;
done_testing();
