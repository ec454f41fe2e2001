# The interface for other extensions only grows.  t/abi/2.0 has the headers of
# the first release of interface version 2, without comments (the output of
# "gcc -fpreprocessed -dD -E -P").  Today's headers must contain everything in
# the released headers, in the order of the released headers, and a client
# compiled with the released headers must work.  A client that knows fewer
# functions must work as well.  A client that knows more functions, or another
# version, gets an error that states the reason.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use File::Basename;
use File::Temp qw(tempdir);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = dirname($FindBin::RealBin);
my $saved = "$top/t/abi/2.0";
my @headers = qw(ptsort.h ptsort_variant.h ptsort_parallel.h);

# Returns the headers as one text, without comments and markers of extensions to
# the language, and with single spaces.
sub declarations
{
	my ($dir) = @_;
	my $text = join "\n", map { slurp_file("$dir/$_") } @headers;

	$text =~ s{/\*.*?\*/}{ }gs;
	$text =~ s/\b__extension__\b//g;
	$text =~ s/\s+/ /g;
	$text =~ s/ ?([(),;{}*]) ?/$1/g;
	return $text;
}

# Returns the members of a struct or an enum, in order.
sub members
{
	my ($text, $name) = @_;
	my ($body) = $text =~ /typedef (?:struct|enum) \Q$name\E\{([^{}]*)\}/
	  or return ();
	return split /[;]|,(?=PTSORT_)/, $body;
}

# Returns everything in the old headers that differs in the new ones.
sub broken_promises
{
	my ($old, $new) = @_;
	my @broken;

	foreach my $type ($old =~ /typedef (?:struct|enum) (\w+)\{/g)
	{
		my @old = members($old, $type);
		my @new = members($new, $type);

		$#new = $#old if $type eq 'PtSortApi' && @new > @old;
		push @broken, $type if "@new" ne "@old";
	}
	push @broken, grep { index($new, $_) < 0 }
	  $old =~ /static inline ([^;{}]*\([^;{}]*\))\{/g;
	push @broken, grep { $new !~ /\Q$_\E(?!\w)/ } $old =~ /(?<=#define )PTSORT_[A-Z_]+ \S+/g;
	push @broken, grep { index($new, $_) < 0 } $old =~ /#define ptsort_\w+\(ptsort_api\(\)->\w+\)/g;
	return @broken;
}

my $old = declarations($saved);
my @functions = members($old, 'PtSortApi');
cmp_ok(scalar(@functions), '>', 30, 'the saved table has its functions');
is(join("\n", broken_promises($old, declarations("$top/include"))),
	'', 'the interface of version 2 as it was released');

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
foreach my $name (sort keys %change)
{
	local $_ = $old;

	$change{$name}->();
	isnt($_, $old, "$name: changed");
	isnt(scalar(broken_promises($old, $_)), 0, "$name: seen");
}
my $appended = $old =~ s/(\}PtSortApi;)/void(*more)(void);$1/r;
isnt($appended, $old, 'function at the end: changed');
is(join("\n", broken_promises($old, $appended)), '', 'function at the end: allowed');

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

# Compiles the client with changed headers; returns the library.
sub client
{
	my ($from, $changed) = @_;
	my $dir = tempdir(CLEANUP => 1);

	foreach my $header (@headers)
	{
		local $_ = slurp_file("$from/$header");

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

my $library = client("$top/include");
is(call($library, 'abi_sort'), 1000, 'compiled with our headers: sorts');
is(call($library, 'abi_functions'), 0, '... and knows all functions');

my $now = () = members(declarations("$top/include"), 'PtSortApi');
$library = client($saved);
is(call($library, 'abi_sort'), 1000, 'compiled with the released headers: sorts');
is(call($library, 'abi_functions'), $now - @functions,
	'... and knows the released functions');

$library = client($saved, sub {
	my ($header) = @_;

	# remove the last function, and the inline function that calls it
	s/struct PtParallelResult \*\(\*parallel_end\)[^;]*;// if $header eq 'ptsort.h';
	s/static inline PtParallelResult \*\s*ptsort_parallel_end\(.*?\n\}//s
	  if $header eq 'ptsort_parallel.h';
});
is(call($library, 'abi_sort'), 1000, 'a client that knows fewer functions: sorts');
is(call($library, 'abi_functions'), $now - @functions + 1, '... and knows one fewer');

$library = client("$top/include", sub { s/(\}\s*PtSortApi;)/void (*more) (void);\n$1/ });
my $has = $now - 2;	# without version and size
my $wants = $has + 1;
like( call($library, 'abi_sort'),
	qr/^ERROR:  0A000: ptsort is older than the extension expects\nDETAIL:  The extension was compiled for $wants functions of interface version 2, the installed ptsort has $has\.\nHINT:  Install at least the version of ptsort whose headers the extension was compiled with\.$/m,
	'a client that knows more functions: error');

$library = client("$top/include", sub { s/(define PTSORT_API_VERSION) 2/$1 3/ });
like( call($library, 'abi_sort'),
	qr/^ERROR:  0A000: extension was compiled against another version of ptsort's interface\nDETAIL:  The extension uses version 3, the installed ptsort offers version 2\.\nHINT:  Recompile the extension with the installed headers\.$/m,
	'a client of another version: error');

$node->stop;
done_testing();
