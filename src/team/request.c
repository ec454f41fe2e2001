/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Limits of the numbers in a request for a build or a parallel sort.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "team/request.h"
#include "utils/memutils.h"

/* Maximum size of the argument, which is copied for the workers */
#define MAX_ARG_SIZE		((Size) MaxAllocSize)

/*
 * Maximum size of the callbacks' shared memory: more than any machine has, and
 * small enough that rounding and sums do not overflow.
 */
#define MAX_SHARED_SIZE		((Size) 1 << 46)

/* request_check: see request.h. */
void
request_check(const char *what, int workers, int64 budget, Size arg_size)
{
	if (workers < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot have %d workers", what, workers),
				 errhint("Ask for 0 workers if this process is to work alone.")));
	if (budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget of %s must not be negative", what),
				 errdetail("It is " INT64_FORMAT ".", budget)));
	if (arg_size > MAX_ARG_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument of %s cannot have %zu bytes", what, arg_size),
				 errdetail("It has at most %zu.", MAX_ARG_SIZE)));
}

/* request_shared_size: see request.h. */
Size
request_shared_size(Size size)
{
	if (size > MAX_SHARED_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("callback shared_size asks for %zu bytes", size),
				 errdetail("It can ask for at most %zu.", MAX_SHARED_SIZE)));
	return size;
}
