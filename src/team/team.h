/*-------------------------------------------------------------------------
 *
 * team.h
 *	  The processes that sort together, and what they share.
 *
 * Everything that sorts in parallel is a kind of team: index builds (build.c),
 * the sorts of other extensions (parallel.c) and copies of tables.  A team has
 * a leader and possibly workers; each of them is a participant and goes through
 * the same phases:
 *
 *		leader						worker
 *		team_start					team_join
 *		team_work					team_work			begin, fill, sort
 *		team_collect				team_collect		begin, wait for the runs
 *		team_read					team_read			slices
 *		team_wait, team_finish
 *		team_leave
 *
 * If an earlier team wrote the runs (Team.stored), this one puts no tuples and
 * begins with team_collect.
 *
 * If the participants do not read slices, only the leader goes on to
 * team_collect.  A team without workers has no segment: the state that
 * processes would share is in the leader's memory.  Unless it reads stored
 * runs, its only sort has the role PTSORT_SERIAL, for which team_collect does
 * nothing.
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
#include "storage/sharedfileset.h"
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
	/* Name of the user's callback that reads slices, for messages. */
	const char *slices_name;

	/*
	 * Optional, in the leader: called before the launch with the number of
	 * processes, the leader included.  It may still change 'info' and
	 * 'sorts'.
	 */
	void		(*prepare) (Team *team, int processes);

	/* Begin a sort; team.c checks that it has the options. */
	PtSort	   *(*begin) (Team *team, const SortOptions *options);

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

	/* Read team->sort: slices until none is left, or the whole stream. */
	void		(*read) (Team *team);

	/*
	 * In the leader: shared_size returns the size of the user's shared memory
	 * in bytes, or 0; shared_init fills it in, after the launch if init_late
	 * is set, else before it.
	 */
	Size		(*shared_size) (Team *team, int processes, int slices);
	void		(*shared_init) (Team *team, int processes, int slices);
	bool		init_late;

	/* Optional: called when a phase begins, to report progress. */
	void		(*enter_phase) (Team *team, TeamPhase phase);
} TeamKind;

/*
 * TeamSlot: counts and statistics of one participant, which writes them without
 * a lock.  The counts are complete before it announces its runs, so the leader
 * may read them after it has performed its own sort.  All other fields are
 * complete when the process ends, so the leader may read them after team_wait,
 * and stats.wal_bytes after team_finish.
 */
typedef struct TeamSlot
{
	double		rows;			/* live or visible rows of the table */
	BlockNumber blocks;			/* blocks read; see heapscan_build */
	int64		put;			/* tuples put */
	bool		broken_hot_chain;	/* an index build met a broken HOT chain */

	int64		read;			/* tuples read by team->kind->read */
	PtParallelStats stats;
	SortOutcome outcome;		/* of all its sorts together */
} TeamSlot;

/*
 * Team: one process's view of the team.  The caller provides it zeroed and sets
 * the fields of the first part before team_start or team_join.
 */
struct Team
{
	const TeamKind *kind;
	bool		slices;			/* true: each participant reads slices; false:
								 * the leader reads one stream */

	/* Leader: the workers' main function, for CreateParallelContext() */
	const char *worker_main;

	/* The leader sets these, too; team_join finds them in the segment */
	const char *library;		/* of the user's callbacks, or NULL */
	const char *function;
	const void *arg;			/* the user's argument */
	Size		arg_size;
	const void *info;			/* private to the kind, of the same size in
								 * every process */
	Size		info_size;
	int64		budget;			/* bytes, for all participants together */
	int64		expected;		/* estimated number of tuples that all
								 * participants put; 0: unknown */
	bool		restartable;	/* SortOptions.restartable of all sorts */

	/*
	 * Set these in every process, in a worker after team_join.  'sorts' is
	 * the number of sorts into which each participant puts tuples at the same
	 * time, so that they share the budget; 0 means one.  'stored' is the
	 * block of the runs that an earlier team wrote, or NULL; the caller
	 * attaches it.
	 */
	int			sorts;
	PtSortShared *stored;

	/* The leader sets these, too */
	bool		is_leader;
	int			stored_participants;	/* number that wrote the stored runs */
	Relation	table;			/* table to scan in parallel, or NULL */
	Snapshot	snapshot;		/* for the scan of the table */
	bool		scan_is_all;	/* all tuples come from the scan of the table,
								 * which reads it to the end */

