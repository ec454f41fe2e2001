/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Validates an index that CONCURRENTLY built: inserts the rows that the
 *	  build's snapshot did not see, and that no other process inserted.
 *
 * The server reads the whole index and the whole table for this (see the
 * comment of validate_index() in index.c).  Here a team of processes looks only
 * at pages of the table that may have changed since the build's scan:
 *
 * - A page that the visibility map calls all-visible, and that the scan marked
 *	 MARK_VISIBLE, did not change: a process that changes such a page clears the
 *	 bit, and VACUUM, which sets bits, conflicts with the statement's lock.  In
 *	 19 reads may set bits, too, but then the LSN of the map's page is newer
 *	 than the scan.  Validation does not read the table's page.
 * - A page that the scan marked MARK_INDEXED did not change if its LSN is older
 *	 than the scan.  Validation reads it, but nothing else.
 * - All other pages are compared with the index.  The participants put the
 *	 place of each row that the reference snapshot sees, and of each entry that
 *	 points to such a page, into one sort.  A row without an entry is missing.
 *
 * The reference snapshot is older than all of this.  No entry of a row that it
 * sees comes or goes meanwhile: the transaction that inserted the row inserted
 * its entry before it committed, unless it did not know about the index, and
 * only VACUUM makes a place of the table usable for another row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VALIDATE_H
#define PTSORT_VALIDATE_H

#include "compat.h"

#include "access/amapi.h"
#include "team/build.h"

/* Validation: of one index. */
typedef struct Validation
{
	Relation	heap;
	Relation	index;			/* btree, GiST or GIN */
	IndexVacuumInfo request;	/* for the server's ambulkdelete */

	/* Set by validate_plan */
	Marks	   *pages;			/* with marks MARK_READ and MARK_COMPARE */
	int64		table_pages;
	int64		pages_to_read;
	int64		pages_to_compare;	/* surely; more may have changed */
	Job			job;			/* for planworkers.c */

	IndexInfo  *index_info;
	Snapshot	snapshot;		/* the reference snapshot */

	/* Results */
	int			participants;
	int64		pages_read;		/* of the table */
	int64		rows;			/* rows compared */
	int64		entries;		/* entries compared */
	int64		inserted;
	double		ms;				/* set by hook/validation.c */
} Validation;

/*
 * validate_plan plans the validation of an index, from the marks of its build.
 * validate_run does it, with at most so many workers.  Its errors are those of
 * the server.
 */
extern void validate_plan(Validation *validation, Marks *marks);
extern void validate_run(Validation *validation, int workers);

/* validate_bulkdelete returns the server's ambulkdelete of an index. */
extern ambulkdelete_function validate_bulkdelete(Relation index);

#endif							/* PTSORT_VALIDATE_H */
