/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  The hook that fault.h's named points call.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"

FaultHook	ptsort_fault_hook = NULL;
