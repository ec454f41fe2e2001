# Which output receives the lines about builds, table copies and sorts.  With
# ptsort.log_build and ptsort.log_sort, the server's log receives the lines,
# and no client does.  Without these settings, a client that asks for DEBUG1
# receives the lines.  The test also checks the reasons for leaving builds and
# copies to the server.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');

# Returns ptsort's lines in these messages, with the level before each line.
# Leaves out lines about indexes of TOAST tables, which the statements also
# build.
sub lines_in
{
	my ($messages) = @_;
	my @lines;
	push @lines, "$1 $2"
	  while $messages =~ /\b([A-Z]+):  (?:\w{5}: )?ptsort: (.*)/g;
	return grep { !/pg_toast/ } @lines;
}

# Runs SQL in a new session and checks that no error occurs.  Returns the
# output, and ptsort's lines from the client and from the server's log.
sub lines_of
{
	my ($name, $sql) = @_;
	my $end = log_end($node);
	my ($out, $err) = try_sql($node, $sql);
	unlike($err, qr/(?:ERROR|FATAL):  /, "$name: no error");
	return ($out, [ lines_in($err) ],
		[ lines_in(slurp_file($node->logfile, $end)) ]);
}

# Returns lines without the parts that differ from run to run, such as times and
# counts.
sub shortened
{
	my %seen;
	return grep { !$seen{$_}++ }
	  map { s/^(\w+ [^"]*"\w+").*/$1/r =~ s/sorted \d+ rows (by \d keys?).*/sorted $1/r } @_;
}

$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 5000) i;
CREATE INDEX t_id ON t (id) WITH (parallel_workers = 2);
ANALYZE t;
CREATE TABLE points AS SELECT box(point(i, -i), point(0, 0)) AS p, -i AS id FROM generate_series(1, 100) i;
CREATE INDEX points_p ON points USING gist (p);
CREATE TABLE ints (id int) WITH (autovacuum_enabled = off);
INSERT INTO ints VALUES (2), (1);
CREATE INDEX ints_id ON ints (id);
CLUSTER ints USING ints_id;
CREATE TABLE none (id int);
CREATE INDEX none_id ON none (id);
CLUSTER none USING none_id;
});


my $czech = $node->safe_psql('postgres', q{
SELECT quote_ident(min(collname)) FROM pg_collation WHERE collname ~ '^cs_CZ\.utf-?8$' OR collname = 'cs-x-icu'});

# Which output receives the lines.  A worker's lines go where the leader's lines
# go.
my $sort = 'SET ptsort.sort = on; SET ptsort.min_sort_rows = 0';
my $query = 'SELECT FROM (SELECT word FROM t ORDER BY word) s';
my @statements = (
	[ 'a build', 'log_build', 'CREATE INDEX i ON t (word)', 'building index "i"', 'built index "i"' ],
	[ 'a build by the server', 'log_build', 'SET ptsort.enable = off; CREATE INDEX i ON t (word)',
		'leaving index "i"' ],
	[ 'a copy', 'log_build', 'CLUSTER t USING t_id',
		'copying table "t"', 'copied table "t"', 'building index "t_id"', 'built index "t_id"' ],
	[ 'a copy by the server', 'log_build', 'CLUSTER points USING points_p',
		'leaving copy of table "points"', 'leaving index "points_p"' ],
	# ptsort reads the collation's tables as if the Czech "ch" were two letters
	$czech eq '' ? () : [ 'a contradiction', 'log_build', qq{
SET ptsort_test.trust_collations = on;
SET ptsort_test.learn_tuples = 0;
CREATE INDEX i ON t ((('{ca,ch,cz,h,d}'::text[])[1 + id % 5] || word) COLLATE $czech) WITH (parallel_workers = 2)},
		'building index "i"', 'restarting build of index "i"', 'built index "i"' ],
	[ 'a sort', 'log_sort', "$sort; $query", 'sorted by 1 key' ],
	[ 'sorts of workers', 'log_sort', qq{
$sort;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
$query}, 'sorted by 1 key' ]);
foreach (@statements)
{
	my ($what, $setting, $sql, @lines) = @$_;
	foreach my $level ('debug1', 'log', 'notice')
	{
		foreach my $logs ('on', 'off')
		{
			my $name = "$what, $setting = $logs, $level";
			my ($out, $client, $log) = lines_of($name,
				"SET ptsort.$setting = $logs; SET client_min_messages = $level; BEGIN; $sql; ROLLBACK");
			my @clients = $logs eq 'off' && $level eq 'debug1' ? map { "DEBUG $_" } @lines : ();
			my @logs = $logs eq 'on' ? map { "LOG $_" } @lines : ();
			is_deeply([ shortened(@$client) ], \@clients, "$name: the client's lines");
			is_deeply([ shortened(@$log) ], \@logs, "$name: the log's lines");
		}
	}
}


