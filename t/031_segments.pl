# An index of more than one file of 1 GB.  One participant extends the file page
# by page; several participants write on both sides of the border between files
# at the same time.  The index's pages are nearly empty, so that few rows are
# enough.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
$node->safe_psql(
	'postgres', q{
CREATE UNLOGGED TABLE t AS SELECT i FROM generate_series(1, 290000) i;
});

foreach my $participants (1, 4)
{
	my $end = log_end($node);
	my $workers = $participants - 1;
	my $size = $node->safe_psql(
		'postgres', qq{
SET maintenance_work_mem = '256MB';
SET ptsort.parallel_workers = $workers;
CREATE INDEX t_wide ON t (lpad(i::text, 450, '0') COLLATE "C") WITH (fillfactor = 10);
SELECT pg_relation_size('t_wide');
});
	cmp_ok($size, '>', 2**30, "$participants participants: more than one segment");
	is_deeply([ builds_since($node, $end) ], ["t_wide: $participants"],
		"$participants participants: built by us");
	is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('t_wide', true, false)}),
		'', "$participants participants: a sound index");
	$node->safe_psql('postgres', 'DROP INDEX t_wide');
}

$node->stop;
done_testing();
