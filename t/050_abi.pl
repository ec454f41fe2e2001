# The interface for other extensions only grows.  %released below describes the
# three headers as version 1.2.0 released them.  Today's headers must begin with
# the same declarations: new functions go to the end of the table, and any other
# change needs another PTSORT_API_VERSION.  A client compiled with these headers
# must work, and so must a client that knows fewer functions.  A client that
# knows more functions, or another version, gets an error that states the reason.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use Digest::MD5 qw(md5_hex);
use File::Basename;
use File::Temp qw(tempdir);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $include = dirname($FindBin::RealBin) . '/include';
my @headers = qw(ptsort.h ptsort_variant.h ptsort_parallel.h);

# Lists of declarations: how many each list had in 1.2.0, and a digest of them.
# The lists are the members of a type, and for each header its constants, its
# inline functions, and its names of functions in the table.
my %released = (
	'PtParallel' => '11 320d7d6aa8ad75337097abb2cbcd000e',
	'PtParallelOps' => '7 0bda3e57bc8cc314afef604fd4ac4548',
	'PtParallelRequest' => '11 ab356407edd5d5622bbbabddc90a3878',
	'PtParallelResult' => '6 7b5c1c9d3038ec197baf0bf500a47583',
	'PtParallelStats' => '4 4e1c3d6ab7e517613873642b73d45ffb',
	'PtSortApi' => '37 44b35a821fa9549bb40c1bf45b6fddc1',
	'PtSortMethod' => '5 a8aeab7a30969473cb8d06f6100a842a',
	'PtSortOptions' => '10 04dc42b4770c96711792a81f8d25419a',
	'PtSortRole' => '5 311047a878bdaa8b9e0a4f62beaa1765',
	'PtSortStats' => '9 23b92936a94d80c8284581bdd3773200',
	'PtSortVariant' => '5 ded714531dc41c3b28393bc3183648e1',
	'ptsort.h constants' => '3 a96ae12f2b030281f7d8b28495b927b4',
	'ptsort.h inline' => '4 22a0a1ec74847b52824d1992a99004d2',
	'ptsort.h names' => '27 b3a4fee800fd5d77a8091afa675adf5f',
	'ptsort_parallel.h inline' => '2 c25431e2d371868ba6159a1e7ef1cf1f',
	'ptsort_variant.h constants' => '1 8a825680bad02c43d4286852ca026c00',
	'ptsort_variant.h inline' => '6 4a418dad952931d985745ffb07650b73');

