/*-------------------------------------------------------------------------
 *
 * util.h
 *	  What several layers use and neither the server nor C has: copies of a
 *	  bounded size, prefetching, elapsed time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_UTIL_H
#define PTSORT_UTIL_H

#include "postgres.h"

#include "portability/instr_time.h"

/* PT_HIDE makes the compiler forget what it knows of a variable's value. */
#ifdef __GNUC__
#define PT_HIDE(variable)	__asm__("" : "+r"(variable))
#else
#define PT_HIDE(variable)	((void) 0)
#endif

/*
 * pt_copy is memcpy() for a few dozen to a few hundred bytes.  Where gcc 12
 * knows an upper bound of the size it emits "rep movs", which takes longer to
 * start than such a copy takes in all; hiding the size prevents that.
 */
static inline void
pt_copy(void *target, const void *source, Size size)
{
	PT_HIDE(size);
	memcpy(target, source, size);
}

/* pt_ms_since returns the milliseconds that have passed since 'start'. */
static inline double
pt_ms_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/*
 * pt_log_part tells developers (DEBUG2) how long a part of a build has taken
 * that one process does for all: contrib/bench/scale.py reads it.
 */
static inline void
pt_log_part(const char *part, instr_time start)
{
	elog(DEBUG2, "ptsort: part \"%s\": %.3f ms", part, pt_ms_since(start));
}

/*
 * pt_prefetch asks the processor to load the cache line of an address.  It is
 * a macro because gcc 12 drops the calls of a function that does nothing else,
 * as if it had no effect.
 */
#define CACHE_LINE	64			/* bytes */
#ifdef __GNUC__
#define pt_prefetch(address)	__builtin_prefetch(address)
#else
#define pt_prefetch(address)	((void) (address))
#endif

#endif							/* PTSORT_UTIL_H */
