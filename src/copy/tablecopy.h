/*-------------------------------------------------------------------------
 *
 * tablecopy.h
 *	  Copies a table in the order of one of its indexes, for CLUSTER.
 *
 * cluster.c decides whether ptsort makes a copy, and then calls
 * tablecopy_run().  A BtBuildReport keeps what a copy did, for
 * ptsort_last_copy(): index_name is that of the index, and pages are those of
 * the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TABLECOPY_H
#define PTSORT_TABLECOPY_H

#include "btree/btbuild.h"
#include "copy/copyscan.h"

/* CopyResult: what the server needs to know about a copy. */
typedef struct CopyResult
{
	double		copied;			/* row versions copied */
	double		dead;			/* row versions not copied */
	double		recently_dead;	/* row versions copied but dead */
} CopyResult;

/*
 * tablecopy_run fills the new table of 'rules', which is empty, as the server's
 * heapam_relation_copy_for_cluster() does when it sorts.  It logs the start and
 * end lines and, on success, publishes its report.
 */
extern void tablecopy_run(const CopyRules *rules, Relation index,
						  const BtBuildRequest *request, CopyResult *result);

/* Entry point of the workers. */
extern PGDLLEXPORT void ptsort_copy_worker_main(dsm_segment *segment,
												shm_toc *toc);

#endif							/* PTSORT_TABLECOPY_H */
