# Collations of ICU that normalize and have letters made of one of Latin and a mark.
# ICU compares strings of Latin in a quick way that does not normalize.  Where that may
# contradict its tables nothing is proved (Vietnamese); where it cannot (Yoruba, Igbo,
# Wolof) the order by the tables is ICU's: letters with up to three marks, in any order,
# composed or not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Encode;
use Ptsort;
use PostgreSQL::Test::Cluster;
use Test::More;
use Unicode::Normalize;

my $node = new_node('main', init => { extra => [ '--locale=C', '--encoding=UTF8' ] });
plan skip_all => 'no ICU'
  if $node->safe_psql('postgres', q{SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'yo-x-icu')}) eq 'f';

# Strings of few letters, so that many pairs differ in marks only
my @marks = map { chr } 0x300 .. 0x304, 0x306 .. 0x309, 0x30C, 0x31B, 0x323, 0x327, 0x328, 0x331, 0x340, 0x341, 0x344;
my @letters = (
	split(//, 'aeiougbnskchwyp' x 3),
	(grep { NFD($_) ne $_ } map { chr } 0xC0 .. 0x17F),
	map { chr } 0x1A0, 0x1A1, 0x1AF, 0x1B0, 0x1EA1, 0x1EB9, 0x1ECB, 0x1ECD, 0x1EE5, 0x1E63, 0x1E45, 0x1ED9, 0x1EE1);
my %strings;
srand(44);
while (keys %strings < 500)
{
	my $string = $letters[ rand @letters ];
	$string .= rand() < 0.5 ? $marks[ rand @marks ] : $letters[ rand @letters ]
	  for 1 .. rand 5;
	$strings{$string} = $strings{ $string . (qw(a b z))[ rand 3 ] } = 1;
	$strings{ rand() < 0.5 ? NFC($string) : NFD($string) } = 1;
}
# what Vietnamese contradicts itself about
$strings{$_} = 1 foreach "\xF2\x{31B}", "\xF2\x{300}\x{31B}", "\xF4", "\xF4b", "\x{1A1}", "ob";
$node->safe_psql('postgres', 'CREATE EXTENSION ptsort_test; CREATE TABLE strings (k text); INSERT INTO strings VALUES '
	  . encode('UTF-8', join ', ', map { "('$_')" } sort keys %strings));

# What is proved, and what is not.  Attributes change the weights of some characters
# or the places of scripts, but nothing of this; what is searched for has rules of
# its own.
my %proved = (
	'yo' => 1, 'ig' => 1, 'wo' => 1, 'vi' => 0,
	'yo-u-ka-shifted' => 1, 'ig-u-kn' => 1, 'wo-u-kr-grek-latn' => 1, 'wo-u-kf-upper' => 1,
	'vi-u-co-trad' => 0, 'vi-u-kk-false' => 1);
foreach my $name (sort keys %proved)
{
	$node->safe_psql('postgres', qq{CREATE COLLATION "$name" (PROVIDER = icu, LOCALE = '$name')});
	is( $node->safe_psql('postgres', qq{
SELECT decided > compared / 5, different
FROM ptsort_test_ranks('"$name"', (SELECT array_agg(k) FROM strings))}),
		($proved{$name} ? 't' : 'f') . '|0', "$name is @{[ $proved{$name} ? '' : 'not ' ]}proved");
}
is( $node->safe_psql('postgres', q{
SELECT U&'\00F2\031B' = U&'\1EDD' COLLATE "vi", U&'\1EDD' > U&'\00F4' COLLATE "vi", U&'\00F2\031B' < U&'\00F4' COLLATE "vi"}),
	'f|t|t', 'Vietnamese contradicts itself');

$node->stop;
done_testing();
