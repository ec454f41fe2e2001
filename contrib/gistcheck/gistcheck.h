/*-------------------------------------------------------------------------
 *
 * gistcheck.h
 *	  What gist_check() and gin_check() share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GISTCHECK_H
#define GISTCHECK_H

#include "access/itup.h"
#include "access/tableam.h"
#include "utils/rel.h"

extern Size values_end(IndexTuple tuple, TupleDesc desc);
extern int	enter_owner(Relation table);
extern void scan_rows(Relation table, Relation index,
					  IndexBuildCallback callback, void *arg);

#endif							/* GISTCHECK_H */
