#!/bin/bash
#
# bench-neighbours.sh - `make bench-neighbours`: what a pgbench loses beside an
# index build, by the server and by ptsort, over equal stretches of time.
#
#	make bench-neighbours                         15 minutes
#	make bench-neighbours ROWS=2000000 SECONDS=15 PARTICIPANTS=2 WORKLOADS=read
#
# Arguments, as variables:
#
#   ROWS=10000000  rows of the table that the index is built on
#   SHAPE=text_c   its key: one of contrib/bench/shapes.py
#   PARTICIPANTS=2,4,8   of builds
#   WORKLOADS=read_fits,read,tpcb   of pgbench; tpcb_fits as well
#   SECONDS=30     a stretch; the build begins after two and must end within it
#   CLIENTS=4      of pgbench
#   SMALL_SCALE=10, LARGE_SCALE=100   of pgbench, for *_fits and the others
#   BUFFERS=512MB  shared_buffers
#   MEMORY=512MB   maintenance_work_mem
#   RUNS=1         stretches of each kind; medians are reported
#   OUT=build/bench-neighbours   where results.json and report.txt go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing
#
# (SECONDS is a variable of bash itself; the Makefile passes it on as STRETCH.)

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

# shellcheck disable=SC2034  # `bench` reads it
settings_options=(--workers 15 --buffers "${BUFFERS:-512MB}")
bench neighbours.py "${OUT:-build/bench-neighbours}" ROWS SHAPE PARTICIPANTS WORKLOADS \
	STRETCH CLIENTS SMALL_SCALE LARGE_SCALE MEMORY RUNS
