#!/bin/bash
#
# bench-scale.sh - `make bench-scale`: ptsort's index builds by 1 to 64
# participants on the cores there are, what these wait for, and how fast a machine
# with a core for each would be, by a model that scalemodel.py states.
#
#	make bench-scale                              10 million int8, 10 minutes
#	make bench-scale ROWS=100000000 RUNS=1
#	make bench-scale SHAPE=text_c PARTICIPANTS=1,2,9 CHECKPOINTS=1 SLOW_DISK=100
#
# Arguments, as variables:
#
#   ROWS=10000000  rows
#   SHAPE=int8     the key: one of contrib/bench/shapes.py
#   PARTICIPANTS=1,2,4,8,16,32,64   1 and the number of cores must be among them
#   MEMORY=2GB     maintenance_work_mem
#   RUNS=3         builds by each number; medians are reported
#   MEMORY_RATE=200, WAL_RATE=2   of the modelled machine, in GB/s
#   CHECKPOINTS=1  also builds by the server and by ptsort with CHECKPOINT in a
#                  loop beside them, RUNS of each: the longest is reported
#   SLOW_DISK=100  these also on a disk that writes 100 MB/s (contrib/bench/slowdisk.c)
#   OUT=build/bench-scale   where results.json, report.txt and scale.svg go
#   KEEP=1         keep the cluster with its table ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

settings_options=(--workers 63)
mapfile -t report_options < <(options_of MEMORY_RATE WAL_RATE)
bench scale.py "${OUT:-build/bench-scale}" ROWS SHAPE PARTICIPANTS MEMORY RUNS \
	CHECKPOINTS? SLOW_DISK
