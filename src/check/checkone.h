/*-------------------------------------------------------------------------
 *
 * checkone.h
 *	  Opens and checks one index for a user.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKONE_H
#define PTSORT_CHECKONE_H

#include "check/checkindex.h"

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
	CHECK_IS_INVALID,
	CHECK_IS_EMPTIED,
	CHECK_IS_TOO_NEW
} CheckState;

/*
 * checkone_open locks and opens an index and its table for a check.  It returns
 * CHECK_RUNS, or a state that says why the check is not possible; then it
 * leaves nothing open.  checkone_close closes both, and releases the locks.
 */
extern CheckState checkone_open(Oid index_id, bool with_rows, Relation *heap,
								Relation *index);
extern void checkone_close(Relation heap, Relation index);

/*
 * checkone_reason returns the text that explains a state after CHECK_FAILED,
 * and sets *sqlstate to the code of an error for it.
 */
extern const char *checkone_reason(CheckState state, int *sqlstate);

/*
 * checkone_run checks an open index (checkindex_run) with the rights of the
 * table's owner, and reports the progress.
 */
extern void checkone_run(Relation heap, Relation index,
						 const CheckRequest *request, CheckReport *report,
						 int *participants);

#endif							/* PTSORT_CHECKONE_H */
