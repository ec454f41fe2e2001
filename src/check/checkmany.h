/*-------------------------------------------------------------------------
 *
 * checkmany.h
 *	  Checks many indexes, several at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKMANY_H
#define PTSORT_CHECKMANY_H

#include "check/checkone.h"
#include "port/atomics.h"

/*
 * CheckSlot: the check of one of many indexes.  'report' is the result in state
 * CHECK_DONE; in state CHECK_FAILED the first message is that of the error.
 */
typedef struct CheckSlot
{
	Oid			index_id;
	pg_atomic_uint32 state;		/* enum CheckState */
	double		ms;				/* duration of the check */
	CheckReport report;
} CheckSlot;

/* checkmany_slot prepares the check of an index. */
extern void checkmany_slot(CheckSlot *slot, Oid index_id);

/*
 * checkmany_run checks the indexes of n slots with one team, whose participants
 * take the next index and check it alone.  request->workers and request->budget
 * are those of the team.  The functions that the checks call must be parallel
 * safe, and no table temporary.  It finishes all slots: an error ends the check
 * of one index, unless it is a cancel request or a shutdown, or was not raised
 * by a check.
 *
 * checkmany_guard calls a function in the same way: in a subtransaction.  It
 * returns true, or false with the slot in state CHECK_FAILED.
 */
typedef void (*CheckManyStep) (void *arg);
extern void checkmany_run(CheckSlot *slots, int n,
						  const CheckRequest *request);
extern bool checkmany_guard(CheckManyStep step, void *arg, CheckSlot *slot);

#endif							/* PTSORT_CHECKMANY_H */
