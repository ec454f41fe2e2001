# ptsort is a trusted extension: a user who may create objects in a database can
# create and drop the extension there.  The test shows what such a user
# gains by creating the extension, and what the user still may not do.
# doc/safety.md has the reasons.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Only the session that creates the extension, or calls its functions, loads
# ptsort.
my $node = new_node('main', conf => q{
session_preload_libraries = ''
ptsort.log_build = off
max_parallel_maintenance_workers = 2
});
$node->safe_psql('postgres', q{
CREATE ROLE owner LOGIN;
CREATE ROLE guest LOGIN;
CREATE ROLE other LOGIN;
CREATE DATABASE owned OWNER owner;
CREATE DATABASE restored OWNER owner;
});
$node->safe_psql('owned', 'CREATE SCHEMA shared AUTHORIZATION owner; GRANT CREATE, USAGE ON SCHEMA shared TO PUBLIC');

# Runs commands as a user; returns the rows and the errors and warnings.
sub as
{
	my ($user, $sql, $database) = @_;
	my ($ret, $out, $err) = $node->psql($database // 'owned', "\\set VERBOSITY verbose\n$sql",
		on_error_stop => 0, extra_params => [ '-U', $user ]);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	$err =~ s/^LOCATION:.*\n?//mg;
	return ($out, $err);
}

sub succeeds
{
	my ($user, $sql, $expected, $name, $database) = @_;
	is_deeply([ as($user, $sql, $database) ], [ $expected, '' ], $name);
}

sub fails
{
	my ($user, $sql, $expected, $name) = @_;
	my ($out, $err) = as($user, $sql);
	like($err, qr/\A$expected\n?\z/, $name);
}

# Who may create the extension
my $who = q{SELECT e.extowner::regrole, extversion, p.proowner::regrole, count(*)
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
WHERE extname = 'ptsort' GROUP BY 1, 2, 3;};
chomp(my $superuser = $node->safe_psql('postgres', 'SELECT rolname FROM pg_roles WHERE oid = 10'));

my $denied = 'ERROR:  42501: permission denied to create extension "ptsort"';
fails($_, 'CREATE EXTENSION ptsort',
	qr/$denied\nHINT:  Must have CREATE privilege on current database to create this extension\./,
	"$_ may not create it") foreach qw(guest other);
succeeds('owner', "CREATE EXTENSION ptsort SCHEMA shared; $who", "owner|1.2.0|$superuser|15",
	"the database's owner may");
fails('other', 'DROP EXTENSION ptsort', qr/ERROR:  42501: must be owner of extension ptsort/,
	'another user may not drop it');
succeeds('owner', "DROP EXTENSION ptsort; $who", '', 'its owner may');
$node->safe_psql('owned', 'GRANT CREATE ON DATABASE owned TO guest');
succeeds('guest', "CREATE EXTENSION ptsort SCHEMA shared; $who", "guest|1.2.0|$superuser|15",
	'a user with the privilege may');
succeeds('owner', 'SELECT count(*) FROM shared.ptsort_last_build()', '0', 'others may call it');
foreach my $extension (qw(ptsort_test ptsort_example ptsort_am sortbench))
{
	fails('owner', "CREATE EXTENSION $extension",
		qr/ERROR:  42501: permission denied to create extension "$extension"\nHINT:  Must be superuser to create this extension\./,
		"$extension is not trusted");
}
as('guest', 'DROP EXTENSION ptsort');

