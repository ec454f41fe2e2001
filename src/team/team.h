/*-------------------------------------------------------------------------
 *
 * team.h
 *	  The processes that sort together, and what they share.
 *
 * Everything that sorts in parallel is a kind of team: index builds (btbuild.c
 * and, for other extensions, build.c), copies of tables (tablecopy.c), and the
 * sorts of other extensions (parallel.c).  A team has a leader and possibly
 * workers; each of them is a participant and goes through the same phases:
 *
 *		leader						worker
 *		team_sort					team_serve
 *			launch						open
 *			begin, fill, sort			begin, fill, sort
 *			begin, wait for the runs	begin, wait for the plan
 *		team_read						read slices
 *		team_wait						close
 *		team_finish
 *		team_leave
 *
 * If an earlier team wrote the runs (Team.stored), this one puts no tuples and
 * begins with the second sort.  If the participants do not read slices, only
 * the leader has a second sort.  A team without workers has no segment: the
 * state that processes would share is in the leader's memory.  Unless it reads
 * stored runs, its only sort has the role PTSORT_SERIAL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEAM_H
#define PTSORT_TEAM_H

#include "compat.h"

#include "access/tableam.h"
#include "executor/instrument.h"
#include "order/sortextras.h"
#include "ptsort_parallel.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"

typedef struct Team Team;

/* What a participant is about to do. */
typedef enum TeamPhase
{
	TEAM_FILLS,					/* put its tuples */
	TEAM_SORTS,					/* sort them, or wait for all runs */
	TEAM_READS					/* read slices, or in the leader the stream */
} TeamPhase;

/*
 * TeamKind: what a team does in each of its processes.
 */
typedef struct TeamKind
{
	/*
	 * In a worker: open opens what the team works on and sets team->slices;
	 * close closes it, after all else.
	 */
	void		(*open) (Team *team);
	void		(*close) (Team *team);

	/*
	 * Optional, in the leader: called before the launch with the number of
	 * processes, the leader included, and once more with 1 if no worker
	 * starts.  It may still change 'info' and 'sorts'.
	 */
	void		(*prepare) (Team *team, int processes);

	/* Begin a sort; team.c checks that it has the options. */
	PtSort	   *(*begin) (Team *team, const PtSortOptions *options);

	/*
	 * Put this process's tuples into team->sort.  If team->scan is NULL, this
	 * process scans the whole table.
	 */
	void		(*fill) (Team *team);

	/*
	 * Optional: perform and end any other sorts that fill put tuples into.
	 * Called before team->sort is performed.
	 */
	void		(*perform_others) (Team *team);

	/*
	 * Read team->sort: slices until none is left, or the whole stream.  A
	 * participant may leave all slices to others.
	 */
	void		(*read) (Team *team);

	/*
	 * In the leader, before the launch: shared_size returns the size of the
	 * kind's shared memory in bytes, or 0; shared_init fills it in.
	 */
	Size		(*shared_size) (Team *team, int processes, int slices);
	void		(*shared_init) (Team *team, int processes, int slices);

	/*
	 * Optional: called when a phase begins.  In the leader all counts of the
	 * other participants are complete when it begins to read.
	 */
	void		(*enter_phase) (Team *team, TeamPhase phase);
} TeamKind;

/*
 * TeamSlot: counts and statistics of one participant, which writes them without
 * a lock.  The first three are complete before it announces its runs, so the
 * leader may read them after it performed its own sort.  All other fields are
 * complete when the process ends, so the leader may read them after team_wait,
 * and stats.wal_bytes after team_finish.
 */
typedef struct TeamSlot
{
	double		rows;			/* live or visible rows of the table */
	int64		put;			/* tuples put */
	bool		broken_hot_chain;	/* an index build met a broken HOT chain */

	BlockNumber blocks;			/* blocks read; see heapscan_build */
	int64		read;			/* tuples read by team->kind->read */
	int64		pages;			/* pages written, set by team->kind->read */
	PtParallelStats stats;
	Oid			contradicted;	/* sort_contradicted of one of its sorts */
	WalUsage	wal;			/* of a worker */
	BufferUsage buffers;		/* of a worker */
} TeamSlot;

