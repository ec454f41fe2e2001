/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  The hook behind fault.h's named points.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"

FaultHook	ptsort_fault_hook = NULL;
