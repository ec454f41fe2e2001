/*-------------------------------------------------------------------------
 *
 * team.h
 *	  The processes that sort together, and what they share.
 *
 * A team does every parallel sort: an index build (btbuild.c, gistbuild.c), a
 * copy of a table (tablecopy.c), or what another extension asks for
 * (parallel.c).  Each of these uses is a kind of team.  A team has a leader and
 * possibly workers.  All these participants go through the same phases:
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
 * A participant's second sort reads the runs of all first sorts.  If an earlier
 * team wrote the runs (Team.stored), a team puts no tuples and begins with the
 * second sort.  If the participants do not read slices, only the leader has a
 * second sort.  A team without workers has no segment: the leader's memory
 * contains the state that processes would share.  The only sort of this team
 * has the role PTSORT_SERIAL, unless the leader reads stored runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEAM_H
#define PTSORT_TEAM_H

#include "compat.h"

#include "access/tableam.h"
#include "throttle/throttle.h"
#include "order/sortextras.h"
#include "ptsort_parallel.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"
#include "team/marks.h"

typedef struct Team Team;

/* TeamPhase: what a participant is about to do. */
typedef enum TeamPhase
{
	TEAM_FILLS = WORK_SCAN,		/* put its tuples into a sort */
	TEAM_SORTS = WORK_SORT,		/* sort them, or wait for all runs */
	TEAM_READS = WORK_WRITE		/* read slices or, in the leader, the stream */
} TeamPhase;

/* TeamKind: what a team does in each of its processes. */
typedef struct TeamKind
{
	const char *worker_main;	/* argument of CreateParallelContext() */

	/* In a worker: open the relations and set team->slices; close them. */
	void		(*open) (Team *team);
	void		(*close) (Team *team);

	/*
	 * Optional, in the leader: prepare for this number of processes before
	 * the launch, and again for 1 process if no worker starts.  May still
	 * change 'info' and 'sorts'.
	 */
	void		(*prepare) (Team *team, int processes);

	/* Begin a sort; team.c checks that the sort has these options. */
	PtSort	   *(*begin) (Team *team, const PtSortOptions *options);

	/*
	 * Put this process's tuples into team->sort.  If team->scan is NULL, this
	 * process scans the whole table.
	 */
	void		(*fill) (Team *team);

	/* Optional: perform and end other sorts into which fill puts tuples. */
	void		(*perform_others) (Team *team);

	/*
	 * Read team->sort: slices until none is left, or the whole stream.  A
	 * participant may leave all slices to other participants.
	 */
	void		(*read) (Team *team);

	/* In the leader, before the launch: the kind's shared memory, if any */
	Size		(*shared_size) (Team *team, int processes, int slices);
	void		(*shared_init) (Team *team, int processes, int slices);

	/* Optional.  When the leader begins to read, all counts are complete. */
	void		(*enter_phase) (Team *team, TeamPhase phase);
} TeamKind;

/*
 * TeamSlot: counts and statistics of one participant, which writes them without
 * a lock.  The first three fields are complete before the participant announces
 * its runs, so the leader may read them after team_sort, all others after
 * team_wait, and stats.wal_bytes after team_finish.
 */
typedef struct TeamSlot
{
	double		rows;			/* live or visible rows of the table */
	int64		put;			/* tuples put */
	bool		broken_hot_chain;	/* index build found a broken HOT chain */

	BlockNumber blocks;			/* blocks read; see heapscan_build */
	int64		read;			/* tuples read by team->kind->read */
	int64		pages;			/* pages written, set by team->kind->read */
	double		paused_ms;		/* pauses for the limits of throttle.h */
	PtParallelStats stats;
	Oid			contradicted;	/* collation for which a sort failed, if any */
	WalUsage	wal;			/* WAL usage of a worker */
	BufferUsage buffers;		/* buffer usage of a worker */
} TeamSlot;

