# A new library replaces the old library after a session loaded the old
# library.  The session's workers load the new library, and raise an error
# instead of reading data that they do not understand.
#
# Runs alone: it replaces the library that all servers load
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $directory = qx(pg_config --pkglibdir));
my $library = "$directory/ptsort.so";
plan skip_all => "cannot replace the installed library"
  unless -w $directory && -w $library;

# Puts another library in place, as an installation does: sessions that loaded
# the old library keep it.
sub replace_library
{
	my ($content) = @_;
	my $mode = (stat $library)[2] & 07777;
	open my $new, '>:raw', "$library.new" or die "$library.new: $!";
	print $new $content;
	close $new or die "$library.new: $!";
	chmod $mode, "$library.new";
	rename "$library.new", $library or die "$library: $!";
}

open my $old, '<:raw', $library or die "$library: $!";
my $original = do { local $/; <$old> };
close $old;
END { replace_library($original) if defined $original }

# A library from another compilation differs only in its stamp ("ptsort build
# ...").
my $rebuilt = $original;
my $stamps = $rebuilt =~ s/(ptsort build )(\d)/$1 . ($2 + 1) % 10/ge;
is($stamps, 1, 'the library has its stamp once');

my $node = new_node('main');
$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 20000) i'
);
my $build = 'CREATE INDEX i ON t (b) WITH (parallel_workers = 2)';
my $drop = 'DROP INDEX i';

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("$build; $drop");
my $segments = dsm_segments($node);
replace_library($rebuilt);

$session->query("\\set VERBOSITY verbose");
$session->query($build);
is( error_of($session->{stderr}),
	"ERROR:  55000: parallel worker loaded a different build of ptsort than the session that started it\n"
	  . "DETAIL:  The library was replaced after the session loaded it.\n"
	  . 'HINT:  Reconnect and run the statement again.',
	'the old session: error');
$session->{stderr} = '';
my $end = log_end($node);
$session->query_safe(
	"CREATE INDEX i ON t (b) WITH (parallel_workers = 0); SELECT bt_index_parent_check('i', true, true); $drop"
);
is(join(' ', builds_since($node, $end)), 'i: 1',
	'the old session: builds by itself');

$end = log_end($node);
$node->safe_psql('postgres',
	"$build; SELECT bt_index_parent_check('i', true, true); $drop");
is(join(' ', builds_since($node, $end)), 'i: 3', 'a new session: builds');

replace_library($original);
$end = log_end($node);
$session->query_safe("$build; $drop");
is(join(' ', builds_since($node, $end)), 'i: 3',
	'the old session, with its own library installed again');
end_session($session);
check_nothing_left($node, 'replaced library', $segments);

$node->stop;
done_testing();
