# A server whose indexes the tests damage, and the verdicts of amcheck and of
# ptsort_check() on an index.
package Verdicts;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Ptsort;
use Test::More;

our @EXPORT = qw(verdict_node $has_check @columns problems_in);

# The columns of ptsort_check() that count problems
our @columns = qw(bad_pages out_of_order broken_links duplicates entries_without_row
  rows_without_entry);

# True if the library has ptsort_check()
our $has_check;

# No process writes damaged pages while the test looks at them: a page that
# claims to be newer than the WAL cannot be written.
my $conf = q{
session_preload_libraries = 'ptsort, ptsort_test'
ptsort.enable = off
max_worker_processes = 12
max_parallel_workers = 8
max_parallel_maintenance_workers = 8
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
dynamic_shared_memory_type = mmap
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
max_wal_size = 4GB
shared_buffers = 256MB
autovacuum = off
log_statement = none
jit = off
max_logical_replication_workers = 0
fsync = off
};

# Functions that return a verdict on one line.  amcheck_says() returns the
# message of an error, or null.  ptsort_says() returns the row of ptsort_check()
# as JSON, or an error.  If "descend" is true, amcheck also searches for each entry
# from the root.  The search cannot be interrupted, and never ends if links form a
# circle.
#
# Since 17, amcheck checks uniqueness, too.
my $functions = q{
CREATE FUNCTION one_line(message text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate(message, E'\n\r', '  ');

CREATE FUNCTION amcheck_says(index regclass, parent bool, descend bool DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF parent THEN
		PERFORM bt_index_parent_check(index, true, descend %1$s);
	ELSE
		PERFORM bt_index_check(index, true %1$s);
	END IF;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN one_line(SQLERRM);
END $$;

CREATE FUNCTION ptsort_says(index regclass, heap bool, workers int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN to_json(c) FROM ptsort_check(index, heap, workers) c;
EXCEPTION WHEN query_canceled OR OTHERS THEN
	RETURN json_build_object('error', SQLSTATE || ': ' || one_line(SQLERRM));
END $$;
};

# Starts a server with data checksums.
sub verdict_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => ['--data-checksums']);
	$node->append_conf('postgresql.conf', $conf);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect; '
		  . sprintf($functions, server_major() >= 17 ? ', true' : ''));

	# A library without ptsort_check() cannot have the extension: only the
	# function that damages pages exists then.
	my ($ret, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION ptsort_test CASCADE');
	$has_check = $err !~ /could not find function "ptsort_check"/;
	$node->safe_psql('postgres', q{
CREATE FUNCTION ptsort_test_write_page(regclass, int8, int4, bytea) RETURNS void
AS '$libdir/ptsort_test' LANGUAGE C STRICT}) unless $has_check;
	return $node;
}

# Returns the problems that a verdict of ptsort_says() counts, by column; a
# verdict that is an error has the column "error".  "problems" must be their sum,
# and "details" must describe problems.
sub problems_in
{
	my ($verdict) = @_;
	my $row = decode_json($verdict);
	return { error => $row->{error} } if exists $row->{error};
	my %found = map { ($_ => $row->{$_}) } grep { $row->{$_} } @columns, 'problems';
	my $sum = 0;
	$sum += $found{$_} // 0 foreach @columns;
	$found{error} = "problems is not the sum: $verdict" if $sum != ($found{problems} // 0);
	$found{error} = "no details: $verdict" if $sum && !@{ $row->{details} // [] };
	return \%found;
}

1;
