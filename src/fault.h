/*-------------------------------------------------------------------------
 *
 * fault.h
 *	  Named points at which a test can inject failures.
 *
 * The hook is NULL unless contrib/ptsort_test sets it.  Points are cold places
 * only: once per phase, run or block, never per tuple.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FAULT_H
#define PTSORT_FAULT_H

#include "compat.h"

/* FaultHook may raise an error, sleep or kill the process. */
typedef void (*FaultHook) (const char *point);

extern PGDLLEXPORT FaultHook ptsort_fault_hook;

/* fault_point calls the test's hook, if there is one. */
static inline void
fault_point(const char *point)
{
	if (unlikely(ptsort_fault_hook != NULL))
		ptsort_fault_hook(point);
}

#endif							/* PTSORT_FAULT_H */
