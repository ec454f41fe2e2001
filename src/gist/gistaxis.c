/*-------------------------------------------------------------------------
 *
 * gistaxis.c
 *	  Orders tuples of points by one axis; see gistaxis.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "gist/gistaxis.h"
#include "utils/geo_decls.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* AxisEntry: a tuple and its end, as an integer of the same order. */
typedef struct AxisEntry
{
	uint64		end;
	IndexTuple	tuple;
} AxisEntry;

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE AxisEntry
#define ST_COMPARE(a, b) \
	((a)->end < (b)->end ? -1 : (a)->end > (b)->end ? 1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

GistAxis
gistaxis_of(Relation index)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), 0)->atttypid;
	GistAxis	result = GIST_NO_AXIS;
	HeapTuple	tuple;
	Form_pg_type form;

	if (type == BOXOID)
		return GIST_BOX;
	if (TupleDescAttr(RelationGetDescr(index), 0)->attlen != 4 * sizeof(float4))
		return GIST_NO_AXIS;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return GIST_NO_AXIS;
	form = (Form_pg_type) GETSTRUCT(tuple);
	if (strcmp(NameStr(form->typname), "box2df") == 0)
		result = GIST_BOX2DF;
	ReleaseSysCache(tuple);
	return result;
}

/* Returns a float as an integer of the same order. */
static uint64
float_word(double value)
{
	uint64		word;

	memcpy(&word, &value, sizeof(word));
	return word >> 63 ? ~word : word | UINT64CONST(1) << 63;
}

/*
 * Returns false unless the tuple's key is null or the box of a point.  Sets
 * *end to the lower end on the first axis.
 */
static bool
get_end(GistAxis axis, IndexTuple tuple, TupleDesc desc, uint64 *end)
{
	bool		isnull;
	Datum		key = index_getattr(tuple, 1, desc, &isnull);
	float4		box2df[4];		/* xmin, xmax, ymin, ymax */
	const BOX  *box = DatumGetBoxP(key);

	*end = PG_UINT64_MAX;
	if (isnull)
		return true;
	if (axis == GIST_BOX)
	{
		*end = float_word(box->low.x);
		return box->low.x == box->high.x && box->low.y == box->high.y;
	}
	memcpy(box2df, DatumGetPointer(key), sizeof(box2df));
	*end = float_word(box2df[0]);
	return box2df[1] <= nextafterf(box2df[0], INFINITY) &&
		box2df[3] <= nextafterf(box2df[2], INFINITY);
}

void
gistaxis_sort(GistAxis axis, IndexTuple *tuples, int n, Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);
	bool		all_points = axis != GIST_NO_AXIS;
	AxisEntry  *entries = palloc(n * sizeof(AxisEntry));

	for (int i = 0; i < n && all_points; i++)
	{
		entries[i].tuple = tuples[i];
		all_points = get_end(axis, tuples[i], desc, &entries[i].end);
	}
	if (all_points)
	{
		sort_entries(entries, n);
		for (int i = 0; i < n; i++)
			tuples[i] = entries[i].tuple;
	}
	pfree(entries);
}
