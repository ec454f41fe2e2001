#!/bin/bash
#
# bench-neighbours.sh - `make bench-neighbours`: measure how much an index build
# slows down pgbench.  Runs pgbench in stretches of equal length: without a
# build, with a build by the server, and with a build by ptsort.
#
#	make bench-neighbours                         15 minutes
#	make bench-neighbours ROWS=2000000 SECONDS=15 PARTICIPANTS=2 WORKLOADS=read
#
# Arguments, as variables:
#
#   ROWS=10000000  rows in the table that is indexed
#   SHAPE=text_c   the index key: a shape of contrib/bench/shapes.py
#   PARTICIPANTS=2,4,8   numbers of participants of the builds
#   WORKLOADS=read_fits,read,tpcb   pgbench's workloads; also: tpcb_fits
#   SECONDS=30     length of a stretch; the build begins 2 s after the stretch
#                  begins, and must end within the stretch
#   CLIENTS=4      clients of pgbench
#   SMALL_SCALE=10, LARGE_SCALE=100   pgbench's scales, for the *_fits
#                  workloads and for the other workloads
#   BUFFERS=512MB  shared_buffers
#   MEMORY=512MB   maintenance_work_mem
#   RUNS=1         stretches with each builder and number of participants; the
#                  report has the medians
#   OUT=build/bench-neighbours   directory of results.json and report.txt
#   KEEP=1         keep the cluster with its tables
#   CLUSTER=dir    use a cluster that KEEP=1 kept, and build ptsort again
#   PG_CONFIG=...  the server to measure
#   NO_INSTALL=1   do not install missing packages, but name them and fail
#
# (Bash itself sets SECONDS, so the Makefile passes SECONDS as STRETCH.)

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

# shellcheck disable=SC2034  # `bench` reads the array
settings_options=(--workers 15 --buffers "${BUFFERS:-512MB}")
bench neighbours.py "${OUT:-build/bench-neighbours}" ROWS SHAPE PARTICIPANTS WORKLOADS \
	STRETCH CLIENTS SMALL_SCALE LARGE_SCALE MEMORY RUNS
