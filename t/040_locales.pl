# The order of text is the server's in every locale.  The test builds indexes
# on difficult strings, in memory and with runs, by one participant and by
# several.  With PTSORT_LOCALES=all ("make check-locales"), it tests every
# UTF-8 locale and every ICU collation of the machine, otherwise a sample.  It
# skips locales that are not installed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Corpus;
use Encode;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @sample = qw(en_US cs_CZ da_DK hu_HU ja_JP th_TH sv_SE tr_TR de_DE fr_CA zh_CN ar_SA);

# ICU: language, and true if the collation is deterministic
my %icu = (
	'und' => 1,
	'th' => 1,
	'hu' => 1,
	'ja' => 1,
	'zh' => 1,
	'ko' => 1,
	'ru' => 1,
	'vi' => 1,
	'und-u-kk' => 1,
	'und-u-kr-grek-digit-latn' => 1,
	'de-u-co-phonebk' => 1,
	'fr-CA' => 1,
	'en-u-kn-true-kf-upper' => 1,
	'en-u-ka-shifted' => 1,
	'und-u-ks-level1' => 0,
	'hu-u-ks-level2' => 0,
	'en-u-ka-shifted-ks-level3' => 0);

# Settings for the builds on each table
my %settings = (
	mixed => [
		'ptsort.parallel_workers = 0',
		'ptsort.parallel_workers = 2, ptsort_test.spill_entries = 300, ptsort_test.merge_order = 2' ],
	# one writing system after the other: ptsort learns from the first rows,
	# which lack most of the characters
	ordered => [
		'ptsort.parallel_workers = 0, ptsort_test.spill_entries = 200',
		'ptsort.parallel_workers = 1, ptsort_test.spill_entries = 150, ptsort_test.slices = 5',
		'ptsort.parallel_workers = 3' ]);

