# shellcheck shell=bash
#
# trial.sh - functions that check-package.sh and check-rpm.sh share: use a
# package of ptsort that is installed in the private root, and use the server
# after the package is gone.  Scripts source this file after common.sh and
# tally.sh.
#
# shellcheck disable=SC2154 # common.sh sets work and bindir

# files_in_root: print the files in the private root, except the databases of
# dpkg and rpm
files_in_root()
{
	(cd "$work/root" && find . -path ./var/lib/dpkg -prune -o \
		-path ./var/lib/rpm -prune -o -print | LC_ALL=C sort)
}

# lose_ptsort: remove from the private root the files of ptsort that this
# machine's own server has
lose_ptsort()
{
	find "$work/root" -name '*ptsort*' -prune -exec rm -rf {} +
}

# sql COMMAND...: run psql in the private cluster, and print the rows
sql()
{
	local arguments=() command
	for command in "$@"; do
		arguments+=(-c "$command")
	done
	as_user "$bindir/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d postgres \
		"${arguments[@]}" 2>&1
}

# use_package VERSION: start a server in a new cluster, check that the packaged
# library builds an index with a worker, and stop the server
use_package()
{
	local found
	start_cluster "max_worker_processes = 8" "fsync = off" ||
		give_up "the server does not start"
	found=$(sql "CREATE EXTENSION ptsort" "CREATE EXTENSION amcheck" \
		"CREATE TABLE t AS SELECT i, md5(i::text) AS b
			FROM generate_series(1, 100000) i" \
		"CREATE INDEX t_b ON t (b) WITH (parallel_workers = 1)" \
		"SELECT bt_index_parent_check('t_b', true, true)" \
		"SELECT index_name, role, tuples > 0 FROM ptsort_last_build()" |
		grep .)
	diff -u <(printf 't_b|%s|t\n' leader worker total) - <<<"$found"
	result $? "$1: the packaged library builds an index"
	found=$(as_user "$bindir/psql" -X -q -A -t -d postgres -c "LOAD 'ptsort'" \
		-c "SELECT split_part(version(), ' ', 2) ~ '^$1([^0-9]|\$)'" 2>&1)
	[ "$found" = t ]
	result $? "$1: the server is of that version"
	stop_cluster || failed=$((failed + 1))
}

# outlive_package VERSION: start the server again, check that without the package
# it can still use the index and cannot load the library, and stop the server
outlive_package()
{
	local found
	start_cluster || give_up "the server does not start"
	found=$(sql "SET enable_seqscan = off" "SET enable_bitmapscan = off" \
		"EXPLAIN (COSTS OFF) SELECT i FROM t WHERE b = md5('77')" \
		"SELECT i FROM t WHERE b = md5('77')" \
		"SELECT bt_index_parent_check('t_b', true, true)" | grep .)
	diff -u - <(echo "$found") <<-'EOF'
		Index Scan using t_b on t
		  Index Cond: (b = '28dd2c7955ce926456240b2ff0100bde'::text)
		77
	EOF
	result $? "$1: the index outlives the package"
	sql "LOAD 'ptsort'" | grep -q 'could not access file "ptsort"'
	result $? "$1: the library is gone"
	stop_cluster || failed=$((failed + 1))
}
