/*-------------------------------------------------------------------------
 *
 * util.h
 *	  Helpers that several layers need and neither the server nor C has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_UTIL_H
#define PTSORT_UTIL_H

#include "postgres.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "port/pg_bswap.h"
#include "portability/instr_time.h"
#include "storage/itemptr.h"

/*
 * pt_copy is memcpy() for up to a few hundred bytes.  If gcc 12 knows an upper
 * bound of the size, it emits "rep movs", which is slow to start.
 */
static inline void
pt_copy(void *target, const void *source, Size size)
{
#ifdef __GNUC__
__asm__("":"+r"(size));
#endif
	memcpy(target, source, size);
}

/* Processors of this process by affinity and cgroup quota; INT_MAX: unknown */
extern int	pt_processors(void);

/* Number of entries in memory to look at between two checks for interrupts. */
#define CHECK_INTERVAL	100000

/* Returns 8 bytes as a word in the order of memcmp(). */
static inline uint64
pt_bytes_word(const char *at)
{
	uint64		word;

	memcpy(&word, at, sizeof(word));
	return pg_ntoh64(word);
}

/* pt_tid_word returns a TID as a word in the order of ItemPointerCompare(). */
static inline uint64
pt_tid_word(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

/*
 * pt_string_word returns pt_bytes_word of a string's first 8 bytes, and pads
 * shorter strings with zeros.  It reads nothing beyond the string and calls no
 * function.  If its two loads overlap, both set the bits that they share.
 */
static inline uint64
pt_string_word(const char *string, Size length)
{
	const unsigned char *each = (const unsigned char *) string;
	uint32		head;
	uint32		tail;

	if (likely(length >= sizeof(uint64)))
		return pt_bytes_word(string);
	if (length >= sizeof(uint32))
	{
		memcpy(&head, string, sizeof(head));
		memcpy(&tail, string + length - sizeof(tail), sizeof(tail));
		return (uint64) pg_ntoh32(head) << 32 |
			(uint64) pg_ntoh32(tail) << (64 - 8 * length);
	}
	if (length == 0)
		return 0;
	return (uint64) each[0] << 56 |
		(uint64) each[length / 2] << (56 - 8 * (length / 2)) |
		(uint64) each[length - 1] << (64 - 8 * length);
}

static inline double
pt_ms_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* pt_round returns milliseconds or seconds for a user, with three decimals. */
static inline double
pt_round(double time)
{
	return rint(time * 1000) / 1000;
}

/*
 * pt_prefetch asks the processor to load the cache line of an address.  It is a
 * macro, because gcc 12 drops the calls of a function that only prefetches, as
 * if the function had no effect.
 */
#define CACHE_LINE	64			/* bytes */
#ifdef __GNUC__
#define pt_prefetch(address)	__builtin_prefetch(address)
#else
#define pt_prefetch(address)	((void) (address))
#endif

#endif							/* PTSORT_UTIL_H */