# The extension's scripts run as the superuser.  The scripts replace no function
# of a user.
my $trap = q{() RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called as %', current_user; END$$;};
my $exists = qr/already exists with same argument types(?s:\nCONTEXT:.*)?/;
as('owner', "CREATE SCHEMA traps; CREATE FUNCTION traps.ptsort_last_build$trap");
fails('owner', 'CREATE EXTENSION ptsort SCHEMA traps', qr/ERROR:  42723: function "ptsort_last_build" $exists/,
	'a function of the same name');
as('owner', 'DROP FUNCTION traps.ptsort_last_build; CREATE TABLE traps.ptsort_collation_digests (LIKE pg_index)');
fails('owner', 'CREATE EXTENSION ptsort SCHEMA traps',
	qr/ERROR:  42P07: relation "ptsort_collation_digests" already exists(?s:\nCONTEXT:.*)?/, 'a table of the same name');
$node->safe_psql('owned', 'DROP SCHEMA traps CASCADE');

# The functions and the table belong to the superuser.
as('owner', 'CREATE EXTENSION ptsort SCHEMA shared');
my $function = 'shared.ptsort_last_build()';
fails('owner', $_, qr/ERROR:  42501: must be owner of function (?:shared\.)?ptsort_last_build/, $_)
  foreach "ALTER FUNCTION $function OWNER TO owner", "ALTER FUNCTION $function SECURITY DEFINER",
  "ALTER FUNCTION $function RENAME TO x",
  "ALTER EXTENSION ptsort DROP FUNCTION $function";
fails('owner', "DROP FUNCTION $function CASCADE",
	qr/ERROR:  2BP01: cannot drop function .* because extension ptsort requires it\nHINT:  .*/, 'the owner of the schema');
my $digests = 'shared.ptsort_collation_digests';
fails('owner', $_, qr/ERROR:  42501: (?:must be owner of|permission denied for) (?:table|relation) ptsort_collation_digests/, $_)
  foreach "ALTER TABLE $digests OWNER TO owner", "CREATE RULE r AS ON INSERT TO $digests DO ALSO SELECT 1",
  "CREATE TRIGGER t BEFORE INSERT ON $digests EXECUTE FUNCTION suppress_redundant_updates_trigger()";

fails('owner', "CREATE FUNCTION own() RETURNS SETOF record LANGUAGE C AS '\$libdir/ptsort', 'ptsort_last_build'",
	qr/ERROR:  42501: permission denied for language c/, 'other functions of the library');

# A session that loads the library can build indexes with workers.
$node->safe_psql('owned', 'CREATE TABLE shared.t AS SELECT i, md5(i::text) AS b FROM generate_series(1, 20000) i;
ALTER TABLE shared.t OWNER TO owner');
my $build = 'CREATE INDEX i ON shared.t (b) WITH (parallel_workers = 2);';
my $report = "SELECT index_name, role, tuples FROM $function WHERE participant IS NULL;";
my $plain = 'CREATE INDEX i ON shared.t (b);';
succeeds('owner', "$plain $report DROP INDEX shared.i", '', 'no build before the session loads it');
succeeds('owner', "$report $build $report", 'i|total|20000', 'builds after it');
fails('other', $build =~ s/ i / j /r, qr/ERROR:  42501: must be owner of table t/, 'not for tables of others');
succeeds('owner', "$report DROP INDEX shared.i; $build", '', 'again');
$node->safe_psql('owned', 'CREATE EXTENSION amcheck');
is($node->safe_psql('owned', "SELECT bt_index_parent_check('shared.i', true, true)"), '', 'the index is right');

# The owner of the database, not that of the extension, remembers digests.
succeeds('owner', "SELECT count(*) > 0 FROM shared.ptsort_remember_collations(); SELECT count(*) > 0 FROM $digests", "t\nt", 'the owner remembers');
fails($_, 'SELECT shared.ptsort_remember_collations()',
	qr/ERROR:  42501: permission denied for function ptsort_remember_collations/, "$_ does not") foreach qw(guest other);
fails('other', "UPDATE $digests SET digest = 'x'", qr/ERROR:  42501: permission denied for table ptsort_collation_digests/,
	'nor changes the digests');
fails($_, 'DELETE FROM shared.ptsort_known_digests', qr/ERROR:  42501: permission denied for table ptsort_known_digests/,
	"$_ does not change those of releases") foreach qw(owner other);
succeeds('other', "SELECT DISTINCT verdict FROM shared.ptsort_collations() WHERE digest_now IS NOT NULL", 'same order', 'but reads them');

# A user may change ptsort's settings, except the settings that write to the
# log: only a superuser may change these, even before the session loads ptsort.
my $log = qr/permission denied to set parameter "ptsort\.log_build"/;
fails('owner', "$report SET ptsort.log_build = on", qr/ERROR:  42501: $log/, 'logging, loaded');
my ($out, $err) = as('owner', "SET ptsort.log_build = on; $report SHOW ptsort.log_build; SET ptsort.enable = off; SHOW ptsort.enable");
is($out, "off\noff", 'logging, set before: without effect');
like($err, qr/\AWARNING:  42501: $log\n?\z/, '... with a warning');
fails('owner', "ALTER DATABASE owned SET ptsort.log_build = on", qr/ERROR:  42501: $log/, 'logging, of the database');
fails('owner', "$report ALTER DATABASE owned SET ptsort.log_build = on", qr/ERROR:  42501: $log/, 'logging, of the database, loaded');

# A session of another user loads ptsort only if that session calls one of
# ptsort's functions.
fails('owner', "LOAD 'ptsort'", qr/ERROR:  42501: access to library "ptsort" is not allowed/, 'LOAD');
fails('owner', "ALTER DATABASE owned SET $_ = 'ptsort'",
	qr/ERROR:  42501: permission denied to set parameter "$_"/, $_)
  foreach qw(session_preload_libraries);
succeeds($superuser, "DROP INDEX shared.i; $plain $report", '', "another session: the server's build");
unlike(slurp_file($node->logfile), qr/LOG:  ptsort:/, 'nothing was written to the log');

# The owner dumps the schema and the extension, and restores both into another
# database.
my $dump = $PostgreSQL::Test::Utils::tmp_check . '/trusted.sql';
as('owner', "$report DROP INDEX shared.i; $build");
command_ok([ 'pg_dump', '-U', 'owner', '-n', 'shared', '-e', 'ptsort', '-h', $node->host, '-p', $node->port, '-f', $dump, 'owned' ], 'a dump');
like(slurp_file($dump), qr/CREATE EXTENSION IF NOT EXISTS ptsort WITH SCHEMA shared/, '... has the extension');
$node->safe_psql('restored', 'GRANT CREATE ON DATABASE restored TO owner');
command_ok([ 'psql', '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-U', 'owner', '-h', $node->host, '-p', $node->port, '-f', $dump, 'restored' ],
	'restored by a user who is not a superuser');
succeeds('owner', "$who", "owner|1.2.0|$superuser|15", 'it is there', 'restored');
my $remembered = "SELECT DISTINCT collation_name, locale, digest FROM $digests ORDER BY 1";
my ($rows) = as('owner', $remembered);
succeeds('owner', $remembered, $rows, '... with the digests', 'restored');

# A role that may drop the schema may drop the extension in it.
succeeds('owner', "DROP EXTENSION ptsort; $who SELECT count(*) FROM pg_class WHERE relname = 'i'", '1', 'dropped; the index stays');

$node->stop;
done_testing();
