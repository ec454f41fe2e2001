/*-------------------------------------------------------------------------
 *
 * team.h
 *	  The processes that sort together, and what they share.
 *
 * This is the frame of everything that sorts in parallel: index builds
 * (build.c) and the sorts of other extensions (parallel.c) are kinds of team.
 * A team has a leader and perhaps workers; each of them is a participant and
 * goes through the same phases:
 *
 *		leader						worker
 *		team_start					team_join
 *		team_work					team_work			begin, fill, sort
 *		team_collect				team_collect		begin, wait for the runs
 *		team_read					team_read			slices
 *		team_wait, team_finish
 *		team_leave
 *
 * A team whose runs have been left by an earlier one (stored) puts nothing, and
 * begins with team_collect.
 *
 * A team that does not read slices has only a leader from team_collect on.  One
 * without workers has no segment, and what processes would share is in the
 * leader's memory; its one sort, of role PTSORT_SERIAL, needs no collecting.
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
	TEAM_FILLS,					/* put its share */
	TEAM_SORTS,					/* sort it, or wait for the runs of others */
	TEAM_READS					/* read slices, or as the leader the stream */
} TeamPhase;

/*
 * TeamKind: what a team does in each of its processes.
 */
typedef struct TeamKind
{
	/* What the user calls its callback that reads slices, for messages. */
	const char *slices_name;

	/*
	 * Optional, in the leader: so many processes will be launched.  It is the
	 * last moment to change 'info' and 'sorts'.
	 */
	void		(*prepare) (Team *team, int processes);

	/* Begin a sort; what comes back is checked. */
	PtSort	   *(*begin) (Team *team, const SortOptions *options);

	/*
	 * Put this process's share into team->sort; without team->scan, the share
	 * of a table is all of it.
	 */
	void		(*fill) (Team *team);

	/*
	 * Optional: perform and end other sorts that fill has put into, before
	 * team->sort is performed.
	 */
	void		(*perform_others) (Team *team);

	/* Read team->sort: slices until there are no more, or all. */
	void		(*read) (Team *team);

	/*
	 * Leader: bytes of the user's shared memory, perhaps 0; and fill it in,
	 * before the launch or, if late, after it.
	 */
	Size		(*shared_size) (Team *team, int processes, int slices);
	void		(*shared_init) (Team *team, int processes, int slices);
	bool		init_late;

	/* Optional: tell somebody. */
	void		(*enter_phase) (Team *team, TeamPhase phase);
} TeamKind;

/*
 * TeamSlot: what one participant found and did.  Written by it alone, without
 * a lock.  The counts are complete before it announces its run, so the leader
 * may read them once its own sort has been performed; the rest is complete
 * when the process ends, so the leader may read it after team_finish.
 */
typedef struct TeamSlot
{
	double		rows;			/* of the table: live or visible ones */
	BlockNumber blocks;			/* of the table; see heapscan_build */
	int64		put;			/* tuples */
	bool		broken_hot_chain;	/* of an index build */

	int64		read;			/* tuples, by team->kind->read */
	PtParallelStats stats;
	SortOutcome outcome;		/* of all its sorts together */
} TeamSlot;

/*
 * Team: one process's view of it.  The user of this file makes it zeroed and
 * sets what the first part says, before team_start or team_join.
 */
struct Team
{
	const TeamKind *kind;
	bool		slices;			/* all read slices, or the leader a stream */

	/* Leader: the workers' main function, for CreateParallelContext() */
	const char *worker_main;

	/* Leader: set these as well; worker: found in the segment by team_join */
	const char *library;		/* where the user's callbacks are, or NULL */
	const char *function;
	const void *arg;			/* the user's */
	Size		arg_size;
	const void *info;			/* the kind's own, of the same size in every
								 * process */
	Size		info_size;
	int64		budget;			/* bytes, of all participants */
	int64		expected;		/* about how many tuples all participants will
								 * put; 0: unknown */
	bool		restartable;	/* sorts are: SortOptions */

	/*
	 * Set these in every process, in a worker after team_join: how many sorts
	 * each participant puts into, which share the budget meanwhile, or 0: one
	 * only; and where the runs are that were left, or NULL.  That block is
	 * attached by the user of this file.
	 */
	int			sorts;
	PtSortShared *stored;

