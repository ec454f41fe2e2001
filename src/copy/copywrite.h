/*-------------------------------------------------------------------------
 *
 * copywrite.h
 *	  Writes a table's new file from row versions in order, by one or several
 *	  processes.
 *
 * The ordered stream is cut into consecutive slices, which participants take
 * in order and write at the same time.  The file has the rows in exactly that
 * order, so a slice begins where the one before it ends, and only who has
 * filled all pages of that one knows where.  Until then a participant fills
 * pages in memory and, when its room is used up, waits.  What is known at that
 * moment is the number of pages only; they are written later, by both at the
 * same time.
 *
 * So there is always one slice, the first that is not filled yet, whose place
 * is known: its participant writes as it fills, and it alone extends the file.
 * The others get as far as their memory lets them.
 *
 *		leader						every participant (leader too)
 *		copywrite_estimate
 *		copywrite_init_shared
 *									copywrite_begin
 *									for each slice it takes:
 *										copywrite_begin_slice
 *										copywrite_add ...
 *										copywrite_end_slice
 *									copywrite_end
 *		(all others have ended)
 *		copywrite_finish
 *
 * The leader calls copywrite_finish instead of copywrite_end.  What is written
 * is what the server's rewrite_heap_tuple() makes of row versions that are in
 * no chain of updates and need no TOAST, see copyscan.c.  A slice ends with a
 * page that is half full on average.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COPYWRITE_H
#define PTSORT_COPYWRITE_H

#include "access/htup.h"
#include "access/parallel.h"
#include "copy/copyscan.h"
#include "ptsort.h"

/* What participants share: plain data and atomics, may live in DSM. */
typedef struct CopyFile CopyFile;

/* A participant's part. */
typedef struct CopyWriter CopyWriter;

/* The shared block, for up to so many slices; 'new_heap' must be empty. */
extern Size copywrite_estimate(int nslices);
extern void copywrite_init_shared(CopyFile *file, Relation new_heap,
								  int processes, int nslices);

/*
 * copywrite_begin readies a participant, which may use about this much memory
 * for pages.  It waits by way of the sort's shared block, NULL if it is alone;
 * the leader names its workers.
 */
extern CopyWriter *copywrite_begin(CopyFile *file, const CopyRules *rules,
								   Size memory, PtSortShared *sort_shared,
								   ParallelContext *workers);

extern void copywrite_begin_slice(CopyWriter *writer, int slice);

/* copywrite_add adds the next row version; it stays the caller's. */
extern void copywrite_add(CopyWriter *writer, HeapTuple tuple);
extern void copywrite_end_slice(CopyWriter *writer);

/* Both return the number of pages that this participant has written. */
extern int64 copywrite_end(CopyWriter *writer);
extern int64 copywrite_finish(CopyWriter *writer);

#endif							/* PTSORT_COPYWRITE_H */
