/*-------------------------------------------------------------------------
 *
 * segments.c
 *	  ptsort_test_take_segments(): takes all segments of dynamic shared memory.
 *
 * The server limits the number of segments.  Without a segment, both ptsort
 * and the server build an index serially.
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

	/* the segments exist until the session ends */
	MemoryContextSwitchTo(TopMemoryContext);
	while ((segment = dsm_create(1, DSM_CREATE_NULL_IF_MAXSEGMENTS)) != NULL)
	{
		dsm_pin_mapping(segment);
		taken++;
	}
	PG_RETURN_INT32(taken);
}
