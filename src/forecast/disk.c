/*-------------------------------------------------------------------------
 *
 * disk.c
 *	  Compares what a statement needs on the disks with the free space.
 *
 * Directories on the same file system share its free space, so their needs
 * count together.  limit/diskspace.c decides, as it does for the build itself.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <sys/stat.h>

#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "forecast/forecast.h"
#include "lib/stringinfo.h"
#include "limit/diskspace.h"
#include "miscadmin.h"
#include "storage/fd.h"

static const char *const use_names[NUM_DISK_USES] = {
	[DISK_INDEX] = "index",
	[DISK_TEMP] = "temporary files",
	[DISK_WAL] = "WAL"
};

char *
disk_tablespace(Oid tablespace)
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
disk_temporary(void)
{
	Oid			tablespaces[64];
	int			n;
	char	   *result = NULL;
	int64		least = PG_INT64_MAX;

	PrepareTempTablespaces();
	n = GetTempTablespaces(tablespaces, lengthof(tablespaces));
	for (int i = 0; i < n; i++)
	{
		char	   *directory = disk_tablespace(tablespaces[i]);
		int64		bytes = diskspace_free(directory);

		if (result == NULL || bytes < least)
		{
			result = directory;
			least = bytes;
		}
	}
	return result != NULL ? result : disk_tablespace(InvalidOid);
}

dev_t
disk_device(const char *directory)
{
	struct stat status;

	return stat(directory, &status) == 0 ? status.st_dev : 0;
}

/* Returns a size in the largest unit that leaves at least 10. */
static char *
describe_bytes(double bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	int			unit = 0;

	for (bytes /= 1024; bytes >= 10240 && unit < lengthof(units) - 1; unit++)
		bytes /= 1024;
	return psprintf("%.0f %s", Max(bytes, 1), units[unit]);
}

/*
 * If the file system of the first need is too small for all needs on it, append
 * a text to 'verdict'.  Returns the needs on other file systems.
 */
static List *
judge_device(StringInfo verdict, List *needs)
{
	const DiskNeed *first = linitial(needs);
	bool		used[NUM_DISK_USES] = {false};
	double		bytes = 0;
	double		wal = 0;
	int64		lacking;
	const char *separator = "";
	ListCell   *lc;

	foreach(lc, needs)
	{
		const DiskNeed *need = lfirst(lc);

		if (need->device != first->device)
			continue;
		*(need->use == DISK_WAL ? &wal : &bytes) += need->bytes;
		used[need->use] |= need->bytes > 0;
		needs = foreach_delete_current(needs, lc);
	}
	/* what needs no space does not stop at the reserve */
	if (bytes + wal == 0 ||
		(lacking = diskspace_lacking(first->directory, bytes, wal)) == 0)
		return needs;
	if (verdict->len > 0)
		appendStringInfoString(verdict, "; ");
	for (int use = 0; use < NUM_DISK_USES; use++)
	{
		if (!used[use])
			continue;
		appendStringInfo(verdict, "%s%s", separator, use_names[use]);
		separator = ", ";
	}
	appendStringInfo(verdict, ": %s more", describe_bytes(lacking));
	return needs;
}

char *
disk_verdict(List *needs)
{
	StringInfoData verdict;
	ListCell   *lc;

	initStringInfo(&verdict);
	foreach(lc, needs)
	{
		DiskNeed   *need = lfirst(lc);

		need->device = disk_device(need->directory);
	}
	while (needs != NIL)
		needs = judge_device(&verdict, needs);
	if (verdict.len == 0)
		appendStringInfoString(&verdict, "fits");
	return verdict.data;
}
