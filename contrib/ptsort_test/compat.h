/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between server versions that affect the tests.
 *
 * src/compat.h handles the differences that affect ptsort itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEST_COMPAT_H
#define PTSORT_TEST_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM >= 190000
#include "optimizer/pathnode.h"
#else
#include "optimizer/plancat.h"
#endif
#include "tcop/tcopprot.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 19 added an argument for EXPLAIN to pg_plan_query(). */
#if PG_VERSION_NUM >= 190000
#define pt_plan_query(query, text) pg_plan_query(query, text, 0, NULL, NULL)
#else
#define pt_plan_query(query, text) pg_plan_query(query, text, 0, NULL)
#endif

/* Since 19, code must finalize a new tuple descriptor before using it. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/* 19 replaced the hook that the planner calls for each table. */
#if PG_VERSION_NUM >= 190000
typedef build_simple_rel_hook_type pt_table_hook_type;

#define pt_table_hook		build_simple_rel_hook
#define PT_TABLE_HOOK_ARGUMENTS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define PT_PASS_TABLE_HOOK_ARGUMENTS	root, rel, rte
#else
typedef get_relation_info_hook_type pt_table_hook_type;

#define pt_table_hook		get_relation_info_hook
#define PT_TABLE_HOOK_ARGUMENTS \
	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define PT_PASS_TABLE_HOOK_ARGUMENTS	root, relid, inhparent, rel
#endif

#endif							/* PTSORT_TEST_COMPAT_H */
