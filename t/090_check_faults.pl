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

# Return the statements that print verdicts on an index, one on each line: those
# of ptsort_check() with these numbers of workers; those of bt_index_check and
# bt_index_parent_check.
sub ask_ptsort
{
	my ($index, $table, @workers) = @_;
	my $heap = $table ? 'true' : 'false';
	return '' unless $has_check;
	return join '', map { "SELECT ptsort_says('$index', $heap, $_);\n" } @workers;
}

sub ask_amcheck
{
	my ($index) = @_;
	return join '', map { "SELECT amcheck_says('$index', $_);\n" } 'false', 'true';
}

# Returns the statements that plant faults in an index, one after the other,
# print the verdicts on the sound index and on each fault, and undo each fault.
# A fault has the statements "plant" and "undo", or its index is broken already.
sub script
{
	my ($index, @faults) = @_;
	return join '', map {
		($_->{broken} ? '' : ask_ptsort($index, 1, 0)) . $_->{plant} . ask_ptsort($index, $_->{table}, 0, 3)
		  . (amcheck_can($_) ? ask_amcheck($index) : '') . $_->{undo}
	} @faults;
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

# Plants the faults and tests the verdicts.
sub plant
{
	my ($index, @faults) = @_;
	my @lines = split /\n/, $node->safe_psql('postgres', script($index, @faults)), -1;

	foreach my $fault (@faults)
	{
		my ($name, $found) = ("$index: $fault->{name}", $fault->{found});
		my @sound = splice @lines, 0, $has_check && !$fault->{broken} ? 1 : 0;
		my @faulty = splice @lines, 0, $has_check ? 2 : 0;

		if (amcheck_can($fault))
		{
			my ($index_check, $parent_check) = splice @lines, 0, 2;
			like($parent_check, $fault->{amcheck} // qr/^$/, "$name: amcheck");
			note("== $name|$index_check|$parent_check");
		}
		ptsort_finds($_, 'nothing', "$name: sound before") foreach @sound;
		ptsort_finds($_, $found, $name) foreach @faulty;
	}
	return;
}

# Plants faults of pages.
sub plant_in_pages
{
	my ($shape, $tree) = @_;
	my $index = $shape->{index_name};
	my @faults = page_faults($shape);

	foreach my $fault (@faults)
	{
		my $new = $fault->{change}->($tree);
		my @blocks = sort { $a <=> $b } keys %$new;
		$fault->{plant} = join '', map { write_page($index, $_, $new->{$_}) } @blocks;
		$fault->{undo} = join '', map { write_page($index, $_, $tree->{pages}[$_]) } @blocks;
	}
	plant($index, @faults);
	is($node->safe_psql('postgres', ask_amcheck($index)), "\n", "$index: all faults undone");
	is($node->safe_psql('postgres', "SELECT pg_relation_size('$index')"), 8192 * @{ $tree->{pages} },
		"$index: no pages added");
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
		my ($path, $block) = @{ $file{$name} };
		open(my $fh, '+<', $path) or die "$path: $!";
		binmode $fh;
		if (!defined $block)
		{
			truncate($fh, (-s $path) - 8192) or die "$path: $!";
			next;
		}
		seek($fh, $block * 8192 + 8000, 0);
		read($fh, my $bytes, 4);
		seek($fh, $block * 8192 + 8000, 0);
		print $fh ~$bytes;
		close $fh or die "$path: $!";
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
