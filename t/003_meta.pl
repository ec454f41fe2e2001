# PGXN reads META.json.  The file must follow PGXN's Meta Spec 1.0.0 and our own
# rules (the server's version, files that exist).  Each rule must also fail on a
# copy of META.json with one mistake.
#
# Needs no assertions: it reads META.json
use strict;
use warnings;
use File::Basename;
use JSON::PP;
use Test::More;

my $top = dirname(dirname(__FILE__));

my @licenses = qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd
  gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit mozilla_1_0
  mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source
  restricted unrestricted unknown);
my $number = qr/(?:0|[1-9][0-9]*)/;
my $semver = qr/$number\.$number\.$number(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?/;
my $condition = qr/(?:(?:[<>]=?|[!=]=)\s*)?$semver/;
my $range = qr/0|$condition(?:,\s*$condition)*/;
my $url = qr{[a-z][a-z0-9+.-]*://[^\s/]+(?:/\S*)?};

# Kinds of values: each function takes a value and the value's place in the
# file, and returns the value's faults.
sub matching
{
	my ($pattern) = @_;
	return sub {
		my ($value, $place) = @_;
		return "$place: not a string" if !defined $value || ref $value;
		return $value =~ /\A$pattern\z/ ? () : "$place: $value";
	};
}

sub list_of
{
	my ($kind) = @_;
	return sub {
		my ($value, $place) = @_;
		return "$place: not a list of one or more"
		  unless ref $value eq 'ARRAY' && @$value;
		return map { $kind->($value->[$_], "$place\[$_]") } 0 .. $#$value;
	};
}

sub either
{
	my ($one, $many) = @_;
	return sub { return (ref $_[0] ? $many : $one)->(@_) };
}

# A map whose keys all match the pattern
sub map_of
{
	my ($keys, $kind) = @_;
	return sub {
		my ($value, $place) = @_;
		return "$place: not a map with a key"
		  unless ref $value eq 'HASH' && %$value;
		return map {
			/\A$keys\z/ ? $kind->($value->{$_}, "$place.$_") : "$place: key $_"
		} sort keys %$value;
	};
}

# A map with these keys: keys with "!" are required and the others optional.
# Authors may add keys that begin with x_ or X_.
sub fields
{
	my (%kind) = @_;
	my %required = map { s/!$//r => 1 } grep { /!$/ } keys %kind;
	%kind = map { s/!$//r => $kind{$_} } keys %kind;
	return sub {
		my ($value, $place) = @_;
		return "$place: not a map" unless ref $value eq 'HASH';
		return (
			(map { "$place: no $_" } grep { !exists $value->{$_} } sort keys %required),
			map {
				$kind{$_} ? $kind{$_}->($value->{$_}, "$place.$_")
				  : /^x_./i ? ()
				  : "$place: key $_"
			} sort keys %$value);
	};
}

my $text = matching(qr/.*\S.*/s);
my $term = qr{[^\s/\\[:cntrl:]]{2,}};
my $existing_file = sub {
	my ($value, $place) = @_;
	return "$place: not a string" if !defined $value || ref $value;
	return -f "$top/$value" ? () : "$place: there is no $value";
};
my $relations =
  map_of(qr/requires|recommends|suggests|conflicts/, map_of($term, matching($range)));
my $spec = fields(
	'name!' => matching($term),
	'version!' => matching($semver),
	'abstract!' => $text,
	'maintainer!' => either($text, list_of($text)),
	'license!' => either(
		matching(join '|', @licenses),
		sub {
			my $kind = ref $_[0] eq 'ARRAY'
			  ? list_of(matching(join '|', @licenses)) : map_of($term, matching($url));
			return $kind->(@_);
		}),
	'provides!' => map_of($term,
		fields(
			'file!' => $existing_file,
			'version!' => matching($semver),
			abstract => $text,
			docfile => $existing_file)),
	'meta-spec!' => fields('version!' => matching(qr/1\.0\.0/), url => matching($url)),
	description => $text,
	generated_by => $text,
	tags => list_of(matching(qr{[^/\\[:cntrl:]]{2,255}})),
	no_index => map_of(qr/file|directory/, list_of($text)),
	prereqs => map_of(qr/configure|build|test|runtime|develop/, $relations),
	release_status => matching(qr/stable|testing|unstable/),
	resources => fields(
		homepage => matching($url),
		bugtracker => fields(web => matching($url), mailto => matching(qr/\S+\@\S+/)),
		repository => sub {
			my ($value, $place) = @_;
			return (
				fields(
					url => matching($url),
					web => matching($url),
					type => matching(qr/[a-z]+/))->(@_),
				ref $value eq 'HASH'
				  && ($value->{web} || ($value->{url} && $value->{type}))
				? ()
				: "$place: neither web nor url and type");
		}));

# Returns the faults of a META.json.
sub wrong
{
	my ($meta) = @_;
	my @wrong = $spec->($meta, 'META');
	my $server = eval { $meta->{prereqs}{runtime}{requires}{PostgreSQL} } // '';
	my $name = $meta->{name} // '';
	my $provided = eval { $meta->{provides}{$name} } // {};

	push @wrong, "META.prereqs: PostgreSQL $server" unless $server eq '15.0.0';
	push @wrong, 'META.provides: not itself' unless eval { $provided->{file} };
	push @wrong, "META.license: not ours"
	  unless ($meta->{license} // '') eq 'postgresql';
	return sort @wrong;
}

open(my $in, '<', "$top/META.json") or die "META.json: $!";
my $json = do { local $/; <$in> };
my $meta = decode_json($json);
is(join("\n", wrong($meta)), '', 'META.json is valid');
is(join(' ', sort keys %{ $meta->{provides} }), 'ptsort', 'it provides ptsort');

# Each mistake, and the message that it must cause
my @mistakes = (
	(map { my $key = $_; [ "no $key", sub { delete $_[0]{$key} }, qr/^META: no $key$/m ] }
		qw(name version abstract maintainer license provides meta-spec)),
	[ 'an unknown field', sub { $_[0]{licence} = 1 }, qr/^META: key licence$/m ],
	[ 'version', sub { $_[0]{version} = '1.1' }, qr/^META\.version: 1\.1$/m ],
	[ 'version', sub { $_[0]{version} = '1.01.0' }, qr/^META\.version: 1\.01\.0$/m ],
	[ 'name', sub { $_[0]{name} = 'pt/sort' }, qr{^META\.name: pt/sort$}m ],
	[ 'abstract', sub { $_[0]{abstract} = '' }, qr/^META\.abstract: $/m ],
	[ 'maintainer', sub { $_[0]{maintainer} = [] }, qr/^META\.maintainer: not a list/m ],
	[ 'license', sub { $_[0]{license} = 'pg' }, qr/^META\.license: pg$/m ],
	[ 'license', sub { $_[0]{license} = 'mit' }, qr/^META\.license: not ours$/m ],
	[ 'license', sub { $_[0]{license} = { own => 'x' } }, qr/^META\.license\.own: x$/m ],
	[ 'file', sub { $_[0]{provides}{ptsort}{file} = 'no.sql' },
		qr/^META\.provides\.ptsort\.file: there is no no\.sql$/m ],
	[ 'file', sub { delete $_[0]{provides}{ptsort}{file} },
		qr/^META\.provides\.ptsort: no file$/m ],
	[ 'docfile', sub { $_[0]{provides}{ptsort}{docfile} = 'DOC' },
		qr/^META\.provides\.ptsort\.docfile: there is no DOC$/m ],
	[ 'provided version', sub { $_[0]{provides}{ptsort}{version} = '1' },
		qr/^META\.provides\.ptsort\.version: 1$/m ],
	[ 'another extension', sub { $_[0]{provides}{other} = delete $_[0]{provides}{ptsort} },
		qr/^META\.provides: not itself$/m ],
	[ 'meta-spec', sub { $_[0]{'meta-spec'}{version} = '2.0.0' },
		qr/^META\.meta-spec\.version: 2\.0\.0$/m ],
	[ 'phase', sub { $_[0]{prereqs}{run} = delete $_[0]{prereqs}{runtime} },
		qr/^META\.prereqs: key run$/m ],
	[ 'relation', sub { $_[0]{prereqs}{runtime}{needs} = { a => '1.0.0' } },
		qr/^META\.prereqs\.runtime: key needs$/m ],
	[ 'prerequisite', sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '15' },
		qr/^META\.prereqs\.runtime\.requires\.PostgreSQL: 15$/m ],
	[ 'server', sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '14.0.0' },
		qr/^META\.prereqs: PostgreSQL 14\.0\.0$/m ],
	[ 'tags', sub { push @{ $_[0]{tags} }, 'a/b' }, qr{^META\.tags\[\d+\]: a/b$}m ],
	[ 'resources', sub { $_[0]{resources}{homepage} = 'here' },
		qr/^META\.resources\.homepage: here$/m ],
	[ 'resources', sub { $_[0]{resources}{bugtracker} = { mail => 'a@b' } },
		qr/^META\.resources\.bugtracker: key mail$/m ],
	[ 'repository', sub { $_[0]{resources}{repository} = { type => 'git' } },
		qr/^META\.resources\.repository: neither web nor url/m ],
	[ 'release status', sub { $_[0]{release_status} = 'done' },
		qr/^META\.release_status: done$/m ]);

foreach my $mistake (@mistakes)
{
	my ($name, $change, $expected) = @$mistake;
	my $copy = decode_json($json);

	$change->($copy);
	like(join("\n", wrong($copy)), $expected, "$name: found");
}

done_testing();
