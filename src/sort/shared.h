/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  Communication between the participants of one parallel sort.
 *
 * The shared block has a fixed part and one slot for each process.  A
 * participant announces its runs and statistics in its own slot.  The leader
 * waits for a given number of announcements and then reads the slots, which no
 * longer change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SHARED_H
#define PTSORT_SHARED_H

#include "compat.h"

#include "lib/stringinfo.h"
#include "tape/run.h"

/* ptsort.h describes the first three functions, with the prefix ptsort_. */
extern Size shared_estimate(int processes);
extern void shared_init(PtSortShared *shared, int processes,
						dsm_segment *segment);
extern void shared_attach(PtSortShared *shared, dsm_segment *segment);
extern SharedFileSet *shared_fileset(PtSortShared *shared);
extern bool shared_stats(PtSortShared *shared, int participant,
						 PtSortStats *stats);

extern int	shared_processes(PtSortShared *shared);

/*
 * shared_join makes the caller participant number 'participant', and
 * shared_announce publishes its runs.  shared_wait waits until the given number
 * of participants announced their runs, and prevents others from joining,
 * because the result would lack their tuples.
 */
extern void shared_join(PtSortShared *shared, int participant);
extern void shared_announce(PtSortShared *shared, int participant, int nruns,
							const PtSortStats *stats, bool failed);
extern void shared_wait(PtSortShared *shared, int participants,
						ParallelContext *workers);

/*
 * shared_wait_for waits until happened() is true.  The process that makes it
 * true calls shared_wake.  'workers' must be NULL except in the leader.
 */
extern void shared_wait_for(PtSortShared *shared,
							bool (*happened) (void *arg), void *arg,
							ParallelContext *workers);
extern void shared_wake(PtSortShared *shared);

/*
 * Each participant calls shared_claim_learning once.  The participant that gets
 * true must publish what its key learned, or an empty string.
 * shared_read_learned waits for this string and copies it to 'result', whose
 * data are NULL before.
 */
extern bool shared_claim_learning(PtSortShared *shared);
extern void shared_publish_learned(PtSortShared *shared,
								   const StringInfoData *learned);
extern void shared_read_learned(PtSortShared *shared, StringInfo result);

/*
 * Number of slices for each participant: several, so that participants need not
 * wait long for a slow participant or a large slice.
 */
#define SLICES_EACH		8

extern int	shared_slices(int processes);

/*
 * shared_most_runs returns the maximum number of runs of each participant.
 * shared_own_runs returns the array in which a participant describes its runs
 * before it announces them.  shared_runs returns this array to readers, and
 * sets *nruns to 0 if the participant has no runs or announced none.
 */
extern int	shared_most_runs(int processes);
extern RunDesc *shared_own_runs(PtSortShared *shared, int participant);
extern const RunDesc *shared_runs(PtSortShared *shared, int participant,
								  int *nruns);

/*
 * shared_slice returns the start of a slice: a position (run.h) in each run,
 * ordered by participant and run.  *shared_slice_start is the number of tuples
 * before the slice.  An empty slice after the last begins at the runs' ends.
 */
extern int64 *shared_slice(PtSortShared *shared, int slice);
extern int64 *shared_slice_start(PtSortShared *shared, int slice);

/*
 * The leader calls shared_publish_plan after it planned the slices; other
 * participants call shared_wait_plan.  shared_claim_slice returns the number of
 * the next slice, or -1 if no slice is left or the sort failed.
 */
extern void shared_publish_plan(PtSortShared *shared, bool failed);
extern void shared_wait_plan(PtSortShared *shared);
extern int	shared_claim_slice(PtSortShared *shared);
extern bool shared_has_failed(PtSortShared *shared);

#endif							/* PTSORT_SHARED_H */
