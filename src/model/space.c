/*-------------------------------------------------------------------------
 *
 * space.c
 *	  Free disk space; see space.h.
 *
 * A look is a call of statvfs(), which takes a microsecond or two.  After a
 * look, a process may write STEP bytes before the next one, but not more than
 * 1/SHARE of what is free beyond the reserve: other participants look at the
 * same file system, and take their shares of the same free space.  Several may
 * find the last bytes free at the same time, so the reserve has a margin.
 *
 * Only WAL files that do not exist need free space.  The server stops if one
 * does not fit, so in the file system of pg_wal other files leave space for the
 * next one.  If WAL files do not fit, ptsort waits for a checkpoint, which
 * renames or removes old files; a slower build might have met one in time.  It
 * does so wal_tries times, a second apart, because files may wait for the
 * archiver.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "debug.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "model/space.h"
#include "model/work.h"
#include "postmaster/bgwriter.h"
#include "storage/fd.h"

#define STEP			((int64) 16 * 1024 * 1024)
#define SHARE			64
#define MARGIN			8		/* 1/MARGIN of the reserve */
#define WAL_OF_OTHERS	(STEP / SHARE)	/* until this process wrote its own */

static const int wal_tries = 3;

int			ptsort_disk_reserve = -1;

static const char *const use_names[NUM_SPACE_USES] = {
	[SPACE_INDEX] = "index",
	[SPACE_TEMP] = "temporary files",
	[SPACE_WAL] = "WAL"
};

/* SpaceLook: what a look at a file system found, in bytes. */
typedef struct SpaceLook
{
	const char *path;
	int64		available;		/* -1: unknown */
	int64		bytes;			/* to write */
	int64		reserve;		/* with its margin */
	int64		wal;			/* of WAL files that do not exist */
} SpaceLook;

char *
space_tablespace(Oid tablespace)
{
	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	if (tablespace == DEFAULTTABLESPACE_OID)
		return pstrdup("base");
	if (tablespace == GLOBALTABLESPACE_OID)
		return pstrdup("global");
	return psprintf("pg_tblspc/%u", tablespace);
}

/*
 * The server chooses one of temp_tablespaces for each file, so the fullest of
 * them decides.
 */
char *
space_temporary(void)
{
	Oid			tablespaces[64];
	int			n;
	char	   *result = NULL;
	int64		least = PG_INT64_MAX;

	PrepareTempTablespaces();
	n = GetTempTablespaces(tablespaces, lengthof(tablespaces));
	for (int i = 0; i < n; i++)
	{
		char	   *directory = space_tablespace(tablespaces[i]);
		int64		bytes = space_free(directory);

		if (result == NULL || bytes < least)
		{
			result = directory;
			least = bytes;
		}
	}
	return result != NULL ? result : space_tablespace(InvalidOid);
}

int64
space_free(const char *path)
{
	struct statvfs fs;

	if (ptsort_debug.free_kilobytes > 0)
		return (int64) ptsort_debug.free_kilobytes * 1024;
	/* some file systems report no size */
	if (statvfs(path, &fs) != 0 || fs.f_blocks == 0)
		return -1;
	return (int64) fs.f_bavail * (int64) fs.f_frsize;
}

/*
 * Returns the size of those WAL files that records of 'bytes' bytes reach, but
 * that do not exist.  Existing files follow one another.  Returns 0 for a path
 * in another file system than pg_wal.
 */
static int64
missing_wal(const char *path, double bytes)
{
	static struct stat wal;
	struct stat status;
	char		file[MAXPGPATH];
	XLogSegNo	segment;
	XLogSegNo	last;

	if ((wal.st_dev == 0 && stat(XLOGDIR, &wal) != 0) ||
		stat(path, &status) != 0 || status.st_dev != wal.st_dev ||
		RecoveryInProgress())
		return 0;
	XLByteToSeg(GetXLogWriteRecPtr(), segment, wal_segment_size);
	XLByteToSeg(GetXLogInsertRecPtr() + WAL_OF_OTHERS + (uint64) bytes, last,
				wal_segment_size);
	for (; segment <= last; segment++)
	{
		XLogFilePath(file, GetWALInsertionTimeLine(), segment,
					 wal_segment_size);
		if (stat(file, &status) != 0)
			break;
	}
	return (int64) (last + 1 - segment) * wal_segment_size;
}

/*
 * Returns the bytes that are free beyond what is needed; negative if some are
 * lacking; large if nothing is needed or the system cannot tell.
 */
static int64
look(SpaceLook *found, const char *path, int64 bytes, double wal)
{
	found->path = path;
	found->available = space_free(path);
	found->bytes = bytes;
	found->reserve = (int64) Max(ptsort_disk_reserve, 0) * 1024;
	found->reserve += found->reserve / MARGIN;
	found->wal = missing_wal(path, wal);
	if (found->available < 0 || bytes + found->wal == 0)
		return PG_INT64_MAX;
	return found->available - bytes - found->reserve - found->wal;
}

int64
space_lacking(const SpaceNeed *need)
{
	SpaceLook	found;

	return Max(-look(&found, need->path, (int64)
					 (need->bytes[SPACE_INDEX] + need->bytes[SPACE_TEMP]),
					 need->bytes[SPACE_WAL]), 0);
}

