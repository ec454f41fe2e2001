# Random faults in pages of GiST and GIN indexes: ptsort_check() never crashes,
# hangs or fails.  The answers are the oracle: if a query by the damaged index gives
# another answer than before, raises an error or crashes, then ptsort_check() with
# the table found a problem.
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
use OtherShapes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Verdicts;

my $flips = $ENV{PTSORT_FLIPS} || 120;
my $seed = load_seed();
srand($seed);

my $node = verdict_node('main');
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->restart;
my %shapes = create_others($node);
my @names = grep { $shapes{$_}{index} =~ ($ENV{PTSORT_ONLY} // '.') } sort keys %shapes;
my %pages = map { ($_ => [ read_pages($node, "${_}_i") ]) } @names;

# Returns the random flips.  One in twelve is in the first block.
sub random_flips
{
	my @list;

	foreach my $k (1 .. $flips)
	{
		my $name = pick(@names);
		my $block = rand() < 0.08 ? 0 : int(rand @{ $pages{$name} });
		my $page = $pages{$name}[$block];
		my $method = $shapes{$name}{method};
		my $offset = $method eq 'gin' && $block == 0 ? pick(24 .. 80, 8184 .. 8191, 8 .. 23) : random_place($page, $special_of{$method});
		my $mask = random_mask();
		push @list, {
			index => "${name}_i", table => $name, block => $block, offset => $offset, mask => $mask, page => $page,
			workers => $k % 8 ? 0 : 2,
			name => "$k of seed $seed: ${name}_i, block $block, offset $offset, mask $mask, " . place_name($page, $special_of{$method}, $offset)
		};
	}
	return @list;
}

sub questions
{
	my ($flip) = @_;
	my ($index, $table, $workers) = @{$flip}{ 'index', 'table', 'workers' };
	return (
		[ 'alone', "ptsort_says('$index', false, $workers)" ],
		[ 'rows', "ptsort_says('$index', true, $workers)" ],
		[ 'answers', "ask_others('$table')", 5 ]);
}

# Restores all pages that differ after a crash.
sub repair
{
	my (@list) = @_;

	foreach my $name (@names)
	{
		my @now = read_pages($node, "${name}_i");
		my $sql = join '', map { $now[$_] eq $pages{$name}[$_] ? () : write_page("${name}_i", $_, $pages{$name}[$_]) } 0 .. $#now;
		$node->safe_psql('postgres', $sql) if $sql;
	}
	return @list;
}

my @list = random_flips();
run_flips($node, \&questions, \&repair, @list);
my (%count, @missed, @wrong);

foreach my $flip (@list)
{
	my ($alone, $rows) = map { problems_in($flip->{$_} // '{}') } 'alone', 'rows';
	my $shape = $shapes{ $flip->{table} };
	my $answers = $flip->{answers} // 'crashed';
	my $same = $answers eq 'same';
	my $found = $rows->{problems} || $rows->{error};

	$count{ ($found ? 'found' : 'not found') . ', answers ' . ($same ? 'are the same' : 'differ') }++;
	note(($found ? 'found' : 'not found') . ", $flip->{name}; $answers; " . ($flip->{rows} // ''));
	push @wrong, "$flip->{name}: crashed" if ($flip->{crashed} // 'answers') ne 'answers' && !$shape->{trusting};
	# errors of functions that trust a damaged value are no fault, but hanging is
	push @wrong, map { "$flip->{name}: $_" } grep { defined && (/^57014/ || !$shape->{extension} && !$shape->{trusting}) } $alone->{error}, $rows->{error};
	push @wrong, "$flip->{name}: $flip->{alone}, but with the table nothing" if $alone->{problems} && !$found;
	push @missed, "$flip->{name}: $answers" if !$same && !$found && ($flip->{crashed} // 'answers') eq 'answers';
}
is(join("\n", @missed), '', "seed $seed: ptsort_check finds what changes an answer");
is(join("\n", @wrong), '', "seed $seed: no crash, and no error");
is($node->safe_psql('postgres', join '', map { "SELECT ptsort_says('${_}_i', true, 0); SELECT ask_others('$_');" } @names) =~ s/^(same|.*"problems":0,.*)\n?//mgr,
	'', "seed $seed: all flips undone");
note("== seed $seed: $flips flips, " . (grep { $_->{crashed} } @list) . ' crashes; ' . join '; ', map { "$count{$_} $_" } sort keys %count);
$node->stop;
done_testing();
