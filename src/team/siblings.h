/*-------------------------------------------------------------------------
 *
 * siblings.h
 *	  Runs that wait for the builds of other indexes of the same table.
 *
 * A statement that builds all indexes of a table builds one after the other.
 * The first build's scan can put into a sort for each sibling as well, an index
 * that will be built next.  What such a sort leaves is in a segment of dynamic
 * shared memory of its own, with its files, and waits there for the sibling's
 * build, in the process that is the leader of both.
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

/* Most indexes that one scan can be for. */
#define MAX_INDEXES_PER_SCAN	32
#define MAX_SIBLINGS	(MAX_INDEXES_PER_SCAN - 1)

/* What the processes of the first build must know of a sibling. */
typedef struct SiblingInfo
{
	Oid			index_id;
	bool		is_unique;		/* these two as in its IndexInfo later */
	bool		nulls_not_distinct;
	dsm_handle	handle;			/* of the segment */
} SiblingInfo;

/* What is at the start of the segment.  Private to siblings.c. */
typedef struct SiblingShared SiblingShared;

/* What one or all scans of the first build found. */
typedef struct SiblingCounts
{
	double		rows;			/* live ones */
	bool		broken_hot_chain;
} SiblingCounts;

/* What must be the same when runs are taken. */
typedef struct SiblingKey
{
	Oid			heap_id;
	PtRelFile	file;			/* of the table */
	BlockNumber blocks;
	Oid			index_id;
	bool		is_unique;
	bool		nulls_not_distinct;
	int			workers;		/* asked for */
	int64		budget;			/* bytes */
	uint64		settings;		/* that decide about sort keys */
} SiblingKey;

/* Runs that wait; valid until siblings_release, or the transaction's end. */
typedef struct WaitingRuns
{
	SiblingKey	key;
	dsm_segment *segment;		/* NULL: none */
	SiblingShared *shared;
	int			participants;	/* that have left runs */
	SiblingCounts counts;		/* of all */
	int64		tuples;			/* of all */
	NameData	scanned_for;	/* the index whose build scanned the table */
	SubTransactionId subid;		/* the subtransaction they are of */
	bool		taken;
} WaitingRuns;

/* siblings_init installs what ends the wait; once per process. */
extern void siblings_init(void);

/*
 * siblings_create makes the segment for up to so many participants, and sets
 * info->handle.  NULL if there can be none.
 */
extern dsm_segment *siblings_create(SiblingInfo *info, int processes);

/* siblings_shared returns what is in such a segment. */
extern SiblingShared *siblings_shared(dsm_segment *segment);

/* siblings_attach is that, in a worker. */
extern SiblingShared *siblings_attach(dsm_segment *segment);

/* siblings_sorts returns the block of the sibling's sorts. */
extern PtSortShared *siblings_sorts(SiblingShared *shared);

/*
 * siblings_count leaves what a participant has found, before its sort is
 * performed.
 */
extern void siblings_count(SiblingShared *shared, int participant,
						   const SiblingCounts *counts);

/*
 * siblings_key sets what can be known of a build's runs from the relations and
 * the settings.  That the table has the same rows when runs are taken is up to
 * the caller, which lets no user code run meanwhile.
 */
extern void siblings_key(SiblingKey *key, Relation heap, int workers,
						 int64 budget);

/*
 * siblings_keep lets the runs of so many participants wait, who all have
 * announced them.  If a sort has failed, or there is no room, it lets go of the
 * segment.
 */
extern void siblings_keep(const SiblingKey *key, dsm_segment *segment,
						  int participants, Relation scanned_for);

/* siblings_wait tells whether there are runs that wait for an index. */
extern bool siblings_wait(Oid index_id);

/* siblings_workers returns how many workers their scan had asked for. */
extern int	siblings_workers(Oid index_id);

/*
 * siblings_take returns the runs that wait for the build of an index, or NULL.
 * Then *why_not says why those that there were could not be used, and none wait
 * any more; or is NULL if there were none.
 */
extern WaitingRuns *siblings_take(Relation heap, Relation index,
								  const IndexInfo *index_info, int workers,
								  int64 budget, const char **why_not);

/* siblings_release ends the wait of these runs; their files are removed. */
extern void siblings_release(WaitingRuns *runs);

/* siblings_forget does so for all that nobody has taken. */
extern void siblings_forget(void);

#endif							/* PTSORT_SIBLINGS_H */
