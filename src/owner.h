/*-------------------------------------------------------------------------
 *
 * owner.h
 *	  Runs functions of an index with the rights of its table's owner.
 *
 * Functions in an index's expressions and predicate belong to the table's
 * owner.  As in index_build() (index.c), they run with the owner's rights, as a
 * restricted operation, with a safe search_path, and cannot change settings.
 *
 * RelationGetIndexExpressions(), RelationGetIndexPredicate() and the planner
 * already call these functions, because they fold constants.  So a function
 * that checks or measures a relation of another user calls owner_enter right
 * after it opened the relation.  Workers inherit the context of the launch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_OWNER_H
#define PTSORT_OWNER_H

#include "compat.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/rel.h"

/* OwnerSwitch: what owner_leave restores. */
typedef struct OwnerSwitch
{
	Oid			user;
	int			context;
	int			level;			/* of nested settings */
} OwnerSwitch;

/* An error between owner_enter and owner_leave restores everything. */
static inline void
owner_enter(OwnerSwitch *saved, Relation table)
{
	saved->level = NewGUCNestLevel();
	GetUserIdAndSecContext(&saved->user, &saved->context);
	SetUserIdAndSecContext(table->rd_rel->relowner,
						   saved->context | SECURITY_RESTRICTED_OPERATION);
	pt_restrict_search_path();
}

static inline void
owner_leave(const OwnerSwitch *saved)
{
	AtEOXact_GUC(false, saved->level);
	SetUserIdAndSecContext(saved->user, saved->context);
}

#endif							/* PTSORT_OWNER_H */
