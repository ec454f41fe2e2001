/*-------------------------------------------------------------------------
 *
 * btbuild.h
 *	  ptsort's btree build, which replaces the server's btbuild().
 *
 * ambuild.c decides whether ptsort builds an index and with how many workers,
 * and then calls btbuild_build().
 *
 * Load (btload.c).  The sort cuts the ordered stream of tuples into consecutive
 * slices, possibly in the middle of equal keys.  A participant writes a slice's
 * leaves immediately, but not the first leaf and the last leaf, whose
 * neighbours are not known yet.  After all slices are loaded, the leader
 * stitches them together and adds the rest of the tree.
 *
 * Siblings (siblings.c).  A sibling is another index of the table that the same
 * statement will build later.  The scan of the first build can also put tuples
 * into one sort for each sibling.  Until the sibling's build, the sort's runs
 * wait in their own segment of dynamic shared memory.  The segment holds the
 * sort's PtSortShared.  Calls:
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
#ifndef PTSORT_BTBUILD_H
#define PTSORT_BTBUILD_H

#include "write/indexbuild.h"

/* Maximum number of indexes built from one scan, including the first. */
#define MAX_INDEXES_PER_SCAN	32
#define MAX_SIBLINGS	(MAX_INDEXES_PER_SCAN - 1)

/*
 * WaitingRuns: runs that wait for the build of one index.  The writing build
 * and the loading build must agree on the values of the fields before index_id.
 */
typedef struct WaitingRuns
{
	RelFileLocator file;		/* the table's file */
	BlockNumber blocks;			/* size of the table */
	int			settings;		/* encodes settings that affect sort keys */
	bool		is_unique;		/* IndexInfo.ii_Unique */

	Oid			index_id;
	dsm_segment *segment;
	int			participants;	/* participants that wrote the runs */
	int			workers;		/* workers that the scanning build requested */
	double		rows;			/* number of live rows of the table */
	bool		broken_hot_chain;
	NameData	scanned_for;	/* the index whose build scanned the table */
	SubTransactionId subid;		/* subtransaction that owns the runs */
} WaitingRuns;

/* BtBuildRequest: ambuild.c's request for a build or a copy. */
typedef struct BtBuildRequest
{
	int			workers;		/* parallel workers to request, within limits */
	bool		is_order;		/* use workers even if they do not pay off */
	const char *source;			/* reason for 'workers', for the start line */
	const WaitingRuns *runs;	/* runs of an earlier scan, or NULL */
	int			ncandidates;	/* open indexes that this scan may also serve */
	Relation   *candidates;
	bool		check_unique;	/* false: the candidates' builds will not
								 * check uniqueness */
} BtBuildRequest;

/*
 * btbuild_build builds 'index' over 'heap' as the server's btbuild would: the
 * index is equivalent, and errors are the same.  btbuild_build logs the start
 * and end lines and, on success, publishes its report.
 */
extern IndexBuildResult *btbuild_build(Relation heap, Relation index,
									   IndexInfo *indexInfo,
									   const BtBuildRequest *request);

/* btload.c */
extern const LoadMethod btload;
extern void btload_shared_init(Team *team, int processes, int slices);

/* siblings_init registers transaction callbacks.  Call it once per process. */
extern void siblings_init(void);

/*
 * siblings_create creates a segment for the sorts of at most 'processes'
 * participants.  Returns NULL if the server has no free slot for a segment.
 */
extern dsm_segment *siblings_create(int processes);

/* siblings_attach attaches a worker to a segment made by siblings_create. */
extern dsm_segment *siblings_attach(dsm_handle handle);

static inline PtSortShared *
siblings_sorts(dsm_segment *segment)
{
	return (PtSortShared *) dsm_segment_address(segment);
}

/*
 * siblings_describe sets the fields of *runs that precede 'is_unique'.  Equal
 * fields in two builds do not prove that the table's rows did not change.  So
 * the caller must run no user code between writing and loading the runs.
 */
extern void siblings_describe(WaitingRuns *runs, Relation heap);

/*
 * After all participants announced their runs, siblings_keep makes the runs
 * wait for their build.  If a sort failed or the list of waiting runs is full,
 * siblings_keep detaches the segment instead.
 */
extern void siblings_keep(const WaitingRuns *runs);

/* siblings_wait returns true if runs wait for the build of 'index_id'. */
extern bool siblings_wait(Oid index_id);

/*
 * If runs wait for the build of the index 'index_id', siblings_take moves them
 * to *runs, gives their segment to the caller's resource owner, and returns
 * true.  If the runs do not suit this build, siblings_take logs the reason,
 * releases all waiting runs and returns false.  'index_id' is the OID of
 * 'index' or, if 'index' is a copy by REPACK (CONCURRENTLY), of the original.
 */
extern bool siblings_take(WaitingRuns *runs, Relation heap, Relation index,
						  Oid index_id, const IndexInfo *index_info);

/* siblings_forget releases all waiting runs. */
extern void siblings_forget(void);

#endif							/* PTSORT_BTBUILD_H */
