# Strings that are difficult to sort.  One part comes from the alphabets,
# digraphs, ligatures, accents and punctuation of many languages, and is the
# same in every run.  The other part comes from this machine's files.
package Corpus;

use strict;
use warnings;
use utf8;
use Encode;
use Exporter 'import';

our @EXPORT = qw(generated_strings hostile_strings machine_strings copy_line shuffled);

# Our own generator gives the same numbers on every machine.
my $seed = 1;

sub number_below
{
	my ($n) = @_;
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	return ($seed >> 8) % $n;
}

sub pick { return $_[ number_below(scalar @_) ] }

sub shuffled
{
	my @list = @_;
	for (my $i = $#list; $i > 0; $i--)
	{
		my $j = number_below($i + 1);
		@list[ $i, $j ] = @list[ $j, $i ];
	}
	return @list;
}

# Returns the characters of ranges of code points.
sub chars
{
	my @result;
	while (my ($first, $last) = splice @_, 0, 2)
	{
		push @result, map { chr } $first .. $last;
	}
	return @result;
}

# Letters, digraphs and other parts of words, by script.  Elements listed twice
# occur twice as often as the others.
my @latin = ('a' .. 'z', split //, 'eaiontrs');
my @digraphs = qw(ch CH Ch cH c h dz Dz DZ dž Dž d ž lj nj gy ly ny sz ty zs dzs ccs ssz nny ddzs
  ll rr ng ngh ff th dd rh ph aa Aa AA å ae oe ue ij ĳ IJ æ Æ œ ß ẞ ŉ ǆ ǅ Ǆ lj nj ﬁ ﬂ ﬀ ﬃ
  đ ł ø ð þ ı İ i I ĸ ŧ ħ ə);
my @accented = split //, 'áàâäãåāăąéèêëěėęíìîïīóòôöõőūúùûüűůýÿčćçďğħľłñňŋřšśşșťțžźż';
my @marks = map { chr } 0x300 .. 0x304, 0x306 .. 0x30C, 0x31B, 0x323, 0x327, 0x328, 0x332, 0x335,
  0x34F;
my @punctuation =
  (' ', ' ', '-', '-', '_', '.', ',', "'", '/', '@', '(', '&', '!', "\x{2019}", "\x{2013}",
	"\x{AD}", "\x{A0}", "\x{200B}", "\x{200D}", "\x{B7}", "\t", "\x{1}");

my %scripts = (
	latin => [ @latin, @latin, @accented, @punctuation ],
	digraphs => [ @digraphs, @digraphs, @latin, '-', ' ' ],
	marks => [ @latin, @marks, @accented ],
	cyrillic => [ chars(0x410, 0x44F, 0x430, 0x44F, 0x400, 0x40F, 0x450, 0x45F, 0x490, 0x49F),
		'-', ' ', chr 0x301 ],
	greek => [ chars(0x3B1, 0x3CE, 0x391, 0x3A1, 0x3B1, 0x3C9, 0x1F00, 0x1F15), ' ', chr 0x313 ],
	thai => [ chars(0xE01, 0xE3A, 0xE40, 0xE44, 0xE40, 0xE44, 0xE40, 0xE4E), ' ' ],
	lao => [ chars(0xE81, 0xE84, 0xE87, 0xE88, 0xE94, 0xE97, 0xEC0, 0xEC4), ' ' ],
	kana => [ chars(0x3041, 0x3096, 0x30A1, 0x30FC, 0x3099, 0x309E, 0xFF66, 0xFF9F), 'ー', 'ゝ', 'ヽ' ],
	kanji => [ chars(0x4E00, 0x4F00, 0x9F00, 0x9FA5, 0x3400, 0x3410, 0x20000, 0x20010), '々', '・' ],
	hangul => [ chars(0xAC00, 0xADFF, 0xD700, 0xD7A3, 0x1100, 0x1112, 0x1161, 0x1175, 0x11A8, 0x11C2),
		chars(0x3131, 0x318E) ],
	arabic => [ chars(0x621, 0x64A, 0x621, 0x64A, 0x64B, 0x652, 0x660, 0x669, 0x6F0, 0x6F9),
		'ـ', ' ', "\x{200C}", "\x{FEFB}", "\x{FEF5}" ],
	hebrew => [ chars(0x5D0, 0x5EA, 0x5D0, 0x5EA, 0x5B0, 0x5BC), '"', '-' ],
	devanagari => [ chars(0x901, 0x939, 0x93C, 0x94D, 0x958, 0x95F), "\x{200D}", "\x{200C}", ' ', 'क्ष', 'ज्ञ' ],
	tibetan => [ chars(0xF40, 0xF47, 0xF71, 0xF80, 0xF90, 0xF99), "\x{F0B}" ],
	emoji => [ chars(0x1F600, 0x1F64F, 0x1F3FB, 0x1F3FF, 0x1F1E6, 0x1F1FF, 0x2600, 0x2620),
		"\x{200D}", "\x{FE0F}", ' ', 'a' ],
	numbers => [ 0 .. 9, 0 .. 9, '.', ',', '-', '+', 'e', ' ', '²', '½', 'Ⅳ', '٣', '３', 'a', 'x' ],
	odd => [ "\x{1}", "\x{7F}", "\x{85}", "\x{E000}", "\x{F8FF}", "\x{FFFD}", "\x{10FFFF}", "\x{2028}",
		"\x{FEFF}", "\x{61C}", "\x{378}", "\x{FFFF}", "\x{D7FF}", 'a', 'A', 'b', '0', ' ' ]);

sub changed_case
{
	my ($word) = @_;
	my $how = number_below(6);
	return $how == 0 ? uc $word : $how == 1 ? ucfirst $word : $word;
}

# Returns $count strings of each script, then the strings of variants().  A
# string has up to 12 letters; before these letters, one string in three has a
# copy of an earlier string.
sub generated_strings
{
	my ($count, $first_seed) = @_;
	my @result;
	$seed = $first_seed // 1;
	foreach my $script (sort keys %scripts)
	{
		my @letters = @{ $scripts{$script} };
		my @words;
		for (1 .. $count)
		{
			my $word = join '', map { pick(@letters) } 1 .. number_below(13);
			$word = pick(@words) . $word if @words && number_below(3) == 0;
			$word = substr $word, 0, 40;
			push @words, $word;
			push @result, changed_case($word);
		}
	}
	push @result, variants();
	return @result;
}

# Returns strings that differ only a little from each other.
sub variants
{
	return (
		(map { ("co${_}op", "CO${_}OP", "co${_}ops", "r\x{E9}sum${_}\x{E9}", "re\x{301}sum${_}e") } '', @punctuation),
		qw(cote côte coté côté Cote CÔTE pêche péché peche), "a\x{323}\x{302}", "a\x{302}\x{323}",
		"\x{1EAD}", "\x{E2}\x{323}", "\x{1EA1}\x{302}", "\x{212B}", "\x{C5}", "A\x{30A}", "\x{2126}", "\x{3A9}",
		"\x{FB01}n", 'fin', 'FIN', "\x{FF26}\x{FF29}\x{FF2E}", "\x{3B1}\x{345}", "\x{1FB3}",
		"\x{AC00}", "\x{1100}\x{1161}", "\x{AC01}", "\x{1100}\x{1161}\x{11A8}", "\x{304B}\x{3099}", "\x{304C}",
		'', '', ' ', '  ', '-', '--', "\x{301}", "\x{301}\x{301}", "\x{AD}", "\x{200B}", 'a' x 500, 'a' x 501,
		("ab" x 900), (map { 'prefix of many/' x $_ } 1 .. 20), (map { 'x' x $_ } 1 .. 30),
		(map { "v$_" } 1, 2, 10, 11, 100, '007', '07', 7), 'Straße', 'STRASSE', 'Strasse', 'strase');
}

# Returns up to $count strings of characters from all of Unicode, mixed with
# symbols, accents and a few letters.  Many strings differ from another string in
# only one character.  The locales of the C library ignore some of these
# characters in some passes, or do not define them.
sub hostile_strings
{
	my ($count) = @_;
	my @frequent = chars(0x20, 0x40, 0x5B, 0x63, 0x7B, 0x7E, 0xA1, 0xBF, 0x300, 0x310, 0x2010, 0x2020);
	my @letters = chars(0x41, 0x7A, 0xC0, 0x24F, 0x370, 0x5EA, 0x620, 0x6D3, 0x900, 0xFFF, 0x1E00, 0x2BFF,
		0x3041, 0x30FF, 0xAC00, 0xACFF);
	my @result;
	$seed = 1;
	while (@result < $count)
	{
		my @string = map {
			my $kind = number_below(16);
			my $code = number_below(0x10FFFF) + 1;
			$code %= 0xD800 if $kind == 1 || ($code >= 0xD800 && $code < 0xE000);
			$kind < 2 ? chr($code || 1) : pick($kind < 8 ? @letters : @frequent)
		} 0 .. number_below(6);
		push @result, join '', @string;
		$string[ number_below(scalar @string) ] = pick(@frequent, @letters);
		push @result, join('', @string) if number_below(2) == 0;
	}
	return @result;
}

# Returns up to $count strings of each kind of file on this machine: words of
# dictionaries, data about packages, paths, translated messages.
sub machine_strings
{
	my ($count) = @_;
	my @sources = (
		[ glob('/usr/share/dict/*') ],
		['/var/lib/dpkg/status'],
		['/var/lib/dpkg/available'],
		[ glob('/var/lib/dpkg/info/[a-l]*.list') ],
		map { [$_] } glob('/usr/share/locale/*/LC_MESSAGES/postgres-*.mo'));
	my @result;

	foreach my $source (@sources)
	{
		my @strings;
		foreach my $file (grep { -f && -r } @$source)
		{
			open my $handle, '<:raw', $file or next;
			local $/ = $file =~ /\.mo$/ ? "\0" : "\n";
			while (my $line = <$handle>)
			{
				chomp $line;
				next if $line eq '' || length $line > 300;
				$line = eval { decode('UTF-8', $line, Encode::FB_CROAK) } // next;
				push @strings, $line unless $file =~ /\.mo$/ && $line !~ /[^\x00-\x7F]/;
			}
			close $handle;
			last if @strings > 200000;
		}
		# take every n-th string
		my $step = @strings / $count;
		$step = 1 if $step < 1;
		for (my $i = 0; $i < @strings; $i += $step)
		{
			push @result, $strings[$i];
		}
	}
	return @result;
}

# Escapes a string for COPY.
sub copy_line
{
	my ($string) = @_;
	my %escapes = ("\\" => "\\\\", "\n" => '\n', "\r" => '\r', "\t" => '\t');
	$string =~ s/([\\\n\r\t])/$escapes{$1}/g;
	return encode('UTF-8', $string) . "\n";
}

1;
