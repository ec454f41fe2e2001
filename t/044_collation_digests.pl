# Collations with equal digests order all strings alike.  The test compares the
# digests with the order of difficult strings by the C library itself.  With
# PTSORT_LOCALES=all, it does so in all locales of the machine in UTF-8 and
# LATIN1, otherwise in a sample.  It compares the digests of this machine with
# those that ptsort knows of this release of the C library.  It also makes locales
# that differ from another one in a single respect, or only in the numbers of the
# weights.
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

my @sample = qw(C aa_DJ en_US de_DE de_AT es_ES ca_ES cs_CZ sk_SK da_DK fo_FO hr_HR bs_BA hu_HU ja_JP th_TH sv_SE
  tr_TR fr_CA fr_FR zh_CN ar_SA pl_PL lt_LT km_KH);
my $all = ($ENV{PTSORT_LOCALES} // '') eq 'all';
my $filter = $all ? '.' : '^(' . join('|', @sample) . ')(\.|$)';
my @strings = (generated_strings(40), hostile_strings(3000));

# The server, not ptsort, must sort the strings.
my $conf = "ptsort.sort = off\nptsort.use_collation_tables = off\n";

# Creates a database with the strings, and with a function that returns a
# digest of their order.
sub fill_database
{
	my ($node, $name, $options, @lines) = @_;
	my $file = $node->basedir . "/$name.txt";
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 $options");
	append_to_file($file, join('', @lines));
	$node->safe_psql($name, qq{
CREATE EXTENSION ptsort;
CREATE TABLE lines (k text);
SET client_encoding = sql_ascii;
\\copy lines FROM '$file'
CREATE TABLE strings AS SELECT DISTINCT k COLLATE "C" AS k FROM lines;
CREATE FUNCTION order_of(c regcollation, OUT result text) LANGUAGE plpgsql AS \$\$
BEGIN
	EXECUTE format('SELECT md5(string_agg(k, E''\\n'' ORDER BY k COLLATE %s)) FROM strings', c) INTO result;
END \$\$;
CREATE FUNCTION pair(c regcollation, d regcollation, OUT result text) LANGUAGE plpgsql AS \$\$
BEGIN
	EXECUTE format('SELECT quote_literal(a) || '' < '' || quote_literal(b) FROM (
			SELECT k AS a, lead(k) OVER (ORDER BY k COLLATE %s) AS b FROM strings) s
		WHERE a > b COLLATE %s ORDER BY length(a || b), a LIMIT 1', c, d) INTO result;
END \$\$});
	unlink $file;
}

# Compares the digests with the orders of the database's collations.
sub check_database
{
	my ($node, $database) = @_;
	my (%orders, %digests, %name);
	my $rows = $node->safe_psql($database, qq{
SELECT c, ptsort_collation_digest(c), order_of(c)
FROM (SELECT DISTINCT ON (collcollate) oid::regcollation AS c FROM pg_collation
	WHERE collprovider = 'c' AND collencoding = pg_char_to_encoding(getdatabaseencoding())
		AND collcollate ~ '$filter' ORDER BY collcollate, collname) s});
	my $without = 0;
	foreach my $row (split /\n/, $rows)
	{
		my ($collation, $digest, $order) = split /\|/, $row;
		$without++ if $digest eq '';
		next if $digest eq '';
		push @{ $orders{$digest}{$order} }, $collation;
		push @{ $digests{$order}{$digest} }, $collation;
		$name{$digest} //= $collation;
	}
	my $locales = () = $rows =~ /^./mg;
	note "== $database: $locales locales, $without without digest, " . keys(%orders) . ' digests, ' . keys(%digests) . ' orders';
	cmp_ok($locales, '>', 0, "$database: there are locales");
	is($without, 0, "$database: all have digests");
	foreach my $digest (sort keys %orders)
	{
		my @found = map { join ' ', @$_ } values %{ $orders{$digest} };
		is(scalar(@found), 1, "$database: same order: " . substr(join(' | ', @found), 0, 100));
	}

	# Other digests nearly always mean another order.
	foreach my $order (sort keys %digests)
	{
		my @alike = map { $name{$_} } sort keys %{ $digests{$order} };
		note "no pair found: @alike" if @alike > 1;
	}
	my ($base) = sort { @{ [ map { @$_ } values %{ $orders{$b} } ] } <=> @{ [ map { @$_ } values %{ $orders{$a} } ] } || $a cmp $b }
	  keys %orders;
	foreach my $digest (sort keys %orders)
	{
		my $pair = $digest eq $base ? '' :
		  $node->safe_psql($database, "SELECT pair('$name{$base}', '$name{$digest}')");
		note "$name{$base}, not $name{$digest}: $pair" if $pair ne '';
	}
}

# Compares what ptsort knows about this release of the C library with the
# machine's own digests, and the examples of changes with the machine's order.
sub check_release
{
	my ($node, $database) = @_;
	my $known = q{
FROM ptsort_known_digests k JOIN pg_collation c ON regexp_replace(collcollate, '\.[^@]*', '') = locale AND
	collprovider = 'c' AND collencoding = pg_char_to_encoding('UTF8') AND release = pg_collation_actual_version(c.oid)};
	my $checked = $node->safe_psql($database, "SELECT count(DISTINCT digest) $known");
	note "== digests of this release that ptsort knows: $checked";
	return if $checked == 0;
	is($node->safe_psql($database, qq{
SELECT string_agg(locale, ' ' ORDER BY locale)
FROM (SELECT DISTINCT ON (digest@{[ $all ? ', locale' : '' ]}) digest, locale, c.oid $known
	ORDER BY digest, locale, c.oid) s
WHERE digest IS DISTINCT FROM ptsort_collation_digest(oid)}), '', 'these are the digests of this machine');

	my ($examples, $wrong) = (0, '');
	foreach my $row (split /\n/, $node->safe_psql($database, qq{
SELECT DISTINCT ON (digest_before, digest_after) digest_after = digest, c.oid::regcollation, unistr(examples) $known
JOIN ptsort_known_changes ON digest IN (digest_before, digest_after)
ORDER BY digest_before, digest_after, c.oid}))
	{
		my ($after, $collation, $pairs) = split /\|/, $row;
		foreach my $pair (split /, /, $pairs)
		{
			my ($first, $second) = map { "U&'" . s/^U\+(.*)/sprintf '\+%06X', hex $1/er . "'" } split / < /, $pair;
			my $less = $node->safe_psql($database, "SELECT $first < $second COLLATE $collation");
			$wrong .= "$collation: $pair\n" if $less ne ($after eq 't' ? 'f' : 't');
			$examples++;
		}
	}
	note "== examples: $examples";
	is($wrong, '', 'the examples are in the order of this machine');
}

my $node = new_node('main', conf => $conf);
fill_database($node, 'utf8', q(ENCODING 'UTF8' LOCALE 'C'), map { copy_line($_) } @strings);
check_database($node, 'utf8');
check_release($node, 'utf8');
SKIP:
{
	my $has = $node->safe_psql('utf8', q{
SELECT count(*) FROM pg_collation WHERE collprovider = 'c' AND collencoding = pg_char_to_encoding('LATIN1')
	AND collcollate ~ '^(en_US|de_DE)'});
	skip('no locales in LATIN1', 1) if $has == 0;
	fill_database($node, 'latin1', q(ENCODING 'LATIN1' LOCALE 'C'),
		map { my $s = decode('UTF-8', copy_line($_)); eval { encode('iso-8859-1', $s, Encode::FB_CROAK) } // () } @strings,
		map { chr(0x20 + $_ % 0x60) . chr(0x20 + $_ * 7 % 0x5F) . chr(0xA0 + $_ % 0x60) } 1 .. 2000);
	check_database($node, 'latin1');
}
$node->stop;


# Locales of our own

my $directory = $PostgreSQL::Test::Utils::tmp_check . '/own_locales';
my $sources = '/usr/share/i18n/locales/iso14651_t1';

# Compiles a locale that has the order of iso14651_t1 with some changes.
sub compile
{
	my ($name, $changes) = @_;
	my $source = "comment_char %\nescape_char /\nLC_COLLATE\ncopy \"iso14651_t1\"\n${changes}END LC_COLLATE\n";
	$source .= "LC_CTYPE\ncopy \"POSIX\"\nEND LC_CTYPE\n";
	$source .= "LC_$_\ncopy \"en_US\"\nEND LC_$_\n"
	  foreach qw(IDENTIFICATION MONETARY NUMERIC TIME MESSAGES PAPER NAME ADDRESS TELEPHONE MEASUREMENT);
	append_to_file("$directory/$name.source", $source);
	return system("localedef -i $directory/$name.source -f UTF-8 $directory/$name.utf8 >$directory/$name.log 2>&1") == 0;
}

# Reads a compiled order.  The values are the offsets in the file of the rules
# and of each element's weights.
sub read_order
{
	my ($file) = @_;
	my $content = slurp_file($file);
	my @at = unpack 'x8 L6', $content;
	my ($npasses) = unpack "x$at[0] L", $content;
	my %order = (content => $content, npasses => $npasses, rules => $at[1], elements => {});
	my @table = unpack "x$at[2] l256", $content;
	foreach my $c (1 .. 255)
	{
		if ($table[$c] >= 0)
		{
			$order{elements}{ chr $c } = $at[3] + ($table[$c] & 0xFFFFFF);
			next;
		}
		my $n = -1;
		for (my $place = $at[4] - $table[$c]; $n != 0;)
		{
			(my $index, $n) = unpack "x$place l C", $content;
			my $bytes = substr $content, $place + 5, $index < 0 ? 2 * $n : $n;
			my $last = $index < 0 ? ord(substr $bytes, -1) - ord(substr $bytes, $n - 1, 1) : 0;
			foreach my $i (0 .. $last)
			{
				my $rest = substr $bytes, 0, $n;
				substr($rest, -1) = chr(ord(substr $rest, -1) + $i) if $i > 0;
				my $found = $index < 0 ? unpack('x' . ($at[5] + 4 * ($i - $index)) . ' l', $content) : $index;
				$order{elements}{ chr($c) . $rest } //= $at[3] + ($found & 0xFFFFFF);
			}
			$place += 4 + int((1 + length($bytes) + 3) / 4) * 4;
		}
	}
	return \%order;
}

# Returns the numbers of an element's weights in a pass.  'change', if given,
# replaces each number; both must have the same length in UTF-8.
sub weights
{
	my ($order, $offset, $pass, $change) = @_;
	$offset += 1 + ord substr $order->{content}, $offset, 1 while $pass-- > 0;
	my $length = ord substr $order->{content}, $offset, 1;
	my @numbers = unpack 'C0 U*', substr $order->{content}, $offset + 1, $length;
	if ($change)
	{
		my $bytes = join '', map { my $s = chr $change->($_); utf8::encode($s); $s } @numbers;
		die 'other length' if length $bytes != $length;
		substr($order->{content}, $offset + 1, $length) = $bytes;
	}
	return @numbers;
}

# Makes a locale from another one: changes all weights of a pass.
sub renumber
{
	my ($name, $pass, $change) = @_;
	my $order = read_order("$directory/plain.utf8/LC_COLLATE");
	my %offsets = map { $_ => 1 } values %{ $order->{elements} };
	weights($order, $_, $pass, $change) foreach keys %offsets;
	write_order($name, $order);
}

sub write_order
{
	my ($name, $order) = @_;
	system("cp -r $directory/plain.utf8 $directory/$name.utf8") == 0 or die;
	unlink "$directory/$name.utf8/LC_COLLATE";
	append_to_file("$directory/$name.utf8/LC_COLLATE", $order->{content});
}

# Returns a change of numbers: these two change places.
sub swapped
{
	my ($x, $y) = @_;
	return sub { return $_[0] == $x ? $y : $_[0] == $y ? $x : $_[0] };
}

# Changes all rules of a pass.
sub change_rules
{
	my ($name, $pass, $change) = @_;
	my $order = read_order("$directory/plain.utf8/LC_COLLATE");
	my $at = $order->{rules} + $pass;
	# sets of rules end where the table of first bytes begins
	my ($end) = unpack 'x16 L', $order->{content};
	for (; $at < $end; $at += $order->{npasses})
	{
		my $rule = ord substr $order->{content}, $at, 1;
		substr($order->{content}, $at, 1) = chr $change->($rule) if $rule != 0;
	}
	write_order($name, $order);
}

SKIP:
{
	skip('no sources of locales, or no localedef', 1) if !-f $sources || system('localedef --version >/dev/null 2>&1') != 0;
	mkdir $directory;
	ok(compile('plain', ''), 'localedef');
	ok(compile('letter', "reorder-after <S0063>\n<S0061>\nreorder-end\n"), '... with an "a" after "c"');
	ok(compile('accent', qq{reorder-after <U0061>\n<U00E1> <S0061>;"<BASE><BREVE>";"<MIN><MIN>";<U00E1>\nreorder-end\n}),
		'... with another accent');

	# Gaps between the numbers of a pass do not change the order.
	my $plain = read_order("$directory/plain.utf8/LC_COLLATE");
	is($plain->{npasses}, 4, 'four passes');
	foreach my $pass (0 .. 3)
	{
		my $most = 0;
		foreach my $offset (values %{ $plain->{elements} })
		{
			$most = $_ > $most ? $_ : $most foreach weights($plain, $offset, $pass);
		}
		# the least number that is as long in UTF-8 as the greatest number
		my $first = $most >= 2048 ? 2048 : $most >= 128 ? 128 : 1;
		renumber("widened_$pass", $pass, sub { return $_[0] < $first ? $_[0] : $_[0] + int(($_[0] - $first) / 4) });
	}
	my ($b) = weights($plain, $plain->{elements}{b}, 0);
	my ($c) = weights($plain, $plain->{elements}{c}, 0);
	renumber('swapped_0', 0, swapped($b, $c));
	my (undef, $acute) = weights($plain, $plain->{elements}{"\xC3\xA1"}, 1);
	my (undef, $grave) = weights($plain, $plain->{elements}{"\xC3\xA0"}, 1);
	renumber('swapped_1', 1, swapped($acute, $grave));
	my ($small) = weights($plain, $plain->{elements}{a}, 2);
	my ($capital) = weights($plain, $plain->{elements}{A}, 2);
	renumber('swapped_2', 2, swapped($small, $capital));
	my ($hyphen) = weights($plain, $plain->{elements}{'-'}, 3);
	my ($slash) = weights($plain, $plain->{elements}{'/'}, 3);
	renumber('swapped_3', 3, swapped($hyphen, $slash));

	# 1: forward, 2: backward, 4: positions
	change_rules('backward', 1, sub { return $_[0] == 1 ? 2 : 1 });
	change_rules('positions', 2, sub { return $_[0] | 4 });

	local $ENV{LOCPATH} = $directory;
	my $own = new_node('own', conf => $conf);
	fill_database($own, 'utf8', q(ENCODING 'UTF8' LOCALE 'C'), map { copy_line($_) } @strings, 'b', 'c', 'ab', 'ac',
		'a-', 'a/', "\x{e1}", "\x{e0}", 'a', 'A', 'a-b', 'ab-', '1-2', '12-', '1 2', '.1.', '..1');
	my %result;
	opendir my $handle, $directory or die;
	foreach my $name (sort map { /^(\w+)\.utf8$/ ? $1 : () } readdir $handle)
	{
		$own->safe_psql('utf8', "CREATE COLLATION $name (PROVIDER = libc, LOCALE = '$name.utf8')");
		$result{$name} = [ split /\|/, $own->safe_psql('utf8', "SELECT ptsort_collation_digest('$name'), order_of('$name')") ];
	}
	isnt($result{plain}[0], '', 'there is a digest');
	foreach my $name (sort keys %result)
	{
		next if $name eq 'plain';
		my $alike = $name =~ /^widened/;
		ok(slurp_file("$directory/$name.utf8/LC_COLLATE") ne slurp_file("$directory/plain.utf8/LC_COLLATE"),
			"$name: another file");
		is($result{$name}[1] eq $result{plain}[1], $alike, "$name: " . ($alike ? 'same' : 'another') . ' order');
		isnt($result{$name}[0] // '', '', "$name: a digest");
		is($result{$name}[0] eq $result{plain}[0], $alike, "$name: " . ($alike ? 'same' : 'another') . ' digest');
		note "plain, not $name: " . $own->safe_psql('utf8', "SELECT pair('plain', '$name')") if !$alike;
	}
	$own->stop;
}

done_testing();
