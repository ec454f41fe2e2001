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
 * Returns true if the server streams to a replica, and sets *place to the
 * replica's place and *pid to the process that streams.
 */
static bool
find_place(WalSnd *sender, XLogRecPtr *place, int *pid)
{
	bool		streams;

	SpinLockAcquire(&sender->mutex);
	*pid = sender->pid;
	streams = sender->pid != 0 && pt_sends_to_replica(sender) &&
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

/* Returns the name of the application that a process serves, or NULL. */
static const char *
name_of(int pid)
{
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const LocalPgBackendStatus *local = pt_local_backend_status(i);

		if (local != NULL && local->backendStatus.st_procpid == pid)
			return local->backendStatus.st_appname;
	}
	return NULL;
}

/* Count a replica for each of the names that it has. */
static void
count_named(List *names, bool *found, int pid)
{
	const char *name = name_of(pid);
	ListCell   *cell;

	foreach(cell, names)
	{
		if (name != NULL && pg_strcasecmp(lfirst(cell), name) == 0)
			found[foreach_current_index(cell)] = true;
	}
}

bool
replicas_are_within(uint64 most)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();
	char	   *copy = pstrdup(ptsort_lag_replicas);
	List	   *names = NIL;
	bool	   *found;
	bool		result = true;

	/* the check hook accepted the list */
	(void) SplitIdentifierString(copy, ',', &names);
	found = palloc0(list_length(names) + 1);
	if (names != NIL)
		pgstat_clear_backend_activity_snapshot();
	for (int i = 0; i < max_wal_senders; i++)
	{
		XLogRecPtr	place;
		int			pid;

		if (!find_place(&WalSndCtl->walsnds[i], &place, &pid))
			continue;
		if (place + most >= end)
			count_named(names, found, pid);
		else if (names == NIL)
			result = false;
	}
	for (int i = 0; i < list_length(names); i++)
		result = result && found[i];
	list_free(names);
	pfree(found);
	pfree(copy);
	return result;
}
