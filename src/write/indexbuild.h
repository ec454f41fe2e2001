/*-------------------------------------------------------------------------
 *
 * indexbuild.h
 *	  Index builds and their loads: what all access methods share.
 *
 * A build is a kind of team (team.h).  Its processes scan the table, sort what
 * they make of the rows, and load slices of the merged stream.  Participants
 * load slices in any order and at the same time; none waits for a neighbouring
 * slice.  What the leader must know of a slice they leave in its list
 * (slicelist.h).  In the end the leader completes the index.
 *
 * A sole participant loads one slice, or several in their order, without lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_INDEXBUILD_H
#define PTSORT_INDEXBUILD_H

#include "sort/tuplesort.h"
#include "team/build.h"
#include "write/pagewrite.h"
#include "write/slicelist.h"

/*
 * LoadShared: head of the team's shared block.  The method's parts follow.  A
 * participant writes its own chunk, and its own part or those of the slices
 * that it loads; the leader reads them after all participants ended.
 */
typedef struct LoadShared
{
	PageFileShared file;
	bool		allequalimage;	/* btree only: see nbtree.h */
	int			nslices;
	PageChunk	rest[FLEXIBLE_ARRAY_MEMBER];	/* unused blocks; one more:
												 * see pagewrite_take_over */
} LoadShared;

typedef struct Load Load;

/* LoadMethod: how to load the indexes of an access method. */
typedef struct LoadMethod
{
	Size		size;			/* of the load, which begins with a Load */
	BlockNumber reserved;		/* blocks that only the end of a load writes */
	Size		part_size;		/* of a part of the shared block, zeroed */
	bool		by_slice;		/* a part is of a slice; false: of a
								 * participant */

	/* Set what depends on the method, in the context load->cxt. */
	void		(*begin) (Load *load, const Build *build);

	/* Load the sort's current slice; 'slice' counts from 0, in their order. */
	void		(*add_slice) (Load *load, PtSort *sort, int slice);

	/*
	 * In the leader: complete the index, from the lists of load->fileset if
	 * there are any.  All slices were loaded, even empty ones.
	 */
	void		(*finish) (Load *load, Build *build);
} LoadMethod;

/* Load: a participant's load. */
struct Load
{
	const LoadMethod *method;
	LoadShared *shared;
	Relation	index;
	int			participant;
	SharedFileSet *fileset;		/* files of lists; NULL: sole participant */
	SliceList  *list;			/* list of the current slice, or NULL */
	MemoryContext cxt;			/* for all memory of this load */
	PageWriter	writer;
	int64		all_tuples;		/* tuples expected from all participants */
};

/* load_part returns a part of the shared block; see LoadMethod. */
extern void *load_part(const Load *load, int number);

/* load_count counts a tuple, and now and then reports those so far. */
static inline void
load_count(Load *load)
{
	if (++load->writer.tuples % PAGEWRITE_STEP == 0)
		(void) pagewrite_report(&load->writer);
}

/*
 * load_end ends a load, and returns the number of pages that this participant
 * wrote.  load_finish also completes the index; call it in the leader after all
 * other loads ended.
 */
extern int64 load_end(Load *load);
extern void load_finish(Build *build);


/* IndexBuildKind: how to build the indexes of an access method. */
typedef struct IndexBuildKind
{
	TeamKind	team;			/* must be first */
	const LoadMethod *load;
} IndexBuildKind;

/*
 * TeamKind.open, read, shared_size and shared_init.  TeamKind.begin must call
 * indexbuild_start: the leader logs the start line, with 'scan' at its end,
 * when it knows the number of participants.
 */
extern void indexbuild_open(Team *team);
extern void indexbuild_read(Team *team);
extern Size indexbuild_shared_size(Team *team, int processes, int slices);
extern void indexbuild_shared_init(Team *team, int processes, int slices);
extern void indexbuild_start(Build *build, const char *scan);

/*
 * indexbuild_init is build_init for a build that loads slices; 'source' is the
 * reason for the number of workers.  indexbuild_run builds 'index' over 'heap'
 * as the server's ambuild would.  It logs the start and end lines and, on
 * success, publishes its report.
 */
extern void indexbuild_init(Build *build, const IndexBuildKind *kind,
							const PtParallelRequest *request,
							const char *source);
extern IndexBuildResult *indexbuild_run(const IndexBuildKind *kind,
										Relation heap, Relation index,
										IndexInfo *index_info, int workers,
										const char *source);

#endif							/* PTSORT_INDEXBUILD_H */
