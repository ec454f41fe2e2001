/*-------------------------------------------------------------------------
 *
 * copy.h
 *	  Copies a table in the order of one of its indexes, for CLUSTER and REPACK.
 *
 * cluster.c decides whether ptsort makes a copy, and then calls
 * tablecopy_run().  All other declarations are for the files of this directory.
 *
 * Writing.  Participants claim the slices of the ordered stream in order, and
 * write different slices in parallel.  A slice begins where the previous slice
 * ends, so its start is unknown until all pages of the previous slice are
 * filled.  Until then, a participant fills pages in memory; a participant
 * whose memory is full waits.  A participant that filled its slice publishes
 * the start of the next slice, and only then writes the filled pages.  So the
 * start of the first slice that is not filled is always known.  The
 * participant of that slice writes pages as it fills them, and only this
 * participant extends the file.  The last page of a slice is half full on
 * average.
 *
 * REPACK (CONCURRENTLY).  Other transactions change the table while ptsort
 * copies the rows that the server's snapshot sees.  Later the server applies
 * these changes to the copy.  As in the server's own copy, all rows are new
 * rows of this transaction, and logical decoding ignores them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COPY_H
#define PTSORT_COPY_H

#include "btree/btbuild.h"
#include "write/pagewrite.h"

/* CopyRules: the server's parameters for a copy, equal in all participants. */
typedef struct CopyRules
{
	Relation	old_heap;
	Relation	new_heap;
	TransactionId oldest_xmin;	/* row versions deleted earlier are dead */
	TransactionId freeze_xid;	/* freeze older transaction IDs */
	MultiXactId cutoff_multi;	/* freeze older multixact IDs */

	/* for REPACK (CONCURRENTLY); otherwise NULL and InvalidTransactionId */
	Snapshot	snapshot;		/* leader: copy rows visible to this snapshot */
	TransactionId inserter;		/* the copy's rows are new rows, inserted by
								 * this transaction */
	CommandId	command;		/* the command that inserts the rows */
} CopyRules;

/*
 * CopyShared: the counts of the scan are complete after all participants
 * announced their runs.
 */
typedef struct CopyShared
{
	PageFileShared file;
	pg_atomic_uint64 copied;	/* row versions put into the sort */
	pg_atomic_uint64 dead;		/* row versions not copied */
	pg_atomic_uint64 recently_dead; /* copied row versions, recently dead */
	pg_atomic_uint32 linked;	/* not 0: see copyscan.c */
	pg_atomic_uint64 written;	/* row versions written, to show progress */
	int			nslices;

	/*
	 * First block of each slice, or InvalidBlockNumber if not known yet.  The
	 * entry after the last slice is the end of the table.  Each entry is
	 * written once, by the participant that filled the previous slice.
	 */
	pg_atomic_uint32 start[FLEXIBLE_ARRAY_MEMBER];
} CopyShared;

/*
 * tablecopy_run fills the empty new table of 'rules' as the server's
 * heapam_relation_copy_for_cluster() does when it sorts, and increases the
 * caller's counters.  Logs the start and end lines and, on success, publishes
 * its report for ptsort_last_copy(); the report counts the table's pages.
 */
extern void tablecopy_run(const CopyRules *rules, Relation index,
						  const BtBuildRequest *request, double *num_tuples,
						  double *tups_vacuumed, double *tups_recently_dead);

/* copy_makes_new_rows returns true for a copy by REPACK (CONCURRENTLY). */
static inline bool
copy_makes_new_rows(const CopyRules *rules)
{
	return TransactionIdIsValid(rules->inserter);
}

/*
 * copyscan puts this process's share of the old table's row versions into the
 * team's sort of heap tuples.  Each tuple has its form in the new table, the
 * old header's transaction information and the old TID.  The leader reports
 * blocks and tuples to the progress view.
 */
extern void copyscan(const CopyRules *rules, const Team *team);

/* CopyWriter: writes a participant's slices. */
typedef struct CopyWriter CopyWriter;

/*
 * The new writer may use about 'memory' bytes for pages.  copywrite_add adds a
 * copy of the next row version, which must not be in an update chain or need
 * TOAST.  The file gets the tuple that the server's rewrite_heap_tuple() or,
 * for a new row, heap_insert() would write.  copywrite_end (in workers) and
 * copywrite_finish (in the leader, after all workers ended) return the number
 * of pages that the caller wrote.
 */
extern CopyWriter *copywrite_begin(const CopyRules *rules, const Team *team,
								   Size memory);
extern void copywrite_begin_slice(CopyWriter *writer, int slice);
extern void copywrite_add(CopyWriter *writer, HeapTuple tuple);
extern void copywrite_end_slice(CopyWriter *writer);
extern int64 copywrite_end(CopyWriter *writer);
extern int64 copywrite_finish(CopyWriter *writer);

#endif							/* PTSORT_COPY_H */
