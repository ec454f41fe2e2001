/*-------------------------------------------------------------------------
 *
 * stamp.h
 *	  The build of this library that a process runs.
 *
 * A session keeps the library that it loaded.  A parallel worker loads the
 * library that is installed when the worker starts.  After an upgrade, the two
 * libraries can differ, and their shared memory and temporary files may be
 * incompatible.  Therefore shared memory begins with the stamp of the process
 * that made it.  Other processes check this stamp before they use the memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_STAMP_H
#define PTSORT_STAMP_H

#include "compat.h"

#include "storage/dsm.h"

/* BuildStamp: a checksum of all source files, as text. */
typedef struct BuildStamp
{
	char		text[32];
} BuildStamp;

extern void stamp_set(BuildStamp *stamp);
extern bool stamp_matches(const BuildStamp *stamp);

/* stamp_check raises an error if the stamp is from another build. */
extern void stamp_check(const BuildStamp *stamp);

/* stamp_attach attaches and checks a segment that begins with a stamp. */
extern dsm_segment *stamp_attach(dsm_handle handle);

#endif							/* PTSORT_STAMP_H */
