/*-------------------------------------------------------------------------
 *
 * held.c
 *	  ptsort_test.log_memory: the memory that a sort holds at the named points.
 *
 * With the setting on, each process of a build logs
 *
 *		ptsort_test: N bytes at "point"
 *
 * at the first pass of a point, and whenever the memory of the process's sorts
 * at a point exceeds the maximum since the setting changed.  N is the memory
 * that ptsort's contexts obtained from the C library, no matter which code
 * allocated the memory.  So a test can compare N with the sort's own report
 * (PtSortStats.peak_memory).  N excludes the contexts of the index load, which
 * is not part of a sort's budget.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/memnodes.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "ptsort_test.h"

static bool log_memory = false;
static Size most = 0;			/* largest N that was logged */

/* The points that this process passed, each as the address of its name. */
#define MAX_POINTS	100
static const char *points[MAX_POINTS];
static int	npoints = 0;

/*
 * Returns the size in bytes of the sorts' contexts at or below the given
 * context.  If detail is not NULL, appends a list of these contexts to detail.
 */
static Size
sort_memory(MemoryContext context, StringInfo detail)
{
	Size		result = 0;

	if (strncmp(context->name, "ptsort load", strlen("ptsort load")) == 0)
		return 0;
	if (strncmp(context->name, "ptsort", strlen("ptsort")) == 0)
	{
		result = MemoryContextMemAllocated(context, false);
		if (detail)
			appendStringInfo(detail, "%s%s: %zu", detail->len > 0 ? ", " : "",
							 context->name, result);
	}
	for (MemoryContext child = context->firstchild; child;
		 child = child->nextchild)
		result += sort_memory(child, detail);
	return result;
}

static void
assign_log_memory(bool newval, void *extra)
{
	most = npoints = 0;
}

/* True if the process passes the point for the first time. */
static bool
is_new(const char *point)
{
	for (int i = 0; i < npoints; i++)
	{
		if (points[i] == point)
			return false;
	}
	if (npoints < MAX_POINTS)
		points[npoints++] = point;
	return true;
}

/* test_memory_init defines the setting. */
void
test_memory_init(void)
{
	DefineCustomBoolVariable("ptsort_test.log_memory",
							 "Logs the memory that sorts hold at named points.",
							 NULL, &log_memory, false, PGC_USERSET, 0,
							 NULL, assign_log_memory, NULL);
}

/* test_memory_look logs the memory at a new point, or a new maximum. */
void
test_memory_look(const char *point)
{
	StringInfoData detail;
	Size		now;

	if (!log_memory)
		return;
	now = sort_memory(TopMemoryContext, NULL);
	if (!is_new(point) && now <= most)
		return;
	most = Max(most, now);
	initStringInfo(&detail);
	(void) sort_memory(TopMemoryContext, &detail);
	ereport(LOG,
			(errmsg("ptsort_test: %zu bytes at \"%s\"", now, point),
			 errdetail_internal("%s", detail.data),
			 errhidestmt(true), errhidecontext(true)));
	pfree(detail.data);
}
