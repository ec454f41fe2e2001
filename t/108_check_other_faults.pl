# Planted faults: ptsort_check() finds each fault of a GiST or GIN index, and counts
# it in the right column.  Before each fault, the index is sound.  GistFaults.pm
# and GinFaults.pm have the faults.
#
# Depends on the version: it knows the pages of the version
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GinFaults;
use GistFaults;
use IndexPages;
use Planting;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Verdicts;

my $node = verdict_node('main');
my $planted = 0;
my $has_btree_gist = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'btree_gist'});
$node->safe_psql('postgres', 'CREATE EXTENSION btree_gist') if $has_btree_gist;

# Tables with GiST indexes: columns, a row as a function of its number i, number of
# rows, index
my $place = 'point(hashint4(i) % 1000, hashint4(-i) % 1000)';
my %gist = (
	point => [ 'key point', $place, 1500, '(key) WITH (fillfactor = 10)' ],
	box => [ 'key box, extra text', "box($place, $place + point(i % 7, 3)), repeat('x', 300) || i", 800, '(key) INCLUDE (extra)' ],
	nulls => [ 'key point, key2 circle', "CASE WHEN i % 10 > 0 THEN $place END, circle($place, i % 9)", 1500, '(key, key2) WITH (fillfactor = 20)' ],
	ranges => [ 'key int8range', 'int8range(i, i + i % 9)', 1500, '(key)' ],
	words => [ 'key tsvector', q{to_tsvector('simple', concat_ws(' ', 'a' || i % 30, 'b' || i))}, 800, '(key tsvector_ops(siglen = 200))' ],
	polygons => [ 'key polygon', "polygon(box($place, $place + point(i % 7, 3)))", 1500, '(key)' ]);
%gist = (
	%gist,
	numbers => [ 'key int', 'hashint4(i) % 10000', 2500, '(key)' ],
	texts => [ 'key text COLLATE "C"', q{repeat(chr(97 + i % 26), 400) || lpad(i::text, 8, '0')}, 1500, '(key) WITH (fillfactor = 50)' ]) if $has_btree_gist;

# Tables with GIN indexes
my %gin = (
	arrays => [ 'key text[]', q{ARRAY['w' || i % 7, md5(i::text), repeat('long', 60) || i]}, 900, '(key)' ],
	two => [ 'key int8[], word text[]', q{CASE WHEN i % 10 > 0 THEN ARRAY[i, i % 50, NULL] END, ARRAY[md5(i::text), repeat('y', 300) || i]}, 600, '(key, word)' ],
	documents => [ 'key tsvector', q{to_tsvector('simple', concat_ws(' ', 'all', 'a' || i % 30, 'b' || i))}, 1500, '(key)' ],
	paths => [ 'key jsonb', q{jsonb_build_object('id', i, 'few', i % 7)}, 2000, '(key jsonb_path_ops)' ]);

# The statement by which a row enters a table without an entry
sub not_ready
{
	my ($name, $row) = @_;
	my $set = "UPDATE pg_index SET indisready = %s WHERE indexrelid = '${name}_i'::regclass;\n";
	return {
		name => 'row inserted while the index was not ready', found => 'rows_without_entry', table => 1,
		plant => sprintf($set, 'false') . "INSERT INTO $name SELECT -1, " . $row =~ s/\bi\b/10/gr . ";\n" . sprintf($set, 'true'),
		undo => "DELETE FROM $name WHERE id = -1;\n"
	};
}

# Plants all faults of a tree, and the row without an entry.
sub plant_all
{
	my ($name, $row, $tree, @faults) = @_;

	plant_changes($node, $tree, \@faults);
	plant_faults($node, "${name}_i", [ not_ready($name, $row) ]);
	$planted += @faults + 1;
	return;
}

# Creates a table and its GiST index, whose leaf in the middle VACUUM deletes.  Returns
# the place of a row of this leaf.
sub create_gist
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