my $node = new_node('main', conf => "ptsort.log_build = off\nptsort_test.learn_tuples = 0\n");
my $all = ($ENV{PTSORT_LOCALES} // '') eq 'all';

# Creates a database with tables of one column k; COPY fills each
# table with its lines.
sub fill_database
{
	my ($name, $options, %tables) = @_;
	my ($ret) = $node->psql('postgres', "CREATE DATABASE $name TEMPLATE template0 $options");
	return 0 if $ret != 0;
	$node->safe_psql($name,
		"CREATE EXTENSION amcheck; CREATE EXTENSION ptsort; \\i $FindBin::RealBin/../sql/include/order.sql");
	foreach my $table (sort keys %tables)
	{
		my $file = $node->basedir . "/$table.txt";
		append_to_file($file, join('', @{ $tables{$table} }));
		$node->safe_psql($name,
			"CREATE TABLE $table (k text); SET client_encoding = sql_ascii; \\copy $table FROM '$file'");
		unlink $file;
	}
	return 1;
}

sub same_order
{
	my ($database, $table, $columns, @settings) = @_;
	my $settings = join ', ', map { "'$_'" } @settings ? @settings : @{ $settings{$table} };
	my ($ret, $out, $err) = $node->psql($database,
		"SELECT same_order('$table', \$\$$columns\$\$, ARRAY[$settings])");
	return $out . $err;
}

# UTF-8
my @strings = (generated_strings(60), machine_strings(60));
my @lines = map { copy_line($_) } @strings;
note scalar(@strings) . ' strings';
fill_database('utf8', q(ENCODING 'UTF8' LOCALE 'C'), mixed => [ shuffled(@lines) ], ordered => \@lines);
my %locales = map { split /\|/ } split /\n/, $node->safe_psql(
	'utf8', q{
SELECT DISTINCT ON (collcollate) collcollate, quote_ident(collname) FROM pg_collation
WHERE collprovider = 'c' AND collencoding = pg_char_to_encoding('UTF8') ORDER BY collcollate, collname});
cmp_ok(scalar(keys %locales), '>', 0, 'there are UTF-8 locales');
my @names = $all ? sort keys %locales : grep { $locales{$_} } map { "$_.utf8" } @sample;

# Strings that the sort compares by the tables of their locale, with and without
# a common prefix
my ($nprefixes, $nrests) = $all ? (12, 80) : (6, 35);
$node->safe_psql('utf8', qq{
CREATE EXTENSION ptsort_test;
CREATE TABLE prefixes AS
SELECT rpad(left(k, 12), 12, '-x?') || (ARRAY[' ', '/', '1', '.', '_'])[1 + abs(hashtext(k)) % 5] AS k
FROM mixed WHERE octet_length(k) >= 8 ORDER BY md5(k) LIMIT $nprefixes;
CREATE TABLE rests AS
SELECT k FROM (
	SELECT k, row_number() OVER (PARTITION BY octet_length(k) = length(k) ORDER BY md5(k)) AS n
	FROM (SELECT DISTINCT left(k, 10) AS k FROM mixed) s) s
WHERE n <= $nrests;
INSERT INTO rests SELECT left(translate(md5(i::text), '0123456789abcdef', 'aA12-/*%+:[<~ .('), 1 + i % 5)
FROM generate_series(1, $nrests) i;
-- of all letters, and of letters that some language contracts
-- or expands
INSERT INTO prefixes VALUES ('');
CREATE TABLE letters AS SELECT DISTINCT regexp_split_to_table(k, '') AS c FROM mixed;
INSERT INTO rests SELECT (SELECT string_agg(c, '')
	FROM (SELECT c FROM letters ORDER BY md5(c || i) LIMIT 1 + i % 5) s)
FROM generate_series(1, $nrests) i;
INSERT INTO rests SELECT (SELECT string_agg(c, '')
	FROM (SELECT c FROM regexp_split_to_table(U&'c h C H ch d z s dz l L lj \\00B7 n g t y i j a A aa e \\00E9 \\0301 \\00DF \\00E6 \\FB03 \\0E44 \\0E21 \\0E01 \\4E2D \\AC00 \\043A \\0438 \\0306 1 23 - . / _', ' ') c
		ORDER BY md5(c || i) LIMIT 1 + i % 6) s)
FROM generate_series(1, 2 * $nrests) i});

sub same_without_prefix
{
	my ($collation) = @_;
	my ($ret, $out, $err) = $node->psql('utf8', qq{
CREATE TEMP TABLE shape (k text COLLATE $collation);
CREATE INDEX shape_i ON shape (k);
SELECT skips, compared > 100000 AS enough, different
FROM ptsort_test_prefixes('shape_i', (SELECT array_agg(k) FROM prefixes), (SELECT array_agg(k) FROM rests))});
	return $out . $err;
}

# Returns two results: true if words distinguish strings, and true if words
# contradict the strings' order.
sub contradictions
{
	my ($collation) = @_;
	my ($ret, $out, $err) = $node->psql('utf8', qq{
CREATE TEMP TABLE shape (k text COLLATE $collation);
CREATE INDEX shape_i ON shape (k);
SELECT decided > 100, contradictions > 0
FROM ptsort_test_words('shape_i', (SELECT array_agg(k) FROM (TABLE mixed UNION ALL TABLE rests) s))});
	return $out . $err;
}

foreach my $locale (@names)
{
	is(same_order('utf8', $_, "k COLLATE $locales{$locale}"), 'same', "$locale, $_")
	  foreach sort keys %settings;
	is(same_without_prefix($locales{$locale}), ($locale =~ /^C\b/ ? 'f' : 't') . '|t|0',
		"$locale, behind a prefix");
}

SKIP:
{
	my $has_icu = $node->safe_psql('postgres', q{SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i')});
	skip('no ICU', 1) if $has_icu eq 'f';
	foreach my $language (sort keys %icu)
	{
		my $deterministic = $icu{$language} ? 'true' : 'false';
		$node->safe_psql('utf8',
			qq{CREATE COLLATION "$language" (PROVIDER = icu, LOCALE = '$language', DETERMINISTIC = $deterministic)});
		is(same_order('utf8', $_, qq{k COLLATE "$language"}), 'same', "$language, $_")
		  foreach sort keys %settings;
	}

	# What ICU's tables prove.  For some languages the tables prove nothing, and
	# words are the server's abbreviated keys.
	my $pattern = $all ? '' : '^(und|en|de|cs|da|hu|th|ja|zh|ko|ru|ar|my)-x-icu$';
	foreach my $collation (split /\n/, $node->safe_psql('utf8', qq{
SELECT DISTINCT quote_ident(collname) FROM pg_collation WHERE collprovider = 'i' AND collname ~ '$pattern'
UNION SELECT quote_ident(l) FROM unnest('{@{[ join ',', keys %icu ]}}'::text[]) l ORDER BY 1}))
	{
		is(same_without_prefix($collation), 't|t|0', "$collation, behind a prefix");
		# ICU's sort keys of Vietnamese contradict its own comparison of rare
		# strings
		like(contradictions($collation), $collation =~ /^"?vi\b/ ? qr/^t\|[tf]$/ : qr/^t\|f$/,
			"$collation, words");
	}

	# A spot check notices that ptsort read the tables without contractions.
	# The check looks at one string in 64.  It must meet a misplaced string,
	# because a third of the table's strings are misplaced.
	$node->safe_psql('utf8', q{
CREATE TABLE digraphs AS SELECT (ARRAY['c', 'ch', 'h'])[1 + i % 3] || md5(i::text) AS k
FROM generate_series(1, 3000) i});
	like(same_order('utf8', 'digraphs', 'k COLLATE "cs-x-icu"',
			'ptsort.parallel_workers = 0, ptsort_test.trust_collations = on',
			'ptsort.parallel_workers = 2, ptsort_test.spill_entries = 300, ptsort_test.trust_collations = on'),
		qr/^same.*WARNING:  collation "cs-x-icu" contradicts its own tables/s, 'cs-x-icu, tables read wrongly');
}

# Other encodings, and SQL_ASCII, with bytes that are not text in the locale
sub other_encoding
{
	my ($database, $encoding, $locale, @lines) = @_;
	my $tables_there = fill_database($database, "ENCODING '$encoding' LOCALE '$locale'",
		mixed => [ shuffled(@lines) ], ordered => \@lines);
  SKIP:
	{
		skip("no locale $locale", 2) if !$tables_there;
		is(same_order($database, $_, 'k'), 'same', "$encoding, $locale, $_") foreach sort keys %settings;
	}
}

sub encoded
{
	my ($encoding) = @_;
	my @result = map { my $s = decode('UTF-8', $_); eval { encode($encoding, $s, Encode::FB_CROAK) } // () } @lines;
	note scalar(@result) . " strings in $encoding";
	return @result;
}
other_encoding('latin1', 'LATIN1', 'en_GB', encoded('iso-8859-1'));
other_encoding('latin9', 'LATIN9', 'et_EE.iso885915', encoded('iso-8859-15'));
other_encoding('koi8r', 'KOI8R', 'ru_RU.koi8r', encoded('koi8-r'));
other_encoding('euc_jp', 'EUC_JP', 'ja_JP.eucjp', encoded('euc-jp'));
other_encoding('euc_kr', 'EUC_KR', 'ko_KR.euckr', encoded('euc-kr'));
other_encoding('sql_ascii', 'SQL_ASCII', 'en_US.utf8', @lines,
	encoded('iso-8859-1'), encoded('euc-jp'),
	map { my $cut = $_; chomp $cut; chop $cut; $cut =~ s/\\$//; "$cut\n" } @lines);

# Without an encoding, characters may have ASCII's digits in their middle.
SKIP:
{
	my ($ret) = $node->psql('sql_ascii', "CREATE COLLATION gb18030 (PROVIDER = libc, LOCALE = 'zh_CN.gb18030')");
	skip('no locale zh_CN.gb18030', 1) if $ret != 0;
	$node->safe_psql('sql_ascii', q{
CREATE TABLE mixed_bytes AS
SELECT 'https://www.example.com/' || i || '/page' AS k FROM generate_series(1, 20000) i UNION ALL
SELECT convert_from(x, 'SQL_ASCII') FROM (VALUES ('\x687474703a2f2f782f8233f439'::bytea), ('\x687474703a2f2f782f8233af34')) v (x)});
	is(same_order('sql_ascii', 'mixed_bytes', 'k COLLATE gb18030', 'ptsort.parallel_workers = 0'),
		'same', 'GB18030 in no encoding');
}

$node->stop;
done_testing();
