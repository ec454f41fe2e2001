/*-------------------------------------------------------------------------
 *
 * forecaststatement.h
 *	  What a statement would build or copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FORECASTSTATEMENT_H
#define PTSORT_FORECASTSTATEMENT_H

#include "compat.h"

/*
 * ForecastItem: an index that a statement would build, or a table that it would
 * copy.
 */
typedef struct ForecastItem
{
	Oid			heap_id;		/* locked */
	Oid			index_id;		/* existing index, or InvalidOid */
	IndexStmt  *stmt;			/* a new index, transformed; or NULL */
	const char *name;			/* of the index; NULL for a copy */
	bool		copies;			/* copy the table, in the order of index_id */
	bool		concurrent;
	Oid			tablespace;		/* of the new file */
	int			workers;		/* that the statement requests, or -1 */
} ForecastItem;

/*
 * forecast_items parses a statement and returns a list of what it would build.
 * It checks that the user may run the statement, and acquires AccessShareLock
 * on the tables and indexes.
 */
extern List *forecast_items(const char *statement);

#endif							/* PTSORT_FORECASTSTATEMENT_H */
