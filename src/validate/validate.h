/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Validates an index that CONCURRENTLY built: inserts the rows that the
 *	  build's snapshot did not see, and that nobody else inserted.
 *
 * The server reads the whole index and the whole table for this (see the
 * comment of validate_index() in index.c).  Here a team of processes looks only
 * at pages of the table that may have changed since the build's scan:
 *
 * - A page that the visibility map calls all-visible, and that the scan marked
 *	 MARK_VISIBLE, did not change: whoever changes a page that says so clears
 *	 the bit, and VACUUM, which sets bits, conflicts with the statement's lock.
 *	 In 19 reads may set bits, too, but then the LSN of the map's page is newer
 *	 than the scan.  Validation does not read the table's page.
 * - A page that the scan marked MARK_INDEXED did not change if its LSN is older
 *	 than the scan.  Validation reads it, but nothing else.
 * - All other pages are compared with the index.  The participants put the
 *	 place of each row that the reference snapshot sees, and of each entry that
 *	 points to such a page, into one sort.  A row without an entry is missing.
 *
 * The reference snapshot is older than all of this.  No entry of a row that it
 * sees comes or goes meanwhile: whoever inserted the row inserted its entry
 * before he committed, unless he did not know about the index, and only VACUUM
 * makes a place of the table usable for another row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VALIDATE_H
#define PTSORT_VALIDATE_H

#include "compat.h"

#include "team/build.h"

/* ValidatePlan: which pages of a table validation must read. */
typedef struct ValidatePlan
{
	Marks	   *pages;			/* with marks MARK_READ and MARK_COMPARE */
	BlockNumber nread;			/* pages to read */
	BlockNumber ncompared;		/* those that are surely compared */
} ValidatePlan;

#define MARK_READ		1		/* validation reads the page */
#define MARK_COMPARE	2		/* and compares its rows with the index */

/* validate_plan plans, from the marks of the build's scan. */
extern void validate_plan(ValidatePlan *plan, Relation heap,
						  const Marks *marks);

typedef struct ValidateRequest
{
	Relation	heap;
	Relation	index;			/* btree or GiST */
	IndexInfo  *index_info;
	Snapshot	snapshot;		/* the reference snapshot */
	const ValidatePlan *plan;
	int			workers;
} ValidateRequest;

typedef struct ValidateResult
{
	int			participants;
	int64		pages;			/* pages of the table that were read */
	int64		rows;			/* rows compared */
	int64		entries;		/* entries compared */
	int64		inserted;
} ValidateResult;

/*
 * validate_run validates the index.  Errors are those of the server, such as
 * that of a duplicate key.
 */
extern void validate_run(const ValidateRequest *request,
						 ValidateResult *result);


/*
 * leaves.c: the TIDs of all leaves of a btree index, beside writers.
 *
 * LeafParts divides the leaves into parts of consecutive pages.  Part i begins
 * with leaf first[i], and ends before the first leaf of part i + 1.
 */
#define LEAF_PARTS	256
typedef struct LeafParts
{
	int			n;
	BlockNumber first[LEAF_PARTS + 1];	/* first[n] is P_NONE */
} LeafParts;

extern void leaves_divide(Relation index, LeafParts *parts);

/*
 * leaves_read passes the TIDs of a part's leaves to a function, without locks
 * and pins.  It may pass TIDs of entries that nobody sees any more.
 */
typedef void (*LeafReader) (const ItemPointerData *tids, int n, void *arg);
extern void leaves_read(Relation index, const LeafParts *parts, int part,
						LeafReader reader, void *arg);


/*
 * insert.c: inserts missing rows, by their TIDs, in ascending order.
 */
typedef struct Inserter Inserter;

extern Inserter *insert_begin(const ValidateRequest *request);

/*
 * insert_row inserts the row whose version chain begins at this place.  Returns
 * false if the predicate of the index excludes the row.
 */
extern bool insert_row(Inserter *inserter, const ItemPointerData *root);
extern void insert_end(Inserter *inserter);

#endif							/* PTSORT_VALIDATE_H */