	/* All other fields are private to team.c or read-only for callers. */
	int			participants;	/* that put tuples; in a worker the number
								 * planned */
	int			participant;	/* number of this process, 0 is the leader */
	int			processes;		/* the leader and the planned workers */
	void	   *shared;			/* the user's shared memory, or NULL */
	shm_toc    *toc;			/* or NULL */
	ParallelTableScanDesc scan; /* NULL: this process scans it all */
	PtSortShared *sort_shared;	/* NULL: serial */
	PtSort	   *sort;
	double		others_ms;		/* time that other sorts took in kind->fill */
	bool		leaves_slices;	/* set by kind->read: other participants read
								 * all slices */
	TeamSlot   *slot;

	/* Leader */
	bool		leader_rests;	/* leader puts nothing if there are workers */
	ParallelContext *pcxt;		/* NULL: no workers, or they have ended */
	dsm_segment *segment;		/* outlives pcxt */
	int			planned;		/* workers planned */
	int			launched;		/* workers launched */
	uint64		wal_before;		/* bytes of WAL at the start */
	TeamSlot   *slots;			/* of all participants; [0] is the leader's */
	WalUsage   *wal;			/* of all participants; [0] is not used */
	BufferUsage *buffers;		/* of all participants; [0] is not used */
};

/*
 * team_callbacks loads the exported function of a library and returns its
 * result, a table of callbacks.  It raises an error if there is none; 'what'
 * names the operation in the message.
 */
extern const void *team_callbacks(const char *what, const char *library,
								  const char *function);

/* Append a name to a list of names. */
extern void team_append_name(StringInfo names, const char *name);

/*
 * team_forbidden returns true if another extension forbids parallel work on
 * this table by its get_relation_info_hook.
 */
extern bool team_forbidden(Relation table);

/*
 * Leader: team_start launches up to this many workers.  If none starts, or
 * there is no room for the segment, the team has no workers.
 */
extern void team_start(Team *team, int workers);

/*
 * Worker: team_join fills in the team from the segment.  The caller then sets
 * team->slices and calls team_serve, which works and reads slices.
 */
extern void team_join(Team *team, dsm_segment *segment, shm_toc *toc);
extern void team_serve(Team *team);

/*
 * team_work puts and sorts this process's tuples.  With workers, it then
 * announces the runs, and with them that the counts in the slot are complete.
 */
extern void team_work(Team *team);

/*
 * team_put_share returns the share of the budget, in bytes, of each sort into
 * which a participant puts tuples.
 */
extern int64 team_put_share(const Team *team);

/*
 * team_put_expected returns the number of tuples that one participant is
 * expected to put; 0: unknown.
 */
extern int64 team_put_expected(const Team *team);

/*
 * team_collect begins the sort that reads the runs, and waits for them.
 */
extern void team_collect(Team *team);

/*
 * team_read calls the user to read slices until none is left, or the whole
 * stream.  Then it adds the sort's statistics and outcome to the participant's
 * slot and ends the sort.  team_end_reading does only the latter, for a stream
 * that was read elsewhere.
 */
extern void team_read(Team *team);
extern void team_end_reading(Team *team);

/* Leader: waits until all workers have ended. */
extern void team_wait(Team *team);

/*
 * Leader: returns the combined outcome of all sorts of all participants.  To be
 * called after team_wait.
 */
extern SortOutcome team_outcome(const Team *team);

/*
 * Leader: raises an error, which names the given callback, unless the
 * participants read all tuples that they put.  To be called after team_wait.
 */
extern void team_check_read(const Team *team, const char *name);

/*
 * Leader: adds the WAL and buffer usage of the workers to the leader's.  To be
 * called after team_wait.
 */
extern void team_finish(Team *team);

/*
 * Leader: destroys the context and leaves parallel mode, if team.c made the
 * context.  The segment and its contents stay until team_leave.  To be called
 * after team_finish.
 */
extern void team_end_parallel(Team *team);

/* Leader: releases the context and the segment. */
extern void team_leave(Team *team);

/* Returns the file set of a team that has workers, else NULL. */
extern SharedFileSet *team_fileset(const Team *team);

#endif							/* PTSORT_TEAM_H */
