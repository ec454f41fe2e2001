/*-------------------------------------------------------------------------
 *
 * tablecopy.h
 *	  Copies a table in the order of one of its indexes, for CLUSTER.
 *
 * cluster.c decides whether a copy is ours, and then calls tablecopy_run().
 * What a copy did is kept as a BtBuildReport, for ptsort_last_copy():
 * index_name is that of the index, and pages are those of the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TABLECOPY_H
#define PTSORT_TABLECOPY_H

#include "btree/btbuild.h"
#include "copy/copyscan.h"

/* What the server wants to know of a copy. */
typedef struct CopyResult
{
	double		copied;			/* row versions */
	double		dead;			/* that were not copied */
	double		recently_dead;	/* of those copied */
} CopyResult;

/*
 * tablecopy_run fills the new table of 'rules', which is empty, as the server's
 * heapam_relation_copy_for_cluster() does when it sorts.  It says the start and
 * the end line, and publishes its report when it has succeeded.
 */
extern void tablecopy_run(const CopyRules *rules, Relation index,
						  const BtBuildRequest *request, CopyResult *result);

/* Entry point of the workers. */
extern PGDLLEXPORT void ptsort_copy_worker_main(dsm_segment *segment,
												shm_toc *toc);

#endif							/* PTSORT_TABLECOPY_H */
