#!/bin/bash
#
# bench-scale.sh - `make bench-scale`: measure ptsort's index builds by 1 to 64
# participants on this machine's cores, and what the participants wait for.  The
# model in scalemodel.py predicts the times on a machine that has a core for
# each participant.
#
#	make bench-scale                              10 million int8, 10 minutes
#	make bench-scale ROWS=100000000 RUNS=1
#	make bench-scale SHAPE=text_c PARTICIPANTS=1,2,9 CHECKPOINTS=1 SLOW_DISK=100
#
# Arguments, as variables:
#
#   ROWS=10000000  rows in the table
#   SHAPE=int8     the index key: a shape of contrib/bench/shapes.py
#   PARTICIPANTS=1,2,4,8,16,32,64   participants of a build; the list must
#                  include 1 and the number of cores
#   MEMORY=2GB     maintenance_work_mem
#   RUNS=3         builds with each number of participants; the report has
#                  medians
#   MEMORY_RATE=200, WAL_RATE=2   rates of the modelled machine, in GB/s
#   CHECKPOINTS=1  also run CHECKPOINT in a loop during builds: RUNS builds by
#                  the server and RUNS by ptsort; the report has the longest
#                  CHECKPOINT
#   SLOW_DISK=100  also run the builds of CHECKPOINTS=1 on a disk that writes
#                  100 MB/s (contrib/bench/slowdisk.c)
#   OUT=build/bench-scale   directory of results.json, report.txt and scale.svg
#   KEEP=1         keep the cluster with its table
#   CLUSTER=dir    use a cluster that KEEP=1 kept, and build ptsort again
#   PG_CONFIG=...  the server to measure
#   NO_INSTALL=1   do not install missing packages, but name them and fail

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

settings_options=(--workers 63)
mapfile -t report_options < <(options_of MEMORY_RATE WAL_RATE)
bench scale.py "${OUT:-build/bench-scale}" ROWS SHAPE PARTICIPANTS MEMORY RUNS \
	CHECKPOINTS? SLOW_DISK
