# Random faults: flips bits of one byte of an index's page, asks ptsort_check()
# and amcheck, and restores the page.  ptsort_check() finds a problem wherever
# amcheck does, and never crashes, hangs or fails; amcheck may crash, and then the
# test goes on with the next flip.  A flip of bits without a meaning is no problem,
# even if amcheck, which compares bytes, reports it.
#
#   PTSORT_FLIPS   number of flips (2000 for a thorough test)
#   PTSORT_SEED    seed of the flips; the same seed gives the same flips
#
# Its log may have: terminated by signal (6|7|11)|TRAP:
# Depends on the version: it changes pages of the version
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use BuildLoad;
use Flips;
use IndexPages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Ptsort;
use Test::More;
use Verdicts;

my $flips = $ENV{PTSORT_FLIPS} || 120;
my $seed = load_seed();
srand($seed);

# The indexes: columns, a row as a function of its number i, and the keys.  There
# is none of arrays, whose comparison reads beyond a damaged value, as amcheck's
# does.
my %indexes = (
	int8 => [ 'key int8', 'hashint8(i)', '(key)' ],
	numeric => [ 'key numeric', 'hashint4(i) * 1.01', '(key)' ],
	english => [ 'key text COLLATE "en_US.utf8"', q{md5(i::text) || repeat('x', i % 200)}, '(key)' ],
	bytes => [ 'key text COLLATE "C"', q{repeat('y', 100) || md5(i::text)}, '(key DESC)' ],
	compressed => [ 'key text COLLATE "C"', q{lpad(i::text, 8, '0') || repeat('z', 700)}, '(key)' ],
	bytea => [ 'key bytea', q{decode(md5(i::text), 'hex')}, '(key)' ],
	uuid => [ 'key uuid', 'md5(i::text)::uuid', '(key)' ],
	timestamptz => [ 'key timestamptz', q{'2020-01-01'::timestamptz + i * interval '1 hour'}, '(key DESC)' ],
	float8 => [ 'key float8', 'hashint4(i) / 3.0', '(key)' ],
	two => [ 'key int, word text', q{CASE WHEN i % 5 > 0 THEN i / 10 END, CASE WHEN i % 7 > 0 THEN md5(i::text) END},
		'(key NULLS FIRST, word DESC)' ],
	included => [ 'key int, word text', 'i, md5(i::text)', '(key) INCLUDE (word)' ],
	posting => [ 'key int', 'i / 40', '(key)' ],
	posted_text => [ 'key text COLLATE "C"', q{repeat('w', 60) || i / 10}, '(key)' ],
	no_posting => [ 'key numeric', 'i / 40', '(key)' ],
	int2 => [ 'key int2', 'i % 300', '(key DESC)' ],
	int4_unique => [ 'key int', 'i', '(key)' ],
	oid => [ 'key oid', 'i * 7919', '(key)' ],
	boolean => [ 'key bool', 'i % 3 = 0', '(key)' ],
	one_char => [ 'key "char"', 'chr(33 + i % 90)::"char"', '(key)' ],
	float4 => [ 'key float4', 'hashint4(i) / 7.0', '(key)' ],
	money => [ 'key money', 'i::money', '(key)' ],
	day => [ 'key date', q{'2020-01-01'::date + i}, '(key DESC NULLS LAST)' ],
	daytime => [ 'key time', q{'00:00'::time + i * interval '1 minute'}, '(key)' ],
	timetz => [ 'key timetz', q{'00:00+00'::timetz + i * interval '1 minute'}, '(key)' ],
	span => [ 'key interval', q{i * interval '11 hours'}, '(key)' ],
	name => [ 'key name', 'left(md5(i::text), 20)', '(key)' ],
	padded => [ 'key char(30)', 'left(md5(i::text), 1 + i % 30)', '(key)' ],
	german => [ 'key varchar COLLATE "de_DE.utf8"', q{'Straße ' || md5(i::text)}, '(key)' ],
	czech => [ 'key text COLLATE "cs_CZ.utf8"', q{'ch' || chr(200 + i % 300) || i}, '(key)' ],
	icu => [ 'key text COLLATE "und-x-icu"', q{md5(i::text) || chr(200 + i)}, '(key)' ],
	pattern => [ 'key text COLLATE "en_US.utf8"', 'md5(i::text)', '(key text_pattern_ops)' ],
	lowered => [ 'key text COLLATE "C"', 'upper(md5(i::text))', '(lower(key))' ],
	expression => [ 'key text COLLATE "C"', 'md5(i::text)', '(left(key, 1), key)' ],
	inet => [ 'key inet', q{'10.0.0.0'::inet + i * 300}, '(key)' ],
	macaddr => [ 'key macaddr', 'left(md5(i::text), 12)::macaddr', '(key)' ],
	bits => [ 'key varbit', 'hashint4(i)::bit(32)', '(key)' ],
	nulls => [ 'key int', 'NULL', '(key)' ],
	three => [ 'a int, b text COLLATE "C", c numeric', 'i % 5, md5((i % 50)::text), i', '(a, b DESC, c)' ],
	long => [ 'key text COLLATE "en_US.utf8"', q{(SELECT string_agg(md5((i * 1000 + j)::text), ' ') FROM generate_series(1, 60) j)}, '(key)' ],
	covering => [ 'a int, b int, c uuid', 'i % 3, i, md5(i::text)::uuid', '(a, b) INCLUDE (c)' ]);