	/* Leader: set these as well */
	bool		is_leader;
	int			stored_participants;	/* that have left runs in it */
	Relation	table;			/* to be scanned in parallel, or NULL */
	Snapshot	snapshot;		/* for that */
	bool		leader_rests;	/* it puts nothing if there are workers */
	bool		scan_is_all;	/* nobody puts anything but what the scan of
								 * the table gives, to the end of it */
	ParallelContext *pcxt;		/* the user's own, or NULL: made by us */

	/* What follows is private to team.c, or to be read only. */
	int			participants;	/* that put; in a worker: at most */
	int			participant;	/* number of this process, 0 is the leader */
	int			processes;		/* the leader's and all that may start */
	void	   *shared;			/* the user's, or NULL */
	shm_toc    *toc;			/* or NULL */
	ParallelTableScanDesc scan; /* NULL: all of the table is ours */
	PtSortShared *sort_shared;	/* NULL: serial */
	PtSort	   *sort;
	double		others_ms;		/* that other sorts of kind->fill took in it */
	bool		leaves_slices;	/* set by kind->read: others read all slices */
	TeamSlot   *slot;

	/* Leader */
	bool		own_context;	/* pcxt is ours, and we are in parallel mode */
	dsm_segment *segment;		/* ... of it, that has outlived pcxt */
	int			planned;		/* workers */
	int			launched;
	uint64		wal_before;		/* bytes of WAL at the start */
	TeamSlot   *slots;			/* of all participants; [0] is the leader's */
	WalUsage   *wal;			/* of all participants but the leader */
	BufferUsage *buffers;		/* the same */
};

/*
 * team_callbacks returns what the exported function of that library returns,
 * or raises an error; 'what' is being done is for its message.
 */
extern const void *team_callbacks(const char *what, const char *library,
								  const char *function);

/* Append a name to a list of names. */
extern void team_append_name(StringInfo names, const char *name);

/*
 * team_forbidden: does another extension forbid parallel work on this table,
 * by a get_relation_info_hook?
 */
extern bool team_forbidden(Relation table);

/*
 * Leader.  team_start launches up to this many workers.  If none starts, or
 * there is no room for the segment, it is as if none had been asked for.
 */
extern void team_start(Team *team, int workers);

/*
 * Worker.  team_join finds everything in the segment; then team->slices is to
 * be set.  team_serve does the rest: it works and reads slices.
 */
extern void team_join(Team *team, dsm_segment *segment, shm_toc *toc);
extern void team_serve(Team *team);

/*
 * team_work puts and sorts this process's share.  A worker's run is then
 * announced, and with it that its counts are complete.
 */
extern void team_work(Team *team);

/* team_put_share returns what a sort that is put into may use of the budget. */
extern int64 team_put_share(const Team *team);

/* team_put_expected returns how many tuples are expected to be put into it. */
extern int64 team_put_expected(const Team *team);

/*
 * team_collect begins the sort that reads the runs, and waits for them.
 */
extern void team_collect(Team *team);

/*
 * team_read lets the user read, as many slices as it gets or all, adds what the
 * sort did and how it ended to what is known of the participant's own, and
 * ends it.  team_end_reading is its last part, for a stream that was read
 * elsewhere.
 */
extern void team_read(Team *team);
extern void team_end_reading(Team *team);

/* Leader: waits until all workers have ended. */
extern void team_wait(Team *team);

/* Leader: how have all sorts of all participants ended?  After team_wait. */
extern SortOutcome team_outcome(const Team *team);

/*
 * Leader: raises an error, which blames the callback of that name, unless all
 * tuples that were put have been read.  After team_wait.
 */
extern void team_check_read(const Team *team, const char *name);

/* Leader: takes the usage of all participants.  After team_wait. */
extern void team_finish(Team *team);

/*
 * Leader: destroys the context, if it is ours, and leaves parallel mode.  The
 * segment stays, and all that is in it, until team_leave.  After team_finish.
 */
extern void team_end_parallel(Team *team);

/* Leader: lets go of all that is shared. */
extern void team_leave(Team *team);

/* The file set of a team that has workers, else NULL. */
extern SharedFileSet *team_fileset(const Team *team);

#endif							/* PTSORT_TEAM_H */
