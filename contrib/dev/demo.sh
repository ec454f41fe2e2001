#!/bin/bash
#
# demo.sh - `make demo`: build real indexes with the server and with ptsort, one
# after the other, in a private cluster: btree indexes, a GiST index of points,
# and one of geometry if the server has PostGIS.  Check ptsort's indexes, and print
# the times.  Then run a few queries with the server's sorts and with ptsort's.  The
# demo needs about three minutes on two idle cores, and 2 GB of disk.
#
# PG_CONFIG chooses the server; KEEP=1 keeps the cluster's files (stopped).

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

# sql ARGUMENT...: run psql in the private cluster, in the working directory
sql()
{
	as_user env -C "$work" psql -X -q -v ON_ERROR_STOP=1 -d postgres "$@"
}

# collect_data: collect data from this machine, as files for COPY
collect_data()
{
	TZ=UTC find /usr /etc /var/lib -xdev \
		-printf '%p\t%s\t%TY-%Tm-%TdT%TH:%TM:%TS+00\n' 2>/dev/null |
		sed 's/\\/\\\\/g' | iconv -c -f UTF-8 -t UTF-8 |
		grep -aP '^/[^\t]*\t[0-9]+\t[0-9T:.-]+\+00$' | head -n 300000 >"$work/files.tsv"
	find /var/lib/dpkg/status /usr/share/perl /usr/share/doc /usr/include \
		-type f \( -name '*.p[mlo]*' -o -name '*.h' -o -name copyright \
		-o -name status \) -exec cat {} + 2>/dev/null |
		tr -cs '[:alpha:]' '\n' | grep -a . | head -n 500000 >"$work/words.tsv"
	own_workdir
}

# run_checks: check every index, and what it returns, in two sessions at the same
# time
run_checks()
{
	local other status
	sql -c 'CALL demo.check()' &
	other=$!
	sql -c 'CALL demo.check()'
	status=$?
	wait "$other" && return "$status"
}

contrib/dev/setup.sh || exit 1
find_server || exit 1
say "$("$pg_config" --version), $(nproc) processors"
make_workdir ""
say "build"
install_private || exit 1
start_cluster "shared_buffers = 1GB" "max_wal_size = 8GB" \
	"checkpoint_timeout = 1h" "autovacuum = off" "jit = off" \
	"session_preload_libraries = 'ptsort'" || exit 1

say "load tables"
collect_data
sql -f "$work/src/contrib/dev/demo.sql" || exit 1

say "build indexes: one worker and the leader, maintenance_work_mem = 512MB"
sql -At -f "$work/src/contrib/dev/demo-builds.sql" || exit 1

say "check: ptsort_check(index, heap)"
say "btree: also bt_index_parent_check(index, heapallindexed, rootdescend), and the order"
say "GiST: also the answers to 100 searches"
run_checks || exit 1

sql -c 'TABLE demo.report'
sql -At -c "SELECT count(*) || ' indexes: '
		|| count(*) FILTER (WHERE built_by LIKE 'ptsort%') || ' built by ptsort, '
		|| count(*) FILTER (WHERE checks = 'ok') || ' pass the checks, '
		|| count(*) FILTER (WHERE server_result = ptsort_result)
		|| ' return what the server''s return' FROM demo.builds" || exit 1
good=$(sql -At -c "SELECT bool_and(built_by LIKE 'ptsort%' AND checks = 'ok'
		AND server_result = ptsort_result) FROM demo.builds")

say "queries: one process, work_mem = 256MB"
sql -At -f "$work/src/contrib/dev/demo-queries.sql" || exit 1
sql -c 'SELECT label AS "query", tuples AS "rows sorted", server_s AS "server s",
		ptsort_s AS "ptsort s", round(server_s / ptsort_s, 2) AS "ratio",
		method AS "ptsort'"'"'s method", same AS "same result"
	FROM demo.queries ORDER BY n' || exit 1
good=$good$(sql -At -c "SELECT bool_and(same AND tuples > 0) FROM demo.queries")
stop_cluster || exit 1
say "$SECONDS seconds"
[ "$good" = tt ]
