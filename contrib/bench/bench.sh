#!/bin/bash
#
# bench.sh - `make bench`: time index builds by the server and by ptsort, in
# turn, in a private cluster.  Writes times, ratios and resources as text, JSON
# and a chart.
#
#	make bench                                      a selection, about 10 minutes
#	make bench ROWS=10000000 SHAPES=all MEMORY=2GB  everything
#
# Arguments, as variables:
#
#   ROWS=2000000   rows in a table (tables of long text have half of ROWS)
#   SHAPES=a,b     keys to measure, or groups of keys: all, usual (the keys in
#                  README.md), real (text found on this machine); see
#                  contrib/bench/bench.py run --help
#   WORKERS=1      parallel workers, besides the leader; 0 is serial
#   PLANNED=1      let the server plan the number of workers for each table and
#                  both builders, with WORKERS as the limit
#   MEMORY=512MB   maintenance_work_mem
#   BUILDERS=both  measure both builders; BUILDERS=ptsort measures only ptsort
#   WAL_LEVEL=replica   with WAL_LEVEL=minimal, loads and builds write no WAL
#   RUNS=3         builds of each index by each builder; the report has medians
#   CACHE=warm     with CACHE=cold, restart the server and empty the caches
#                  before each build
#   CHECK=1        run amcheck on every index once
#   PHASES=1       show ptsort's phases for all shapes, not only for int8
#   OUT=build/bench   directory of results.json, report.txt and chart.svg
#   KEEP=1         keep the cluster with its tables
#   CLUSTER=dir    use a cluster that KEEP=1 kept, and build ptsort again
#   PG_CONFIG=...  the server to measure
#   NO_INSTALL=1   do not install missing packages, but name them and fail

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

WORKERS=${WORKERS:-1}
mapfile -t settings_options < <(options_of WORKERS WAL_LEVEL)
[ -z "${PHASES:-}" ] || report_options=(--phases)
bench bench.py "${OUT:-build/bench}" WORKERS PLANNED? ROWS SHAPES MEMORY BUILDERS RUNS CACHE CHECK?