# Returns the lists of declarations in the headers.  $change may change a
# header's text before.
sub declarations
{
	my ($change) = @_;
	my %lists;

	foreach my $header (@headers)
	{
		local $_ = slurp_file("$include/$header");
		s{/\*.*?\*/}{ }gs;
		s/\s+/ /g;
		s/ ?([(),;{}*]) ?/$1/g;
		$change->() if $change;
		$lists{"$header constants"} = [/#define (PTSORT_(?!\w*H )[A-Z_]+ ?(?:\([^()]*\)|\S+))/g];
		$lists{"$header inline"} = [/static inline ([^;{}]*\([^;{}]*\))\{/g];
		$lists{"$header names"} = [/#define ptsort_\w+\(ptsort_api\(\)->\w+\)/g];
		$lists{$1} = [ split /;|,(?=PTSORT_)/, $2 ] while /typedef (?:struct|enum) (\w+)\{([^{}]*)\}/g;
	}
	return %lists;
}

# Returns "COUNT DIGEST" of a list, or of its first $n elements.
sub summary
{
	my ($list, $n) = @_;
	my @first = @$list[ 0 .. ($n // @$list) - 1 ];
	return @first . ' ' . md5_hex(join "\n", map { $_ // '' } @first);
}

# Returns the lists that no longer begin as released.  Only the table of
# functions and the headers' own lists may grow.
sub broken_promises
{
	my (%lists) = @_;
	return join "\n", grep {
		my $n = /^PtSortApi$|^ptsort.*\.h / ? (split / /, $released{$_})[0] : undef;
		!$lists{$_} || summary($lists{$_}, $n) ne $released{$_}
	} sort keys %released;
}

my %today = declarations();
is(broken_promises(%today), '', 'the interface as 1.2.0 released it')
  or diag(join '', map { "\t'$_' => '" . summary($today{$_}) . "',\n" } sort grep { @{ $today{$_} } } keys %today);

# The comparison must notice incompatible changes.
my %change = (
	'order of the table' => sub { s/(void\(\*mark\)[^;]*;)(void\(\*restore\)[^;]*;)/$2$1/ },
	'type in the table' => sub { s/int\(\*shared_slices\)/Size(*shared_slices)/ },
	'argument in the table' => sub { s/bool nulls_not_distinct,const/int nulls_not_distinct,const/ },
	'function in the middle' => sub { s/(void\(\*end\))/void(*more)(void);$1/ },
	'function removed' => sub { s/void\(\*perform\)[^;]*;// },
	'member of a struct' => sub { s/int64 budget;/int64 budget;int more;/ },
	'member of an enum' => sub { s/PTSORT_LEADER,/PTSORT_LEADER,PTSORT_MORE,/ },
	'inline function' => sub { s/ptsort_get_entries\(PtSort/ptsort_get_many(PtSort/ },
	'name of a function' => sub { s/define ptsort_put_tuple/define ptsort_put_minimal/ },
	'constant' => sub { s/(PTSORT_API_VERSION) 2/$1 3/ });
my $changed;
foreach my $name (sort keys %change)
{
	$changed = 0;
	my %lists = declarations(sub { my $before = $_; $change{$name}->(); $changed ||= $_ ne $before });
	ok($changed, "$name: changed");
	isnt(broken_promises(%lists), '', "$name: seen");
}
my %appended = declarations(sub { s/(\}PtSortApi;)/void(*more)(void);$1/ });
is(@{ $appended{PtSortApi} }, @{ $today{PtSortApi} } + 1, 'function at the end: changed');
is(broken_promises(%appended), '', 'function at the end: allowed');

my $source = <<'C';
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"

#include "ptsort_parallel.h"
#include "ptsort_variant.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(abi_sort);
PG_FUNCTION_INFO_V1(abi_functions);

/* Sorts 1000 numbers; returns how many come out in order. */
Datum
abi_sort(PG_FUNCTION_ARGS)
{
	PtSortOptions options = {.role = PTSORT_SERIAL};
	PtSort	   *sort = ptsort_begin_datum(INT8OID, Int8LessOperator,
										  InvalidOid, false, &options);
	PtSortStats stats;
	Datum		value;
	bool		isnull;
	int64		n = 0;

	for (int i = 0; i < 1000; i++)
		ptsort_put_datum(sort, Int64GetDatum((int64) i * 7919 % 1000), false);
	ptsort_perform(sort);
	while (ptsort_get_datum(sort, true, &value, &isnull) &&
		   DatumGetInt64(value) == n)
		n++;
	ptsort_stats(sort, &stats);
	ptsort_end(sort);
	PG_RETURN_INT64(stats.tuples == 1000 ? n : -1);
}

/* How many functions the library has more than this client knows. */
Datum
abi_functions(PG_FUNCTION_ARGS)
{
	int64		more = (int64) ptsort_api()->size - (int64) sizeof(PtSortApi);

	PG_RETURN_INT64(more / (int64) sizeof(void *));
}
C

# Compiles the client with headers that $changed may change; returns the library.
sub client
{
	my ($changed) = @_;
	my $dir = tempdir(CLEANUP => 1);

	foreach my $header (@headers)
	{
		local $_ = slurp_file("$include/$header");

		$changed->($header) if $changed;
		append_to_file("$dir/$header", $_);
	}
	append_to_file("$dir/abi_client.c", $source);
	append_to_file("$dir/Makefile",
		"MODULES = abi_client\nPG_CPPFLAGS = -I.\noverride with_llvm := no\n"
		  . "PGXS := \$(shell pg_config --pgxs)\ninclude \$(PGXS)\n");
	my $output = qx(make -C $dir 2>&1);
	is($?, 0, 'the client compiles') or diag($output);
	unlike($output, qr/warning/, '... without warnings');
	chmod 0755, $dir;
	return "$dir/abi_client";
}

my $node = new_node('main');

# Returns the result of a client's function, or the error.
sub call
{
	my ($library, $function) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres',
		"\\set VERBOSITY verbose\n"
		  . "CREATE OR REPLACE FUNCTION $function() RETURNS int8 LANGUAGE C AS '$library';\n"
		  . "SELECT $function();");
	return $result == 0 ? $stdout : error_of($stderr);
}

my $library = client();
is(call($library, 'abi_sort'), 1000, 'compiled with our headers: sorts');
is(call($library, 'abi_functions'), 0, '... and knows all functions');

$library = client(sub {
	my ($header) = @_;

	# remove the last function, and the inline function that calls it
	s/struct PtParallelResult \*\(\*parallel_end\)[^;]*;// if $header eq 'ptsort.h';
	s/static inline PtParallelResult \*\s*ptsort_parallel_end\(.*?\n\}//s
	  if $header eq 'ptsort_parallel.h';
});
is(call($library, 'abi_sort'), 1000, 'a client that knows fewer functions: sorts');
is(call($library, 'abi_functions'), 1, '... and knows one fewer');

$library = client(sub { s/(\}\s*PtSortApi;)/void (*more) (void);\n$1/ });
my $has = @{ $today{PtSortApi} } - 2;	# without version and size
my $wants = $has + 1;
like( call($library, 'abi_sort'),
	qr/^ERROR:  0A000: ptsort is older than the extension expects\nDETAIL:  The extension was compiled for $wants functions of interface version 2, the installed ptsort has $has\.\nHINT:  Install at least the version of ptsort whose headers the extension was compiled with\.$/m,
	'a client that knows more functions: error');

$library = client(sub { s/(define PTSORT_API_VERSION) 2/$1 3/ });
like( call($library, 'abi_sort'),
	qr/^ERROR:  0A000: extension was compiled against another version of ptsort's interface\nDETAIL:  The extension uses version 3, the installed ptsort offers version 2\.\nHINT:  Recompile the extension with the installed headers\.$/m,
	'a client of another version: error');

$node->stop;
done_testing();
