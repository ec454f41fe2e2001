/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  A difference between the server's versions: the owner of a handler's
 *	  result.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_AM_COMPAT_H
#define PTSORT_AM_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"

/*
 * pt_am_routine returns a handler's result for a static routine.  Since 19 the
 * server keeps a pointer to the result.  Before 19 the server copies the result
 * and frees the original.
 */
static inline const IndexAmRoutine *
pt_am_routine(const IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 190000
	return routine;
#else
	IndexAmRoutine *copy = palloc(sizeof(IndexAmRoutine));

	*copy = *routine;
	return copy;
#endif
}

#endif							/* PTSORT_AM_COMPAT_H */