my @names = sort keys %indexes;

my $node = verdict_node('main');
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->restart;
foreach my $name (@names)
{
	my ($columns, $row, $keys) = @{ $indexes{$name} };
	$node->safe_psql('postgres', "CREATE TABLE $name ($columns);\n"
		  . "INSERT INTO $name SELECT $row FROM generate_series(1, 600) i ORDER BY hashint4(i);\n"
		  . "CREATE INDEX ${name}_i ON $name $keys WITH (fillfactor = 50);");
}

# Returns the length and the alignment of each attribute of an index.
sub attributes_of
{
	my ($index) = @_;
	my %align = (c => 1, s => 2, i => 4, d => 8);
	return map { my ($length, $align) = split /\|/; [ $length, $align{$align} ] }
	  split /\n/, $node->safe_psql('postgres',
		"SELECT attlen, attalign FROM pg_attribute WHERE attrelid = '$index'::regclass ORDER BY attnum");
}
my %attributes = map { ($_ => [ attributes_of("${_}_i") ]) } @names;

# Returns the pages of all indexes.
sub all_pages
{
	return { map { ($_ => [ read_pages($node, "${_}_i") ]) } @names };
}

# Returns the random flips.  One in eight is in a metapage.  A flip changes one
# bit, or all bits, or any bits of its byte.
sub random_flips
{
	my ($pages) = @_;
	my @list;

	foreach my $k (1 .. $flips)
	{
		my $name = pick(@names);
		my $block = rand() < 0.125 ? 0 : int(rand @{ $pages->{$name} });
		my $page = $pages->{$name}[$block];
		my $offset = $block ? random_place($page, 8176) : pick(24 .. 72, 8176 .. 8191, 8 .. 23);
		my $mask = random_mask();
		push @list, {
			index => "${name}_i", table => $name, block => $block, offset => $offset, mask => $mask,
			page => $page,
			workers => $k % 8 ? 0 : 2, name => "$k of seed $seed: ${name}_i, block $block, offset $offset, mask $mask"
		};
	}
	return @list;
}

# True if a flip changes no bit that has a meaning.
sub is_harmless
{
	my ($pages, $flip) = @_;
	my $page = $pages->{ $flip->{table} }[ $flip->{block} ];
	return !($flip->{mask} & meaning($page, $flip->{offset}, @{ $attributes{ $flip->{table} } }));
}

# Returns the questions about a flip.  The verdict of ptsort_check() comes first, so
# the test knows which of the two checks crashed.
sub questions
{
	my ($flip) = @_;
	my $index = $flip->{index};
	return (
		[ 'ptsort', $has_check ? "ptsort_says('$index', true, $flip->{workers})" : "'{}'" ],
		[ 'amcheck', "coalesce(amcheck_says('$index', true, false), '')" ]);
}

# Builds the indexes again after a crash.  Returns the flips, with the new pages.
sub rebuild
{
	my (@list) = @_;
	$node->safe_psql('postgres', join ' ', map { "REINDEX TABLE $_;" } @names);
	my $pages = all_pages();
	$_->{page} = $pages->{ $_->{table} }[ $_->{block} ] foreach @list;
	return @list;
}

my $pages = all_pages();
my @list = random_flips($pages);
run_flips($node, \&questions, \&rebuild, @list);
my $crashes = grep { ($_->{crashed} // '') eq 'amcheck' } @list;
my (%count, @missed, @wrong);
is(join("\n", map { $_->{name} } grep { ($_->{crashed} // '') eq 'ptsort' } @list), '', "seed $seed: no crash of ptsort_check");

foreach my $flip (@list)
{
	my $found = problems_in($flip->{ptsort} // '{}');
	my $ours = $found->{problems} // 0;
	my $theirs = length($flip->{amcheck} // 'crashed') ? 1 : 0;
	my $harmless = is_harmless($pages, $flip);

	$count{ ($ours ? 'found' : 'not found') . ' by ptsort, ' . ($theirs ? 'found' : 'not found') . ' by amcheck' }++;
	$count{harmless} += $harmless;
	next unless $has_check && defined $flip->{ptsort};
	push @wrong, "$flip->{name}: $found->{error}" if $found->{error};
	push @wrong, "$flip->{name}: $flip->{ptsort}" if $harmless && $ours && !$theirs;
	push @missed, "$flip->{name}: $flip->{amcheck}" if $theirs && defined $flip->{amcheck} && !$harmless && !$ours;
}
is(join("\n", @missed), '', "seed $seed: ptsort_check finds what amcheck finds");
is(join("\n", @wrong), '', "seed $seed: no error, and no problem where none is");
is($node->safe_psql('postgres', join '', map { "SELECT amcheck_says('${_}_i', true);" } @names) =~ s/\n//gr,
	'', "seed $seed: all flips undone");
note("== seed $seed: $flips flips, $crashes crashes of amcheck; " . join '; ', map { "$count{$_} $_" } sort keys %count);
$node->stop;
done_testing();