/*
 * Team: one process's view of the team.  In the leader the caller zeroes the
 * Team and sets the fields that precede 'participants'.  In a worker team_serve
 * copies the fields up to 'expected' from the segment, and kind->open may set
 * 'slices', 'sorts' and 'stored'.
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
	const WorkAbout *about;		/* the limits of throttle.h apply to this
								 * work; NULL: there are no limits */
	int			sorts;			/* number of sorts into which a participant
								 * puts tuples at the same time; these sorts
								 * share the budget; 0 means one */
	PtSortShared *stored;		/* runs that an earlier team wrote, or NULL;
								 * the caller attaches the runs' segment */

	/* Leader */
	bool		is_leader;
	int			stored_participants;	/* number of writers of 'stored' */
	Relation	table;			/* table to scan in parallel, or NULL */
	Snapshot	snapshot;		/* for the scan of the table */
	Marks	   *marks;			/* the scan marks the table's pages here; the
								 * processes share a copy; or NULL */

	/* All other fields are private to team.c or read-only for callers. */
	int			participants;	/* number of processes that put tuples; in a
								 * worker, the planned number */
	int			participant;	/* number of this process; 0: the leader */
	int			processes;		/* the leader and the planned workers */
	void	   *shared;			/* the kind's shared memory, or NULL */
	shm_toc    *toc;			/* NULL if there is no segment */
	ParallelTableScanDesc scan; /* NULL: scan the whole table */
	PtSortShared *sort_shared;	/* NULL if the team has only a serial sort */
	PtSort	   *sort;
	double		others_ms;		/* set by fill: time of sorts other than
								 * 'sort' */
	TeamSlot   *slots;			/* slots of all participants; 0: the leader */
	TeamSlot   *slot;			/* slot of this process */
	dsm_segment *throttle;		/* the team's ThrottleShared, or NULL */

	/* Leader */
	bool		leader_rests;	/* leader puts nothing if there are workers */
	ParallelContext *pcxt;		/* NULL: no workers, or they ended */
	dsm_segment *segment;		/* the segment, which outlives pcxt */
	int			planned;		/* workers planned */
	int			launched;		/* workers launched */
	uint64		wal_before;		/* bytes of WAL at the start */
};

/*
 * Leader: team_sort launches up to 'workers' workers, puts and sorts the
 * leader's tuples, begins the sort that reads the runs, and waits for the runs.
 * If no worker starts, or the server has no room for the segment, the leader
 * works alone.
 */
extern void team_sort(Team *team, int workers);

/*
 * team_read calls kind->read, adds the sort's statistics to the participant's
 * slot and ends the sort.  team_end_reading does so after the caller read the
 * stream.
 */
extern void team_read(Team *team);
extern void team_end_reading(Team *team);

/*
 * Leader: team_wait waits for the end of all workers.  Afterwards,
 * team_contradicted returns the collation for which a participant's sort
 * failed, or InvalidOid.  team_check_read raises an error, with 'name' in its
 * message, unless the participants read all tuples that they put.  team_finish
 * adds the WAL and buffer usage of the workers to the leader's.
 */
extern void team_wait(Team *team);
extern Oid	team_contradicted(const Team *team);
extern void team_check_read(const Team *team, const char *name);
extern void team_finish(Team *team);

/*
 * Leader, after team_finish: team_end_parallel destroys the parallel context,
 * if there is one, and leaves parallel mode.  team_leave calls
 * team_end_parallel, and then releases the segment with everything in it.
 */
extern void team_end_parallel(Team *team);
extern void team_leave(Team *team);

/*
 * TEAM_WORKER_MAIN defines TeamKind.worker_main.  A State begins with a Team.
 * team_serve does the work of a worker, in its own memory context.
 */
#define TEAM_WORKER_MAIN(name, State, its_kind) \
	extern PGDLLEXPORT void name(dsm_segment *segment, shm_toc *toc); \
	void name(dsm_segment *segment, shm_toc *toc) \
	{ \
		State		self = {0}; \
		((Team *) &self)->kind = &its_kind; \
		team_serve((Team *) &self, segment, toc); \
	} \
	extern void name(dsm_segment *segment, shm_toc *toc)

extern void team_serve(Team *team, dsm_segment *segment, shm_toc *toc);

/*
 * team_options returns the options of a sort whose role is 'role' and whose
 * participants share 'sort_shared'.
 */
extern PtSortOptions team_options(const Team *team, PtSortRole role,
								  PtSortShared *sort_shared);

/*
 * In the leader of a parallel scan, team_shares returns the number of processes
 * that scan the table.  Otherwise it returns 0.  See heapread_begin.
 */
static inline int
team_shares(const Team *team)
{
	return team->is_leader && team->scan != NULL && team->participants > 1 ?
		team->participants : 0;
}

#endif							/* PTSORT_TEAM_H */
