#!/bin/bash
#
# bench.sh - `make bench`: the server's index builds and ptsort's, interleaved,
# in a private cluster; times, ratios, resources as text, JSON and a chart.
#
#	make bench                                      a selection, about 10 minutes
#	make bench ROWS=10000000 SHAPES=all MEMORY=2GB  everything
#
# Arguments, as variables:
#
#   ROWS=2000000   rows (tables of long text: half as many)
#   SHAPES=a,b     keys to measure, or groups of them: all, usual (those of
#                  README.md), real (text that this machine holds); see
#                  contrib/bench/bench.py run --help
#   WORKERS=1      parallel workers, besides the leader; 0 is serial
#   PLANNED=1      so many workers at most: for both builders the server plans how
#                  many a table gets, as it does where nothing else is set
#   MEMORY=512MB   maintenance_work_mem
#   BUILDERS=both  or ptsort: measure ptsort's builds alone
#   WAL_LEVEL=replica   or minimal: load and builds write no WAL
#   RUNS=3         builds of each index by each builder; medians are reported
#   CACHE=warm     or cold: restart and empty the caches before each build
#   CHECK=1        run amcheck on every index once
#   LIMIT=1        measure what this machine takes for reading and writing alone,
#                  beside the builds of int8, random (contrib/bench/limit.c)
#   PHASES=1       show the phases of all shapes, not of int8 only; draw timelines
#   OUT=build/bench   where results.json, report.txt and pictures go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

WORKERS=${WORKERS:-1}
mapfile -t settings_options < <(options_of WORKERS WAL_LEVEL)
[ -z "${PHASES:-}" ] || report_options=(--phases)
bench bench.py "${OUT:-build/bench}" WORKERS PLANNED? ROWS SHAPES MEMORY BUILDERS RUNS CACHE CHECK? LIMIT
