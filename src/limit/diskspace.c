/*-------------------------------------------------------------------------
 *
 * diskspace.c
 *	  Keeps free space in file systems; see diskspace.h.
 *
 * A look is a call of statvfs(), which takes a microsecond or two.  After a
 * look, a process may write STEP bytes before the next one, but not more than
 * 1/SHARE of what is free beyond the reserve: other participants look at the
 * same file system, and take their shares of the same free space.  Several may
 * find the last bytes free at the same time, so the reserve has a margin.
 *
 * WAL goes to files that the server prepared for it, as long as there are some:
 * checkpoints rename old files.  Only if these files might not suffice, the WAL
 * needs free space.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "commands/tablespace.h"
#include "limit/diskspace.h"
#include "limit/work.h"
#include "storage/fd.h"
#include "utils/rel.h"

#define STEP			((int64) 16 * 1024 * 1024)
#define SHARE			64
#define MARGIN			8		/* 1/MARGIN of the reserve */

int			ptsort_disk_reserve = 256 * 1024;

int64
diskspace_free(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) != 0)
		return -1;
	return (int64) fs.f_bavail * (int64) fs.f_frsize;
}

int64
diskspace_reserved(void)
{
	const int64 reserve = (int64) ptsort_disk_reserve * 1024;

	return reserve + reserve / MARGIN;
}

/*
 * Returns the bytes that are free beyond the reserve in a path's file system;
 * negative if less than the reserve is free.  Sets *available to all free
 * bytes.  If the system cannot tell, returns a large number.
 */
static int64
find_room(const char *path, int64 *available)
{
	*available = diskspace_free(path);
	return *available < 0 ? PG_INT64_MAX : *available - diskspace_reserved();
}

/* Adds to 'before' the last sentence: what the reserve and the space are. */
static int
detail(const char *before, const char *path, int64 available)
{
	return errdetail("%sIn the file system of \"%s\", %lld kB are free; ptsort.disk_reserve is %d kB.",
					 before, path, (long long) available / 1024,
					 ptsort_disk_reserve);
}

static int
hint_temporary(void)
{
	return errhint("Free some space, or set temp_tablespaces to a tablespace in a larger file system.");
}

/* Let a process write after a look; returns false if there is no room. */
static bool
take(SpaceGuard *guard, int64 room, Size size)
{
	if (room < (int64) size)
		return false;
	guard->left = (Size) Max(Min(room / SHARE, STEP) - (int64) size, 0);
	return true;
}

/*
 * Warn once, as soon as the scan's runs show that the rest will not find enough
 * room.  End the work if even half of the rest surely will not.  Nothing can be
 * said if files are in several tablespaces.
 */
static void
foresee(const char *path, int64 room, int64 available)
{
	WorkForesight foresight;
	Oid			tablespaces[2];
	bool		hopeless;

	work_foresee(&foresight);
	if (foresight.to_come <= room)
		return;
	PrepareTempTablespaces();	/* workers did not */
	if (TempTablespacesAreSet() && GetTempTablespaces(tablespaces, 2) > 1)
		return;
	hopeless = foresight.to_come / 2 > room && work_is_even();
	if (!hopeless && !work_is_first_warning())
		return;
	ereport(hopeless ? ERROR : WARNING,
			(errcode(hopeless ? ERRCODE_DISK_FULL : ERRCODE_WARNING),
			 hopeless ?
			 errmsg("not enough free space for the temporary files of a sort") :
			 errmsg("there may be too little free space for the temporary files of a sort"),
			 detail(psprintf("After %.0f %% of the table they have %.0f kB, so about %.0f kB will follow. ",
							 foresight.scanned * 100,
							 foresight.written / 1024,
							 foresight.to_come / 1024),
					path, available),
			 hint_temporary()));
}

void
diskspace_look_temporary(SpaceGuard *guard, const char *path, Size size)
{
	int64		available;
	int64		room;

	if (ptsort_disk_reserve == 0)
		return;
	room = find_room(path, &available);
	if (!take(guard, room, size))
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("not enough free space for the temporary files of a sort"),
				 detail("", path, available),
				 hint_temporary()));
	foresee(path, room, available);
}

void
diskspace_look_relation(SpaceGuard *guard, Relation rel, Size size)
{
	char		path[MAXPGPATH];
	int64		available;

	if (ptsort_disk_reserve == 0)
		return;
	pt_relation_path(rel, path);
	if (!take(guard, find_room(path, &available), size))
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("not enough free space for relation \"%s\"",
						RelationGetRelationName(rel)),
				 detail("", path, available),
				 errhint("Free some space, or choose a tablespace in a larger file system.")));
}

/* Returns the number of the next n WAL files that do not exist. */
static int
missing_wal_files(int n)
{
	TimeLineID	timeline = GetWALInsertionTimeLine();
	XLogSegNo	current;
	int			missing = 0;

	XLByteToSeg(GetXLogInsertRecPtr(), current, wal_segment_size);
	for (int i = 1; i <= n; i++)
	{
		char		path[MAXPGPATH];
		struct stat status;

		XLogFilePath(path, timeline, current + i, wal_segment_size);
		if (stat(path, &status) != 0)
			missing++;
	}
	return missing;
}

void
diskspace_take_wal(Size size)
{
	/* two more: for other processes, and a file prepared ahead of its need */
	int			files = size / wal_segment_size + 2;
	int64		available;
	int64		room;

	if (ptsort_disk_reserve == 0)
		return;
	room = find_room(XLOGDIR, &available);
	if (room >= (int64) files * wal_segment_size ||
		room >= (int64) missing_wal_files(files) * wal_segment_size)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DISK_FULL),
			 errmsg("not enough free space for WAL"),
			 detail("", XLOGDIR, available),
			 errhint("Free some space, lower max_wal_size, or find out what keeps old WAL files: an archive command that fails, or a replication slot.")));
}
