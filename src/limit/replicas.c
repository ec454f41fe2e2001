/*-------------------------------------------------------------------------
 *
 * replicas.c
 *	  How far streaming replicas are behind; see replicas.h.
 *
 * A replica's place is the end of what it replayed.  A program that only
 * receives WAL, such as pg_receivewal, replays nothing.  Its place is the end
 * of what it flushed or, if it flushes nothing, of what it wrote.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xlog.h"
#include "limit/replicas.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

char	   *ptsort_lag_replicas = NULL;

/*
 * Returns true if the server streams to a replica that reported its place, and
 * sets *place, the process that streams, and whether the replica is physical.
 */
static bool
find_place(WalSnd *sender, XLogRecPtr *place, int *pid, bool *physical)
{
	bool		streams;

	SpinLockAcquire(&sender->mutex);
	*pid = sender->pid;
	*physical = pt_sends_to_replica(sender);
	streams = sender->pid != 0 &&
		(sender->state == WALSNDSTATE_CATCHUP ||
		 sender->state == WALSNDSTATE_STREAMING);
	*place = sender->apply;
	if (XLogRecPtrIsInvalid(*place))
		*place = sender->flush;
	if (XLogRecPtrIsInvalid(*place))
		*place = sender->write;
	SpinLockRelease(&sender->mutex);
	/* a replica that just connected reports its place a moment later */
	return streams && !XLogRecPtrIsInvalid(*place);
}

/* Returns the name of the application that a process serves, or "". */
static const char *
name_of(int pid)
{
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const LocalPgBackendStatus *local = pt_local_backend_status(i);

		if (local != NULL && local->backendStatus.st_procpid == pid)
			return local->backendStatus.st_appname;
	}
	return "";
}

/* True if a replica has one of the names; removes the name from *missing. */
static bool
is_named(List *names, List **missing, int pid)
{
	const char *name = name_of(pid);
	bool		result = false;
	ListCell   *cell;

	foreach(cell, names)
	{
		if (pg_strcasecmp(lfirst(cell), name) != 0)
			continue;
		*missing = list_delete_ptr(*missing, lfirst(cell));
		result = true;
	}
	return result;
}

bool
replicas_are_within(uint64 most, char *lag)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();
	char	   *copy = pstrdup(ptsort_lag_replicas);
	uint64		longest = most;
	List	   *names = NIL;
	List	   *missing;
	bool		result;

	/* the check hook accepted the list */
	(void) SplitIdentifierString(copy, ',', &names);
	missing = list_copy(names);
	pgstat_clear_backend_activity_snapshot();
	for (int i = 0; i < max_wal_senders; i++)
	{
		XLogRecPtr	place;
		int			pid;
		bool		physical;

		if (!find_place(&WalSndCtl->walsnds[i], &place, &pid, &physical) ||
			(names == NIL ? !physical : !is_named(names, &missing, pid)) ||
			place >= end || end - place <= longest)
			continue;
		longest = end - place;
		snprintf(lag, REPLICA_LAG_SIZE,
				 "replica \"%s\" is " UINT64_FORMAT " kB behind",
				 name_of(pid), longest / 1024);
	}
	if (missing != NIL)
		snprintf(lag, REPLICA_LAG_SIZE, "replica \"%s\" is not connected",
				 (char *) linitial(missing));
	result = longest == most && missing == NIL;
	list_free(missing);
	list_free(names);
	pfree(copy);
	return result;
}
