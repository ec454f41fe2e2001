/*-------------------------------------------------------------------------
 *
 * copywrite.h
 *	  Writes a table's new file from row versions in order, by one or several
 *	  processes.
 *
 * Participants claim the slices of the ordered stream in order and write them
 * at the same time.  A slice begins where the one before it ends, which is
 * known when all pages of that one are filled.  Until then a participant fills
 * pages in memory and, when its memory is full, waits.  A participant that has
 * filled its slice publishes where the next one begins before it writes its
 * pages.  So there is always one slice, the first that is not filled, whose
 * place is known: its participant writes as it fills, and it alone extends the
 * file.
 *
 *		leader						every participant (leader too)
 *		copywrite_estimate
 *		copywrite_init_shared
 *									copywrite_begin
 *									for each slice it claims:
 *										copywrite_begin_slice
 *										copywrite_add ...
 *										copywrite_end_slice
 *									copywrite_end
 *		(all others have ended)
 *		copywrite_finish
 *
 * The leader calls copywrite_finish instead of copywrite_end.  The file has
 * what the server's rewrite_heap_tuple() makes of row versions that are in no
 * chain of updates and need no TOAST, see copyscan.c.  The last page of a slice
 * is half full on average.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COPYWRITE_H
#define PTSORT_COPYWRITE_H

#include "access/htup.h"
#include "access/parallel.h"
#include "copy/copyscan.h"
#include "ptsort.h"

/* CopyFile: what participants share: plain data and atomics, may be in DSM. */
typedef struct CopyFile CopyFile;

/* CopyWriter: one participant's writer. */
typedef struct CopyWriter CopyWriter;

/*
 * copywrite_estimate and copywrite_init_shared size and fill in the shared
 * block for up to 'nslices' slices.  'new_heap' must be empty.
 */
extern Size copywrite_estimate(int nslices);
extern void copywrite_init_shared(CopyFile *file, Relation new_heap,
								  int processes, int nslices);

/*
 * copywrite_begin prepares a participant, which may use about 'memory' bytes
 * for pages.  It waits on the sort's shared block, NULL if it is alone.
 * 'workers': in the leader, the launched workers.
 */
extern CopyWriter *copywrite_begin(CopyFile *file, const CopyRules *rules,
								   Size memory, PtSortShared *sort_shared,
								   ParallelContext *workers);

extern void copywrite_begin_slice(CopyWriter *writer, int slice);

/* copywrite_add adds a copy of the next row version. */
extern void copywrite_add(CopyWriter *writer, HeapTuple tuple);
extern void copywrite_end_slice(CopyWriter *writer);

/* Both return the number of pages that this participant wrote. */
extern int64 copywrite_end(CopyWriter *writer);
extern int64 copywrite_finish(CopyWriter *writer);

#endif							/* PTSORT_COPYWRITE_H */
