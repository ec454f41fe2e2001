/*-------------------------------------------------------------------------
 *
 * siblings.h
 *	  Runs that wait for the builds of other indexes of the same table.
 *
 * A statement that builds all indexes of a table builds one after the other.  A
 * sibling is an index that the same statement will build later.  The scan of
 * the first build can also put tuples into one sort for each sibling.  The runs
 * of that sort wait for the sibling's build in a segment of dynamic shared
 * memory of their own, which the process that leads both builds keeps attached.
 *
 *		leader							every participant of the first build
 *		siblings_create
 *										siblings_sorts: a PTSORT_WORKER's
 *										siblings_count
 *		siblings_keep, or dsm_detach
 *		... the sibling's build:
 *		siblings_take					every participant of the second one
 *										siblings_sorts: a PTSORT_SLICE's
 *		siblings_release
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

/* What the processes of the first build must know about a sibling. */
typedef struct SiblingInfo
{
	Oid			index_id;
	bool		is_unique;		/* as its IndexInfo will have it */
	bool		nulls_not_distinct; /* as its IndexInfo will have it */
	dsm_handle	handle;			/* of the segment */
} SiblingInfo;

/* The start of the segment.  Private to siblings.c. */
typedef struct SiblingShared SiblingShared;

/* Results of the first build's scan: of one participant or of all. */
typedef struct SiblingCounts
{
	double		rows;			/* live rows */
	bool		broken_hot_chain;
} SiblingCounts;

/* What must be the same in the build that wrote the runs and the sibling's. */
typedef struct SiblingKey
{
	Oid			heap_id;
	RelFileLocator file;		/* of the table */
	BlockNumber blocks;
	Oid			index_id;
	bool		is_unique;
	bool		nulls_not_distinct;
	int			workers;		/* number requested */
	int64		budget;			/* bytes */
	uint64		settings;		/* those that affect sort keys */
} SiblingKey;

/* Runs that wait; valid until siblings_release, or the transaction's end. */
typedef struct WaitingRuns
{
	SiblingKey	key;
	dsm_segment *segment;		/* NULL: none */
	SiblingShared *shared;
	int			participants;	/* number that wrote the runs */
	SiblingCounts counts;		/* sum over all participants */
	int64		tuples;			/* sum over all participants */
	NameData	scanned_for;	/* the index whose build scanned the table */
	SubTransactionId subid;		/* subtransaction that owns the runs */
	bool		taken;			/* returned by siblings_take */
} WaitingRuns;

/*
 * siblings_init registers the transaction callbacks that release the runs; to
 * be called once per process.
 */
extern void siblings_init(void);

/*
 * siblings_create creates a sibling's segment for at most 'processes'
 * participants and sets info->handle.  Returns NULL if the server has no slot
 * for a segment left.
 */
extern dsm_segment *siblings_create(SiblingInfo *info, int processes);

/* siblings_shared returns the content of a sibling's segment. */
extern SiblingShared *siblings_shared(dsm_segment *segment);

/* siblings_attach returns it in a worker, and attaches the sort's files. */
extern SiblingShared *siblings_attach(dsm_segment *segment);

/* siblings_sorts returns the shared block of the sibling's sorts. */
extern PtSortShared *siblings_sorts(SiblingShared *shared);

/*
 * siblings_count stores the counts of a participant.  To be called before the
 * sibling's sort is performed.
 */
extern void siblings_count(SiblingShared *shared, int participant,
						   const SiblingCounts *counts);

/*
 * siblings_key sets the fields that follow from the table, the arguments and
 * the settings; the caller sets those of the index.  The key does not prove
 * that the table still has the same rows when the runs are used: the caller
 * ensures it by running no user code between the two builds.
 */
extern void siblings_key(SiblingKey *key, Relation heap, int workers,
						 int64 budget);

/*
 * siblings_keep makes the runs wait for their build.  All 'participants' must
 * have announced theirs.  If a sort failed, or the list is full, it detaches
 * the segment instead.
 */
extern void siblings_keep(const SiblingKey *key, dsm_segment *segment,
						  int participants, Relation scanned_for);

/* siblings_wait returns true if runs wait for the build of this index. */
extern bool siblings_wait(Oid index_id);

/*
 * siblings_workers returns the number of workers that the build which wrote
 * these runs requested.  Runs must wait for the index.
 */
extern int	siblings_workers(Oid index_id);

/*
 * siblings_take returns the runs that wait for the build of this index, or
 * NULL.  If there are runs, but they do not suit this build, it releases all
 * runs that wait and sets *why_not to the reason, else to NULL.
 */
extern WaitingRuns *siblings_take(Relation heap, Relation index,
								  const IndexInfo *index_info, int workers,
								  int64 budget, const char **why_not);

/* siblings_release detaches the segment of these runs and removes the files. */
extern void siblings_release(WaitingRuns *runs);

/* siblings_forget releases all runs that siblings_take did not return. */
extern void siblings_forget(void);

#endif							/* PTSORT_SIBLINGS_H */
