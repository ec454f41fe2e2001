/*-------------------------------------------------------------------------
 *
 * checkindex.h
 *	  Checks a btree index with a team of processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECKINDEX_H
#define PTSORT_CHECKINDEX_H

#include "check/check.h"

/* CheckRequest: how to check an index. */
typedef struct CheckRequest
{
	bool		with_rows;		/* compare entries with the table's rows */
	bool		full;			/* compare all text with the provider */
	int			workers;		/* parallel workers to request */
	int64		budget;			/* bytes, for all participants together */
} CheckRequest;

/*
 * checkindex_run checks an index, and sets *result to the sum of what the
 * participants found.  The caller locks the index and its table, and pushes an
 * active snapshot.
 */
extern void checkindex_run(Relation heap, Relation index,
						   const CheckRequest *request, CheckReport *result);

#endif							/* PTSORT_CHECKINDEX_H */
