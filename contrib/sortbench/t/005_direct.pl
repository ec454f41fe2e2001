# Checks that direct I/O bypasses the kernel's cache.  The kernel counts the
# bytes that a process reads from disk; for a file in the cache this count is
# about 0.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
my $dir = PostgreSQL::Test::Utils::tempdir;
my $size = 20_000_000;

plan skip_all => 'files in memory are not read from a disk'
  if `stat -f -c %T '$dir'` =~ /^(?:tmpfs|ramfs|overlayfs)$/m;
$node->init;
$node->start;
$node->safe_psql('postgres', qq{
CREATE EXTENSION sortbench CASCADE;
SELECT sortbench_generate('$dir/in', $size / 100);
-- Returns the number of bytes that a statement reads from disk.
CREATE FUNCTION reads(statement text, OUT bytes bigint) LANGUAGE plpgsql AS \$\$
DECLARE
	before bigint := substring(pg_read_file('/proc/self/io', 0, 1000) FROM '\\nread_bytes: (\\d+)');
BEGIN
	EXECUTE statement;
	bytes := substring(pg_read_file('/proc/self/io', 0, 1000) FROM '\\nread_bytes: (\\d+)')::bigint - before;
END \$\$});

# Returns the number of bytes that a sort reads from disk, and the number that a
# validation of the sort's result reads.
sub reads
{
	my ($passes, $arguments) = @_;
	return split /\n/, $node->safe_psql('postgres', qq{
SELECT count(*) FROM sortbench_validate('{$dir/in}', 0);
SELECT bytes FROM reads('SELECT sortbench_sort(''{$dir/in}'', ''{$dir/out}'', 0, ''64MB'', passes => $passes, overwrite => true, $arguments)');
SELECT bytes FROM reads('SELECT sortbench_validate(''{$dir/out}'', 0)')}) =~ s/^1\n//r;
}

foreach my $passes (1, 2)
{
	my ($input, $output) = reads($passes, 'sync => true');

	cmp_ok($input, '<', $size / 10, "$passes passes: the input is in the cache");
	cmp_ok($output, '<', $size / 10, "$passes passes: the output is in the cache");
	($input, $output) = reads($passes, 'direct_input => true');
	cmp_ok($input, '>=', $size, "$passes passes, direct_input: the input is read from the disk");
	cmp_ok($output, '<', $size / 10, "$passes passes, direct_input: the output is in the cache");
	($input, $output) = reads($passes, 'direct_output => true');
	cmp_ok($input, '<', $size / 10, "$passes passes, direct_output: the input is in the cache");
	cmp_ok($output, '>=', $size * 0.9, "$passes passes, direct_output: the output is not in the cache");
}
$node->stop;
done_testing();
