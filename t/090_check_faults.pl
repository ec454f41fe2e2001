# Planted faults: ptsort_check() finds each fault of a btree index, and counts it
# in the right column.  amcheck is the oracle: for each fault the test knows
# whether bt_index_parent_check finds it, and with which message.  Before each
# fault, the index is sound.  IndexFaults.pm has the faults, and
# IndexShapes.pm the indexes.
#
# Depends on the version: it knows the pages and the messages of amcheck
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IndexFaults;
use IndexPages;
use IndexShapes;
use Planting;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Verdicts;

my $node = verdict_node('main');
my $assertions = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';

# True if amcheck can judge a fault.  In a server with assertions, many faults
# crash amcheck.
sub amcheck_can
{
	my ($fault) = @_;
	return !$fault->{unsafe} && !($assertions && $fault->{found} ne 'nothing');
}

# Returns the statements that print the verdicts of bt_index_check and
# bt_index_parent_check.
sub ask_amcheck
{
	my ($index) = @_;
	return join '', map { "SELECT amcheck_says('$index', $_);\n" } 'false', 'true';
}

# Tests the verdicts of amcheck on a fault.
sub judge_amcheck
{
	my ($fault, $name, $index_check, $parent_check) = @_;
	like($parent_check, $fault->{amcheck} // qr/^$/, "$name: amcheck");
	note("== $name|$index_check|$parent_check");
	return;
}

# Returns how to plant faults in an index.
sub with_amcheck
{
	my ($index) = @_;
	return (sub { amcheck_can($_[0]) ? ask_amcheck($index) : '' }, \&judge_amcheck);
}

sub plant
{
	my ($index, @faults) = @_;
	plant_faults($node, $index, \@faults, with_amcheck($index));
	return;
}

# Plants faults of pages.
sub plant_in_pages
{
	my ($shape, $tree) = @_;
	my $index = $shape->{index_name};

	plant_changes($node, $tree, [ page_faults($shape) ], with_amcheck($index));
	is($node->safe_psql('postgres', ask_amcheck($index)), "\n", "$index: all faults undone");
	return;
}

# Sound indexes of other kinds, each with its table
my %other = (
	of_no_rows => 'SELECT 1 AS key LIMIT 0',
	of_one_row => 'SELECT 1 AS key',
	of_nulls => 'SELECT NULL::int AS key FROM generate_series(1, 3000)',
	of_one_value => 'SELECT 7::numeric AS key FROM generate_series(1, 3000)',
	of_intervals => q{SELECT i * interval '1 day' AS key FROM generate_series(1, 1000) i});

sub other_indexes
{
	my $sql = join '', map { "CREATE TABLE $_ AS $other{$_}; CREATE INDEX ${_}_i ON $_ (key);\n" } keys %other;
	$node->safe_psql('postgres', $sql . q{
CREATE TABLE of_some (key int, word text);
INSERT INTO of_some SELECT i, 'Word ' || i FROM generate_series(1, 1000) i;
CREATE INDEX of_some_i ON of_some (lower(word), key) WHERE key % 3 = 0;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM of_some;
CREATE INDEX unlogged_i ON unlogged (word DESC);
CREATE TABLE emptied AS SELECT * FROM of_some;
CREATE INDEX emptied_i ON emptied (key);
DELETE FROM emptied;
VACUUM (INDEX_CLEANUP ON) emptied;
SET ptsort.enable = on;
SET ptsort.min_table_size = 0;
SET ptsort_test.slices = 7;
SET ptsort_test.all_workers = on;
CREATE TABLE ours AS SELECT hashint4(i) AS key FROM generate_series(1, 10000) i;
CREATE INDEX ours_i ON ours (key) WITH (parallel_workers = 3);
});
	plant($_, { name => 'sound', found => 'nothing', table => 1, plant => '', undo => '' })
	  foreach sort map { "${_}_i" } keys %other, qw(of_some unlogged emptied ours);
	plant('of_some_i', {
			name => 'row inserted while the index was not ready', found => 'rows_without_entry', table => 1,
			plant => q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'of_some_i'::regclass;
				INSERT INTO of_some VALUES (3000, 'new');
				UPDATE pg_index SET indisready = true WHERE indexrelid = 'of_some_i'::regclass;},
			undo => q{DELETE FROM of_some WHERE key = 3000;}, amcheck => qr/lacks matching index tuple/
		});
	return;
}

# Damages files of indexes while the server is stopped: bytes of a leaf, of the
# root and of the metapage, whose checksums are then wrong, and a lost last page.
sub broken_files
{
	my %place = (
		int8 => sub { $_[0]{levels}[0][3] },
		english => sub { $_[0]{levels}[-1][0] },
		bytes => sub { 0 },
		posting => sub { undef });
	my %file;

	foreach my $name (keys %place)
	{
		my $block = $place{$name}->(read_tree($node, "${name}_i"));
		my $path = $node->safe_psql('postgres', "SELECT pg_relation_filepath('${name}_i')");
		$file{$name} = [ $node->data_dir . "/$path", $block ];
	}
	$node->stop;
	foreach my $name (keys %file)
	{
		broken_file(@{ $file{$name} });
	}
	$node->start;
	foreach my $name (sort keys %file)
	{
		my $lost = !defined $file{$name}[1];
		plant("${name}_i", {
				name => $lost ? 'last page lost' : 'wrong checksum', plant => '', undo => '', broken => 1,
				found => $lost ? 'broken_links bad_pages' : 'bad_pages',
				amcheck => $lost ? qr/could not read block/ : qr/invalid page in block/
			});
	}
	return;
}

foreach my $shape (@shapes)
{
	create_shape($node, $shape);
	my $tree = read_shape($node, $shape);
	cmp_ok(scalar @{ $tree->{levels} }, '>=', $shape->{name} eq 'int8' ? 2 : 3, "$shape->{name}: levels");
	cmp_ok(scalar @{ $tree->{deleted} }, '>', 0, "$shape->{name}: a deleted page");
	plant_in_pages($shape, $tree);
	plant($shape->{index_name}, catalog_faults($shape));
}
other_indexes();
broken_files();
$node->stop;
done_testing();
