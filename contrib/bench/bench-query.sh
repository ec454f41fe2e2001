#!/bin/bash
#
# bench-query.sh - `make bench-query`: the same queries with ptsort.sort off and
# on, in turn, in one session of a private cluster; times, CPU times and ratios as
# text and JSON, and which floors are missed.
#
#	make bench-query                         all queries, 500,000 rows, 10 minutes
#	make bench-query ROWS=5000000 SHAPES=order REPS=1
#	make bench-query SHAPES=small MIN_ROWS=0
#
# Arguments, as variables:
#
#   ROWS=500000    rows of 260 bytes
#   SHAPES=a,b     queries, or groups of them: all, order, uses, analytics, small,
#                  start, few (not in all); see contrib/bench/queries.py
#   MEMORY=a,b     work_mem: of 1GB, 64MB (of few only), 4MB
#   WORKERS=a,b    parallel workers: of 0, 1
#   REPS=3         runs of each query each way; medians are reported
#   BY=cpu         or ms: what ratios are made of; by default CPU time if the
#                  machine is busy
#   MIN_ROWS=n     ptsort.min_sort_rows
#   OUT=build/bench-query   where results.json and report.txt go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench querybench.py "${OUT:-build/bench-query}" \
	ROWS SHAPES MEMORY WORKERS REPS BY MIN_ROWS