/*
 * Team: one process's view of the team.  The leader provides it zeroed and sets
 * the fields of the first part.  A worker's is zeroed except for 'kind'; it
 * finds the fields up to 'expected' in the segment, and kind->open may set
 * the next ones.
 */
struct Team
{
	const TeamKind *kind;
	const char *library;		/* library of the user's callbacks, or NULL */
	const char *function;
	const void *arg;			/* the user's argument */
	Size		arg_size;
	const void *info;			/* private to the kind, of the same size in
								 * every process */
	Size		info_size;
	int64		budget;			/* bytes, for all participants together */
	int64		expected;		/* estimated number of tuples that all
								 * participants put; 0: unknown */

	bool		slices;			/* true: each participant reads slices; false:
								 * the leader reads one stream */
	int			sorts;			/* number of sorts into which a participant
								 * puts tuples at the same time, so that they
								 * share the budget; 0 means one */
	PtSortShared *stored;		/* runs that an earlier team wrote, or NULL;
								 * the caller attaches the segment */

	/* Leader */
	const char *worker_main;	/* for CreateParallelContext() */
	bool		is_leader;
	int			stored_participants;	/* number that wrote the stored runs */
	Relation	table;			/* table to scan in parallel, or NULL */
	Snapshot	snapshot;		/* for the scan of the table */

	/* All other fields are private to team.c or read-only for callers. */
	int			participants;	/* number that put tuples; in a worker the
								 * planned number */
	int			participant;	/* number of this process, 0 is the leader */
	int			processes;		/* the leader and the planned workers */
	void	   *shared;			/* the kind's shared memory, or NULL */
	shm_toc    *toc;			/* or NULL */
	ParallelTableScanDesc scan; /* NULL: this process scans it all */
	PtSortShared *sort_shared;	/* NULL: serial */
	PtSort	   *sort;
	double		others_ms;		/* time that other sorts took in kind->fill */
	TeamSlot   *slots;			/* of all participants; [0] is the leader's */
	TeamSlot   *slot;			/* this process's */

	/* Leader */
	bool		leader_rests;	/* leader puts nothing if there are workers */
	ParallelContext *pcxt;		/* NULL: no workers, or they ended */
	dsm_segment *segment;		/* outlives pcxt */
	int			planned;		/* workers planned */
	int			launched;		/* workers launched */
	uint64		wal_before;		/* bytes of WAL at the start */
};

/*
 * Leader: team_sort launches up to this many workers, puts and sorts the
 * leader's tuples, begins the sort that reads the runs, and waits for them.  If
 * no worker starts, or there is no room for the segment, the team has no
 * workers.
 */
extern void team_sort(Team *team, int workers);

/*
 * team_read lets the kind read slices until none is left, or the whole stream.
 * Then it adds the sort's statistics to the participant's slot and ends the
 * sort.  team_end_reading does only these last two things, for a stream that
 * was read elsewhere.
 */
extern void team_read(Team *team);
extern void team_end_reading(Team *team);

/* Leader: waits for the end of all workers. */
extern void team_wait(Team *team);

/*
 * Leader, after team_wait: team_contradicted returns the collation for which a
 * sort of a participant failed, or InvalidOid.  team_check_read raises an
 * error, which names the given callback, unless the participants read all
 * tuples that they put.  team_finish adds the WAL and buffer usage of the
 * workers to the leader's.
 */
extern Oid	team_contradicted(const Team *team);
extern void team_check_read(const Team *team, const char *name);
extern void team_finish(Team *team);

/*
 * Leader, after team_finish: team_end_parallel destroys the context and leaves
 * parallel mode, if team.c made the context.  team_leave does that, too, and
 * releases the segment with all that is in it.
 */
extern void team_end_parallel(Team *team);
extern void team_leave(Team *team);

/*
 * Worker: team_serve is a worker's main function, given a Team that is zeroed
 * except for 'kind'.  It works in a memory context of its own.
 */
extern void team_serve(Team *team, dsm_segment *segment, shm_toc *toc);

/*
 * team_options returns the options of a sort of this role whose participants
 * share this block.
 */
extern PtSortOptions team_options(const Team *team, PtSortRole role,
								  PtSortShared *sort_shared);

#endif							/* PTSORT_TEAM_H */
