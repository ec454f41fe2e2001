/*-------------------------------------------------------------------------
 *
 * siblings.h
 *	  Runs that wait for the builds of other indexes of the same table.
 *
 * A statement that builds all indexes of a table builds one after the other.  A
 * sibling is an index that the same statement will build later.  The scan of
 * the first build can also put tuples into one sort for each sibling.  The runs
 * of that sort wait for the sibling's build in a segment of dynamic shared
 * memory of their own, which holds the PtSortShared of the sort.
 *
 *		the first build:
 *		siblings_create, siblings_attach in workers
 *		siblings_keep, or dsm_detach
 *		... the sibling's build:
 *		siblings_take, siblings_attach in workers
 *		dsm_detach
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SIBLINGS_H
#define PTSORT_SIBLINGS_H

#include "compat.h"

#include "nodes/execnodes.h"
#include "ptsort.h"
#include "storage/dsm.h"

/* Maximum number of indexes built from one scan, the first one included. */
#define MAX_INDEXES_PER_SCAN	32
#define MAX_SIBLINGS	(MAX_INDEXES_PER_SCAN - 1)

/*
 * WaitingRuns: runs of one index.  The first part must be the same in the build
 * that wrote the runs and the one that loads them.
 */
typedef struct WaitingRuns
{
	Oid			index_id;
	RelFileLocator file;		/* of the table */
	BlockNumber blocks;			/* of the table */
	bool		is_unique;		/* IndexInfo.ii_Unique */
	int			settings;		/* made of those that affect sort keys */

	dsm_segment *segment;
	int			participants;	/* number that wrote the runs */
	int			workers;		/* number requested for that build */
	double		rows;			/* live rows of the table */
	bool		broken_hot_chain;
	NameData	scanned_for;	/* the index whose build scanned the table */
	SubTransactionId subid;		/* subtransaction that owns the runs */
} WaitingRuns;

/* siblings_init registers transaction callbacks; once per process. */
extern void siblings_init(void);

/*
 * siblings_create creates a segment for the sorts of at most 'processes'
 * participants.  Returns NULL if the server has no slot for a segment left.
 */
extern dsm_segment *siblings_create(int processes);

/* siblings_attach attaches such a segment in a worker. */
extern dsm_segment *siblings_attach(dsm_handle handle);

/* siblings_sorts returns the shared block of a segment. */
static inline PtSortShared *
siblings_sorts(dsm_segment *segment)
{
	return (PtSortShared *) dsm_segment_address(segment);
}

/*
 * siblings_describe sets the first part of 'runs', except 'is_unique', for a
 * build of this index.  That the parts agree does not prove that the table
 * still has the same rows when the runs are used: the caller ensures it by
 * running no user code between the two builds.
 */
extern void siblings_describe(WaitingRuns *runs, Relation heap, Oid index_id);

/*
 * siblings_keep makes the runs wait for their build.  All participants must
 * have announced theirs.  If a sort failed, or the list is full, it detaches
 * the segment instead.
 */
extern void siblings_keep(const WaitingRuns *runs);

/*
 * siblings_find returns the runs that wait for the build of this index, or
 * NULL.
 */
extern const WaitingRuns *siblings_find(Oid index_id);

/*
 * siblings_take moves the runs that wait for the build of this index, which
 * there must be, to *runs and returns NULL.  Their segment then belongs to the
 * caller's resource owner.  If they do not suit this build, it releases all
 * runs that wait and returns the reason.
 */
extern const char *siblings_take(WaitingRuns *runs, Relation heap,
								 Relation index, const IndexInfo *index_info);

/* siblings_forget releases all runs that wait. */
extern void siblings_forget(void);

#endif							/* PTSORT_SIBLINGS_H */