sub test_gist
{
	foreach my $name (sort keys %gist)
	{
		my $gone = create_gist($name, @{ $gist{$name} });
		my $tree = gist_tree($node, "${name}_i", $name);
		$tree->{gone} = $gone;
		note("== $name: " . join ' ', map { scalar @$_ } @{ $tree->{levels} });
		cmp_ok(scalar @{ $tree->{deleted} }, '>', 0, "$name: a deleted page");
		plant_all($name, $gist{$name}[1], $tree, gist_faults($tree));
	}
	return;
}

sub test_gin
{
	foreach my $name (sort keys %gin)
	{
		my ($columns, $row, $rows, $index) = @{ $gin{$name} };
		$node->safe_psql('postgres', "CREATE TABLE $name (id int, $columns);
			INSERT INTO $name SELECT i, $row FROM generate_series(1, $rows) i;
			CREATE INDEX ${name}_i ON $name USING gin $index");
		my $tree = gin_tree($node, "${name}_i", $name);
		note("== $name: " . join ' ', map { scalar @$_ } @{ $tree->{levels} });
		plant_all($name, $row, $tree, gin_faults($tree));
	}
	return;
}

# A posting tree with a deleted leaf, and a pending list
sub test_lists
{
	# few row numbers in each leaf, so that a lost leaf does not cost much
	my $row = 'ARRAY[-1, -2 - i % 2, i / 10]';
	$node->safe_psql('postgres', "CREATE TABLE posted (id int, key int8[]);
		INSERT INTO posted SELECT i, $row FROM generate_series(1, 50000) i;
		CREATE INDEX posted_i ON posted USING gin (key) WITH (fastupdate = off);
		DELETE FROM posted WHERE id BETWEEN 20000 AND 37500 OR id % 20 > 0;
		CREATE TABLE pending (id int, key int8[]);
		INSERT INTO pending SELECT i, $row FROM generate_series(1, 5000) i;
		CREATE INDEX pending_i ON pending USING gin (key) WITH (fastupdate = on, gin_pending_list_limit = 4096);
		INSERT INTO pending SELECT i, $row FROM generate_series(5001, 6000) i");
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) posted');
	my $tree = posting_tree(gin_tree($node, 'posted_i', 'posted'));
	cmp_ok(scalar @{ $tree->{deleted} }, '>', 0, 'a deleted page of a posting tree');
	plant_all('posted', $row, $tree, posting_faults($tree));
	$tree = pending_list(gin_tree($node, 'pending_i', 'pending'));
	cmp_ok(scalar @{ $tree->{list} }, '>', 3, 'a pending list');
	my @faults = pending_faults();
	plant_changes($node, $tree, \@faults);
	$planted += @faults;
	return;
}

# Indexes that contradict the catalogs or functions: another order of texts, another
# operator class, and functions of an expression and of a predicate whose results
# changed.
sub test_catalogs
{
	$node->safe_psql('postgres', q{
CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';
CREATE FUNCTION is_some(int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT $1 % 3 = 0';
CREATE TABLE changed AS SELECT i AS id, i FROM generate_series(1, 1000) i;
CREATE INDEX changed_gist ON changed USING gist (int4range(twice(i), NULL));
CREATE INDEX changed_gin ON changed USING gin ((ARRAY[twice(i)]));
CREATE INDEX some_gist ON changed USING gist (point(i, i)) WHERE is_some(i);
CREATE INDEX some_gin ON changed USING gin ((ARRAY[i])) WHERE is_some(i);
CREATE TABLE english AS SELECT ARRAY['a' || i, 'B' || i] COLLATE "en_US.utf8" AS key FROM generate_series(1, 1000) i;
CREATE INDEX english_gin ON english USING gin (key);
CREATE TABLE floats AS SELECT (hashint4(i) / 7.0)::float4 AS key FROM generate_series(1, 2000) i});
	my $function = sub {
		my ($name, $index, $new, $old) = @_;
		my $sql = "CREATE OR REPLACE FUNCTION $name IMMUTABLE LANGUAGE sql AS 'SELECT %s';\n\\c\n";    # a session keeps the old expression
		return {
			name => 'function with another result', found => 'entries_without_row', table => 1,
			plant => sprintf($sql, $new), undo => sprintf($sql, $old)
		};
	};
	foreach my $method (qw(gist gin))
	{
		plant_faults($node, "changed_$method", [ $function->('twice(int) RETURNS int', "changed_$method", '3 * $1', '2 * $1') ]);
		plant_faults($node, "some_$method", [ $function->('is_some(int) RETURNS bool', "some_$method", '$1 % 6 = 0', '$1 % 3 = 0') ]);
	}
	my $set = sub { "UPDATE pg_index SET $_[1] WHERE indexrelid = '$_[0]'::regclass;\n" };
	plant_faults($node, 'english_gin', [ {
			name => 'built in the order of another collation', found => 'out_of_order',
			plant => $set->('english_gin', "indcollation = '950'"),
			undo => $set->('english_gin', q{indcollation = (SELECT ('"en_US.utf8"'::regcollation::oid)::text::oidvector)})
		} ]);
	$planted += 5;
	return unless $has_btree_gist;
	$node->safe_psql('postgres', 'CREATE INDEX floats_gist ON floats USING gist (key)');
	my $class = q{indclass = (SELECT oid::text::oidvector FROM pg_opclass WHERE opcname = 'gist_%s_ops')};
	plant_faults($node, 'floats_gist', [ {
			name => 'built by another operator class', found => 'out_of_order',
			plant => $set->('floats_gist', sprintf $class, 'int4'), undo => $set->('floats_gist', sprintf $class, 'float4')
		} ]);
	$planted++;
	return;
}

# Indexes that CREATE INDEX CONCURRENTLY left behind: they are not valid, and another
# session waits for the table.  A change of the catalogs makes them valid.
sub test_leftovers
{
	$node->safe_psql('postgres', 'CREATE TABLE busy AS SELECT i AS id, point(i, i) AS p, ARRAY[i] AS a FROM generate_series(1, 100) i');
	my $session = $node->background_psql('postgres');
	$session->query_safe('BEGIN; INSERT INTO busy VALUES (0)');
	foreach my $on ('gist (p)', 'gin (a)')
	{
		my ($method) = $on =~ /(\w+)/;
		my (undef, $error) = try_sql($node, "SET lock_timeout = 100; CREATE INDEX CONCURRENTLY busy_$method ON busy USING $on");
		like($error, qr/lock timeout/, "$method: an index is left behind");
		(undef, $error) = try_sql($node, "SELECT ptsort_check('busy_$method')");
		like($error, qr/ERROR: .*busy_$method/, "$method: no check of an index that is not valid");
		plant_faults($node, "busy_$method", [ {
				name => 'left behind', found => 'rows_without_entry', broken => 1, table => 1,
				plant => "UPDATE pg_index SET indisready = true, indisvalid = true WHERE indexrelid = 'busy_$method'::regclass;\n"
			} ]);
		$planted++;
	}
	end_session($session);
	return;
}

# Damages files of indexes while the server is stopped.
sub test_files
{
	my %block = (box => 3, point => 0, nulls => undef, arrays => 0, documents => 1, paths => 3, posted => 5, two => undef);
	my %path = map { ($_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${_}_i')")) } keys %block;

	$node->stop;
	broken_file($path{$_}, $block{$_}) foreach keys %block;
	$node->start;
	foreach my $name (sort keys %block)
	{
		my $lost = !defined $block{$name};
		plant_faults($node, "${name}_i", [ {
				name => $lost ? 'last page lost' : 'wrong checksum', broken => 1,
				found => $lost ? 'broken_links bad_pages' : 'bad_pages'
			} ]);
		$planted++;
	}
	return;
}

test_gist();
test_gin();
test_lists();
test_catalogs();
test_leftovers();
test_files();
note("== $planted faults");
$node->stop;
done_testing();
