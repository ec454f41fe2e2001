/*-------------------------------------------------------------------------
 *
 * segments.c
 *	  ptsort_test_take_segments(): no segment of dynamic shared memory is left.
 *
 * The server has a limit on how many there are.  A build that gets none is
 * serial, as the server's own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/dsm.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

PG_FUNCTION_INFO_V1(ptsort_test_take_segments);
Datum
ptsort_test_take_segments(PG_FUNCTION_ARGS)
{
	int32		taken = 0;
	dsm_segment *segment;

	/* they stay until the session ends */
	MemoryContextSwitchTo(TopMemoryContext);
	while ((segment = dsm_create(1, DSM_CREATE_NULL_IF_MAXSEGMENTS)) != NULL)
	{
		dsm_pin_mapping(segment);
		taken++;
	}
	PG_RETURN_INT32(taken);
}
