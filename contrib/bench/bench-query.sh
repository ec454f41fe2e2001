#!/bin/bash
#
# bench-query.sh - `make bench-query`: run queries with ptsort.sort off and on,
# in turn, in one session of a private cluster.  Writes times, CPU times and
# ratios as text and JSON.  Names each query whose ratio of the server's time to
# ptsort's time is below the query's floor (minimum ratio).
#
#	make bench-query                         all queries, 500,000 rows, 13 minutes
#	make bench-query ROWS=5000000 SHAPES=order REPS=1
#	make bench-query ROWS=2000000 SHAPES=aggregates REPS=5
#	make bench-query SHAPES=small MIN_ROWS=0
#
# Arguments, as variables:
#
#   ROWS=500000    rows of 260 bytes
#   SHAPES=a,b     queries, or groups of queries: all, order, uses, aggregates
#                  (on 16 and later), analytics, small, start, few (not in all);
#                  see contrib/bench/queries.py
#   MEMORY=a,b     values of work_mem: any of 1GB, 64MB (only for few and
#                  aggregates), 4MB
#   WORKERS=a,b    numbers of parallel workers: 0, 1, or both
#   REPS=3         runs of each query by each engine; the report has medians
#   BY=cpu         compute ratios from CPU time; BY=ms uses elapsed time.  The
#                  default is cpu if the machine is busy, and ms otherwise
#   MIN_ROWS=n     ptsort.min_sort_rows
#   OUT=build/bench-query   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench querybench.py "${OUT:-build/bench-query}" \
	ROWS SHAPES MEMORY WORKERS REPS BY MIN_ROWS
