/*-------------------------------------------------------------------------
 *
 * window.h
 *	  The next tuples of a guided merge, in true order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_WINDOW_H
#define PTSORT_WINDOW_H

#include "compat.h"

#include "sort/run.h"

typedef struct MergeWindow MergeWindow;

/*
 * window_memory returns the bytes of the window of a merge of runs for which
 * there is so much memory; 0: there had better be none.
 */
extern int64 window_memory(Run **runs, int nruns, int64 memory);

/* window_most_memory returns the most that it may be. */
extern int64 window_most_memory(int64 memory);

/* window_create makes an empty window of so many bytes. */
extern MergeWindow *window_create(SortOrder *order, int nruns, int64 memory);
extern void window_free(MergeWindow *window);

/*
 * window_begin begins the next chunk, when window_next has returned all of what
 * was released.
 */
extern void window_begin(MergeWindow *window);

/*
 * window_add adds the current tuple of a run to the chunk, if there is room.
 * A merge by words adds them in the order of their words; tuples whose words
 * are equal, and which come one after the other, have been compared.
 */
extern bool window_add(MergeWindow *window, int run, const RunReader *reader);

/*
 * window_passed tells whether the current tuple of a run, and so all that
 * follow it there, come after all tuples before the chunk.
 */
extern bool window_passed(MergeWindow *window, int run,
						  const RunReader *reader);

/*
 * window_release releases what comes before the chunk: all runs have passed it.
 * window_release_all releases all.
 */
extern void window_release(MergeWindow *window);
extern void window_release_all(MergeWindow *window);

/*
 * window_was_worth tells whether adding this chunk took less than two
 * comparisons for each of its tuples.
 */
extern bool window_was_worth(const MergeWindow *window);

/*
 * window_next makes the next tuple that was released the current one of a
 * reader, which has no run; false if there is none.  It stays valid until two
 * more chunks have been begun.
 */
extern bool window_next(MergeWindow *window, RunReader *reader);

/* window_run returns the run of the tuple that window_next has returned. */
extern int	window_run(const MergeWindow *window);

#endif							/* PTSORT_WINDOW_H */
