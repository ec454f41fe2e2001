/*-------------------------------------------------------------------------
 *
 * copy.h
 *	  Copies a table, for CLUSTER, VACUUM FULL and REPACK.
 *
 * cluster.c decides whether ptsort makes a copy, and then calls
 * tablecopy_run().  All other declarations are for the files of this directory.
 *
 * Slices.  In a sorted copy, a slice is a part of the sorted stream.  Otherwise
 * the copy is in the order of the blocks, and a slice is a range of the old
 * table's blocks: the participant that claims it reads these blocks and writes
 * their row versions, in the same order.
 *
 * Writing.  Participants claim slices in order, and write different slices in
 * parallel.  A slice begins where the previous slice ends, so its start is
 * unknown until all pages of the previous slice are filled.  Until then, a
 * participant fills pages in memory; a participant whose memory is full waits.
 * A participant that filled its slice publishes the start of the next slice,
 * and only then writes the filled pages.  So the start of the first slice that
 * is not filled is always known.  Only the participant of that slice extends
 * the file; in a sorted copy it writes pages as it fills them.  The last page
 * of a slice is half full on average.
 *
 * Links.  Only the server's functions, in the leader, can write some row
 * versions (copyscan.c).  A sorted copy finds them before any process writes.
 * Otherwise a participant ends its slice before the first page of the old table
 * with row versions of this kind.  That slice is the last one: participants
 * drop the pages of later slices, which they did not write, because they did
 * not know where.  The leader copies the rest of the table alone.
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

/* CopyCounts: row versions */
typedef struct CopyCounts
{
	uint64		copied;
	uint64		dead;			/* not copied */
	uint64		recently_dead;	/* copied */
} CopyCounts;

/*
 * CopyShared: the counts of the scan are complete after all participants
 * announced their runs.
 */
typedef struct CopyShared
{
	PageFileShared file;
	pg_atomic_uint64 copied;	/* these counts: see CopyCounts */
	pg_atomic_uint64 dead;
	pg_atomic_uint64 recently_dead;
	pg_atomic_uint32 linked;	/* not 0: see copyscan.c */
	pg_atomic_uint64 written;	/* row versions written, to show progress */
	int			nslices;

	/*
	 * The number of filled slices, in the upper 32 bits, and the number of
	 * blocks that they take: the start of the next slice.  The participant
	 * that fills this slice changes it.
	 */
	pg_atomic_uint64 filled;

	/* for copies in the order of the blocks */
	pg_atomic_uint32 disorder;	/* not 0: rows are not in an index's order */
	BlockNumber nblocks;		/* of the old table; immutable, as the next */
	BlockNumber slice_blocks;	/* of the old table, in each slice */
	pg_atomic_uint32 next_slice;	/* first slice that is not claimed */
	pg_atomic_uint32 last_slice;	/* the slice that 'rest' ends, or nslices */
	BlockNumber rest;			/* block of the old table, set before the last
								 * slice is filled: the leader copies the
								 * table from here */
} CopyShared;

/*
 * tablecopy_run fills the empty new table of 'rules' as the server's
 * heapam_relation_copy_for_cluster() does when it sorts or, if 'index' is NULL,
 * for VACUUM FULL, and sets *counts.  If 'sorts' is false, it copies in the
 * order of the blocks; if that is not the order of the index, it empties the
 * new table again and returns false.  Logs the start and end lines and, on
 * success, publishes its report for ptsort_last_copy(); the report counts the
 * table's pages.
 */
extern bool tablecopy_run(const CopyRules *rules, Relation index, bool sorts,
						  const BtBuildRequest *request, CopyCounts *counts);

/* Maximum number of blocks of the old table in a slice; see src/README */
#define COPY_SLICE_BLOCKS	(8 * PAGEWRITE_BATCH)

/* copy_makes_new_rows returns true for a copy by REPACK (CONCURRENTLY). */
static inline bool
copy_makes_new_rows(const CopyRules *rules)
{
	return TransactionIdIsValid(rules->inserter);
}

typedef void (*CopyPut) (void *arg, HeapTuple tuple);

/*
 * copyscan passes this process's share of the old table's row versions to a
 * function; after copyscan_blocks, in the leader, all from CopyShared.rest on.
 * Each tuple has its new form, but the old TID and transaction information.
 * Returns their number.  The leader reports progress.
 */
extern uint64 copyscan(const CopyRules *rules, const Team *team, CopyPut put,
					   void *arg);

/* CopyWriter: writes a participant's slices. */
typedef struct CopyWriter CopyWriter;

/*
 * For copies in the order of the blocks: copyscan_blocks copies slices until
 * none is left.  If 'in_order' is true, it stops, and sets CopyShared.disorder,
 * at a page whose rows are not in the order of the team's sort, or that only
 * the server's functions may copy.  Returns the number of row versions.
 */
extern uint64 copyscan_blocks(const CopyRules *rules, const Team *team,
							  CopyWriter *writer, bool in_order);

/*
 * The new writer may use about 'memory' bytes for pages.  copywrite_add adds a
 * copy of the next row version, which must not be in an update chain or need
 * TOAST.  The file gets the tuple that the server's rewrite_heap_tuple() or,
 * for a new row, heap_insert() would write.  copywrite_add neither writes nor
 * waits; callers call copywrite_point, without a pin, before they add the row
 * versions of another page.  copywrite_stop makes the present slice the last
 * one.  copywrite_end_slice returns false if the writer dropped the slice,
 * because it comes after the last one.  copywrite_end (in workers) and
 * copywrite_finish (in the leader, after all workers filled their slices)
 * return the number of pages that the caller wrote.
 */
extern CopyWriter *copywrite_begin(const CopyRules *rules, const Team *team,
								   Size memory);
extern void copywrite_begin_slice(CopyWriter *writer, int slice);
extern void copywrite_add(CopyWriter *writer, HeapTuple tuple);
extern void copywrite_point(CopyWriter *writer);
extern void copywrite_stop(CopyWriter *writer, BlockNumber rest);
extern bool copywrite_end_slice(CopyWriter *writer);
extern int64 copywrite_end(CopyWriter *writer);
extern int64 copywrite_finish(CopyWriter *writer);

#endif							/* PTSORT_COPY_H */
