/*-------------------------------------------------------------------------
 *
 * copyscan.h
 *	  Page-at-a-time scan of a heap table to be copied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COPYSCAN_H
#define PTSORT_COPYSCAN_H

#include "access/tableam.h"
#include "port/atomics.h"
#include "ptsort.h"
#include "utils/rel.h"

/*
 * CopyRules: the server's parameters of a copy, the same in all participants.
 */
typedef struct CopyRules
{
	Relation	old_heap;
	Relation	new_heap;
	TransactionId oldest_xmin;	/* versions deleted before it are dead */
	TransactionId freeze_xid;	/* freeze older transaction IDs */
	MultiXactId cutoff_multi;	/* freeze older multixact IDs */
} CopyRules;

/*
 * CopyCounts: what the scans of all participants found.
 */
typedef struct CopyCounts
{
	pg_atomic_uint64 copied;	/* row versions put into the sort */
	pg_atomic_uint64 dead;		/* row versions not copied */
	pg_atomic_uint64 recently_dead; /* row versions copied but dead */
	pg_atomic_uint32 linked;	/* not 0: the server's functions must copy
								 * some row versions, see copyscan.c */
} CopyCounts;

/*
 * copyscan puts this process's share of the old table's row versions into a
 * sort of heap tuples: in their form in the new table, with the old header's
 * information about transactions and the old TID.  Without a parallel scan its
 * share is the whole table.  If 'progress', it reports blocks and tuples to the
 * progress view.
 */
extern void copyscan(const CopyRules *rules, ParallelTableScanDesc parallel,
					 bool progress, PtSort *sort, CopyCounts *counts);

#endif							/* PTSORT_COPYSCAN_H */