List *
space_add(List *needs, SpaceUse use, const char *path, double bytes)
{
	struct stat status;
	dev_t		device = stat(path, &status) == 0 ? status.st_dev : 0;
	SpaceNeed  *need;
	ListCell   *lc;

	foreach(lc, needs)
	{
		need = lfirst(lc);
		if (need->device == device)
			break;
	}
	if (lc == NULL)
	{
		need = palloc0(sizeof(SpaceNeed));
		need->device = device;
		need->path = path;
		needs = lappend(needs, need);
	}
	need->bytes[use] += bytes;
	return needs;
}

char *
space_verdict(List *needs)
{
	StringInfoData verdict;
	ListCell   *lc;

	initStringInfo(&verdict);
	foreach(lc, needs)
	{
		const SpaceNeed *need = lfirst(lc);
		int64		lacking = space_lacking(need);
		const char *separator = verdict.len == 0 ? "" : "; ";

		for (int use = 0; use < NUM_SPACE_USES && lacking > 0; use++)
		{
			if (need->bytes[use] == 0)
				continue;
			appendStringInfo(&verdict, "%s%s", separator, use_names[use]);
			separator = ", ";
		}
		if (lacking > 0)
			appendStringInfo(&verdict, ": " INT64_FORMAT " MB more",
							 lacking / (1024 * 1024) + 1);
	}
	return verdict.len == 0 ? pstrdup("fits") : verdict.data;
}


/*
 * The guard
 */

/* End the work, or warn.  'before' precedes what is free and what is needed. */
static void
report(int level, const SpaceLook *found, const char *what, char *before,
	   const char *hint)
{
	long long	bytes = (found->bytes + 1023) / 1024;
	long long	reserve = (found->reserve + 1023) / 1024;
	long long	wal = found->wal / 1024;

	ereport(level,
			(errcode(level < ERROR ? ERRCODE_WARNING : ERRCODE_DISK_FULL),
			 level < ERROR ?
			 errmsg("there may be too little free space for %s", what) :
			 errmsg("not enough free space for %s", what),
			 errdetail("%sIn the file system of \"%s\", %lld kB are free, but %lld kB are needed: %lld kB to write, %lld kB for ptsort.disk_reserve and its margin, %lld kB for new WAL files.",
					   before, found->path,
					   (long long) found->available / 1024,
					   bytes + reserve + wal, bytes, reserve, wal),
			 errhint("Free some space, or %s.", hint)));
}

static void
report_temporary(int level, const SpaceLook *found, char *before)
{
	report(level, found, "the temporary files of a sort", before,
		   "set temp_tablespaces to a tablespace in a larger file system");
}

/*
 * Warn once, as soon as the scan's runs show that the rest will not fit.
 * Nothing can be said if files are in several tablespaces.
 */
static void
warn_early(SpaceLook *found, int64 left)
{
	WorkRuns	runs;
	Oid			tablespaces[2];

	work_forecast_runs(&runs);
	if (runs.to_come <= left)
		return;
	PrepareTempTablespaces();	/* workers did not */
	if ((TempTablespacesAreSet() && GetTempTablespaces(tablespaces, 2) > 1) ||
		pg_atomic_fetch_add_u32(&ptsort_work.shared->warnings, 1) != 0)
		return;
	found->bytes = (int64) runs.to_come;
	report_temporary(WARNING, found,
					 psprintf("After %.0f %% of the table they have %.0f kB, so about %.0f kB will follow. ",
							  runs.scanned * 100, runs.written / 1024,
							  runs.to_come / 1024));
}

void
space_look(Size *guard, Relation rel, const char *path, Size size)
{
	char		file[MAXPGPATH];
	SpaceLook	found;
	int64		left;

	if (ptsort_disk_reserve == 0)
		return;
	if (rel != NULL)
		pt_relation_path(rel, file);
	left = look(&found, rel != NULL ? file : path, size, 0);
	if (left < 0 && rel == NULL)
		report_temporary(ERROR, &found, "");
	if (left < 0)
		report(ERROR, &found,
			   psprintf("relation \"%s\"", RelationGetRelationName(rel)), "",
			   "choose a tablespace in a larger file system");
	*guard = Min(left / SHARE, STEP);
	if (rel == NULL)
		warn_early(&found, left);
}

void
space_take_wal(Size size)
{
	MemoryContext old = CurrentMemoryContext;
	SpaceLook	found;

	if (ptsort_disk_reserve == 0)
		return;
	for (volatile int tries = 0; look(&found, XLOGDIR, 0, size) < 0; tries++)
	{
		if (tries == wal_tries)
			report(ERROR, &found, "WAL", "",
				   "lower max_wal_size, or find out what keeps old WAL files: an archive command that fails, or a replication slot");
		if (tries > 0)
		{
			pgstat_report_wait_start(pt_wait_event_pause());
			pg_usleep(USECS_PER_SEC);
			pgstat_report_wait_end();
		}
		CHECK_FOR_INTERRUPTS();
		PG_TRY();
		{
			RequestCheckpoint(CHECKPOINT_CAUSE_XLOG | CHECKPOINT_FAST |
							  CHECKPOINT_FORCE | CHECKPOINT_WAIT);
		}
		PG_CATCH();
		{
			/* it fails if it prepares a WAL file that does not fit */
			if (geterrcode() != ERRCODE_INTERNAL_ERROR)
				PG_RE_THROW();
			MemoryContextSwitchTo(old);
			FlushErrorState();
		}
		PG_END_TRY();
	}
}
