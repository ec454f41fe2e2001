/*-------------------------------------------------------------------------
 *
 * checkone.h
 *	  Opens and checks one index for a user, or many, several at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKONE_H
#define PTSORT_CHECKONE_H

#include "check/check.h"
#include "owner.h"

/*
 * CheckState: how far the check of an index is.  The states after CHECK_FAILED
 * say why ptsort cannot check the index.
 */
typedef enum CheckState
{
	CHECK_WAITS,
	CHECK_RUNS,
	CHECK_DONE,
	CHECK_FAILED,				/* an error ended the check */
	CHECK_IS_GONE,
	CHECK_IS_FORBIDDEN,			/* the user may not check it */
	CHECK_IS_NO_BTREE,
	CHECK_IS_OTHER_TEMP,
	CHECK_IS_ELSEWHERE,			/* the server's own smgr does not store it */
	CHECK_IS_INVALID,
	CHECK_IS_EMPTIED,
	CHECK_IS_TOO_NEW
} CheckState;

/* CheckTarget: an open index, its table, and the user who checks it. */
typedef struct CheckTarget
{
	Relation	heap;
	Relation	index;
	OwnerSwitch caller;
} CheckTarget;

/*
 * CheckUse: what a function reads.  An invalid or partitioned index has only a
 * definition.
 */
typedef enum CheckUse
{
	CHECK_USES_INDEX = false,	/* as CheckRequest.with_rows */
	CHECK_USES_BOTH = true,
	CHECK_USES_TABLE
} CheckUse;

/*
 * checkone_open locks and opens an index and its table for a check, and begins
 * to run as the table's owner.  It returns CHECK_RUNS, or a state that says why
 * the check is not possible; then it leaves nothing open.  checkone_close
 * returns to the caller's rights, closes both, and releases the locks.
 */
extern CheckState checkone_open(Oid index_id, CheckUse use,
								CheckTarget *target);
extern void checkone_close(CheckTarget *target);

/*
 * checkone_reason returns the text that explains a state after CHECK_FAILED,
 * and sets *sqlstate to the code of an error for it.  checkone_exists raises
 * that error, except for CHECK_IS_GONE: then it returns false.
 */
extern const char *checkone_reason(CheckState state, int *sqlstate);
extern bool checkone_exists(Oid index_id, CheckState state);

/* checkone_run checks an index (checkindex_run), and reports the progress. */
extern void checkone_run(const CheckTarget *target,
						 const CheckRequest *request, CheckReport *report);

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

/* checkmany.c: checkmany_slot prepares the check of an index. */
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

#endif							/* PTSORT_CHECKONE_H */
