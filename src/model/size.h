/*-------------------------------------------------------------------------
 *
 * size.h
 *	  How large a new index or table and its sort will be, from statistics.
 *
 * The forecast of a statement samples the table instead (src/forecast).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SIZE_H
#define PTSORT_SIZE_H

#include "model/cost.h"

/* size_key returns what an index's first column costs. */
extern JobKey size_key(Relation index);

/*
 * size_job describes a build of an index by one participant in memory, or a
 * copy in the order of the index.
 */
extern void size_job(Job *job, bool copies, Relation table, Relation index);

/* size_of_runs estimates the size of all runs, rather too high. */
extern double size_of_runs(bool copies, Relation table, Relation index);

#endif							/* PTSORT_SIZE_H */
