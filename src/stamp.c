/*-------------------------------------------------------------------------
 *
 * stamp.c
 *	  The build of this library that a process runs; see stamp.h.  The Makefile
 *	  defines PTSORT_STAMP, and compiles this file when any source file changes.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "stamp.h"

/* Neither const nor static, so that the compiler cannot inline the value. */
extern PGDLLEXPORT BuildStamp ptsort_build_stamp;

BuildStamp	ptsort_build_stamp = {"ptsort build " PTSORT_STAMP};

void
stamp_set(BuildStamp *stamp)
{
	*stamp = ptsort_build_stamp;
}

bool
stamp_matches(const BuildStamp *stamp)
{
	return memcmp(stamp, &ptsort_build_stamp, sizeof(BuildStamp)) == 0;
}

void
stamp_check(const BuildStamp *stamp)
{
	if (!stamp_matches(stamp))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("parallel worker loaded a different build of ptsort than the session that started it"),
				 errdetail("The library was replaced after the session loaded it."),
				 errhint("Reconnect and run the statement again.")));
}

dsm_segment *
stamp_attach(dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	stamp_check(dsm_segment_address(segment));
	return segment;
}