# Why the server does a build or copy.  After a build or copy by the server,
# ptsort reports no last build or copy of the session.
my $off = 'SET ptsort.enable = off';
my $small = q{SET ptsort.min_table_size = '1GB'};
my $no_sort = 'index "points_p": GiST, a class without sort support';
my @left = (
	[ 'CREATE TABLE empty (a int PRIMARY KEY WITH (parallel_workers = 2))',
		'index "empty_pkey": empty table' ],
	[ "$off; REINDEX INDEX t_id", 'index "t_id": ptsort.enable is off' ],
	[ "$off; CREATE INDEX CONCURRENTLY d ON t (id) WITH (parallel_workers = 2)",
		'index "d": ptsort.enable is off' ],
	[ "$off; REINDEX INDEX CONCURRENTLY d", 'index "d_ccnew": ptsort.enable is off' ],
	[ "$small; REINDEX INDEX t_id", 'index "t_id": table smaller than ptsort.min_table_size' ],
	# ptsort never builds indexes of other access methods, or catalogs'
	# indexes, and logs no reason
	['CREATE INDEX ON t USING hash (id)'],
	['CREATE INDEX ON t USING brin (id)'],
	['REINDEX TABLE pg_am'],
	# copies
	[ 'CLUSTER points USING points_p', 'copy of table "points": not a btree index', $no_sort ],
	[ 'CREATE INDEX b ON points USING gist (point(p)) WITH (buffering = on)',
		'index "b": GiST, buffering = on' ],
	[ "$small; CLUSTER ints",
		'copy of table "ints": table smaller than ptsort.min_table_size',
		'index "ints_id": table smaller than ptsort.min_table_size' ],
	[ "$off; CLUSTER ints",
		'copy of table "ints": ptsort.enable is off', 'index "ints_id": ptsort.enable is off' ],
	[ 'TRUNCATE none', 'index "none_id": empty table' ],
	[ 'CLUSTER none', 'copy of table "none": empty table', 'index "none_id": empty table' ],
	[ 'VACUUM FULL pg_catalog.pg_am', 'copy of table "pg_am": system catalog' ]);
foreach (@left)
{
	my ($sql, @reasons) = @$_;
	my ($out, $client, $log) = lines_of($sql,
		"$sql; SELECT count(*) FROM ptsort_last_build(); SELECT count(*) FROM ptsort_last_copy()");
	is_deeply($log, [ map { 'LOG leaving ' . s/: / to the server: /r } @reasons ], "$sql: reasons");
	is($out, "0\n0", "$sql: not by ptsort");
}


# A rewrite that fails, or a rewrite of another kind, leaves no state of ptsort
# behind: ptsort does the next copy as usual.
my ($out, $client, $log) = lines_of('rewrites', q{
INSERT INTO ints VALUES (3), (2), (1);
CREATE FUNCTION pg_temp.same_routine() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE ints ALTER id TYPE int USING 1 / (id - 2);
EXCEPTION WHEN division_by_zero THEN
	NULL;
END $$;
DO $$ BEGIN PERFORM pg_temp.same_routine(); END $$;
SET ptsort.enable = off;
CREATE MATERIALIZED VIEW few AS SELECT id FROM ints;
CREATE INDEX few_id ON few (id);
CLUSTER few USING few_id;
INSERT INTO ints VALUES (0);
REFRESH MATERIALIZED VIEW few;
RESET ptsort.enable;
CLUSTER ints;
SELECT index_name, role, tuples FROM ptsort_last_copy();
SELECT string_agg(id::text, ' ') FROM ints;
CLUSTER few;
SELECT index_name, role, tuples FROM ptsort_last_copy();
SELECT string_agg(id::text, ' ') FROM few;
});
my @by_server = map { "LOG leaving $_ to the server: ptsort.enable is off" }
  ('index "few_id"', 'copy of table "few"', 'index "few_id"', 'index "few_id"');
is_deeply([ @$log[0 .. 3] ], \@by_server, 'rewrites: by the server');
is_deeply([ shortened(@$log[4 .. $#$log]) ],
	[ map { my ($table, $index) = ($_, "${_}_id"); map { "LOG $_" }
		  (qq{copying table "$table"}, qq{copied table "$table"}, qq{building index "$index"}, qq{built index "$index"}) }
	  ('ints', 'few') ], 'rewrites: by ptsort');
is($out, join("\n", 'ints_id|leader|6', 'ints_id|total|6', '0 1 1 2 2 3',
	'few_id|leader|6', 'few_id|total|6', '0 1 1 2 2 3'), 'rewrites: rows');

$node->stop;
done_testing();
