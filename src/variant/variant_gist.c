/*-------------------------------------------------------------------------
 *
 * variant_gist.c
 *	  GiST index tuples in the order of their classes' sort support.
 *
 * The order is that of the server's sorted build (tuplesort_begin_index_gist):
 * column by column, nulls last, then by heap TID.  Any order gives a correct
 * index, so probing whether abbreviated keys are integers suffices.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/gist_private.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

typedef struct GistSort
{
	Relation	index;
	TupleDesc	desc;
	GISTSTATE  *gist;
	int			nkeys;
	SortSupportData first;		/* first column, with abbreviated keys */
	SortSupport support;		/* all columns, for complete keys */
	bool		abbreviates;	/* the word is an abbreviated key */
	MemoryContext put_context;	/* reset by variant_put_gist for each tuple */
} GistSort;

static Size
gist_size(const void *tuple, void *state)
{
	return IndexTupleSize((IndexTuple) tuple);
}

static int
gist_compare(const void *a, const void *b, void *arg)
{
	GistSort   *state = arg;
	IndexTuple	left = (IndexTuple) a;
	IndexTuple	right = (IndexTuple) b;
	bool		equal_nulls;
	int			cmp = variant_compare_columns(state->desc, state->support,
											  state->nkeys, left, right,
											  &equal_nulls);

	return cmp != 0 ? cmp : ItemPointerCompare(&left->t_tid, &right->t_tid);
}

static const PtSortVariant gist_variant = {
	.name = "GiST index tuple",
	.size = gist_size,
	.compare = gist_compare
};

static void
prepare_column(SortSupport support, Relation index, int column,
			   bool abbreviate)
{
	support->ssup_cxt = CurrentMemoryContext;
	support->ssup_collation = index->rd_indcollation[column];
	support->ssup_nulls_first = false;
	support->ssup_attno = column + 1;
	support->abbreviate = abbreviate;
	PrepareSortSupportFromGistIndexRel(index, support);
}

/*
 * True if the comparison of abbreviated keys orders them as unsigned integers.
 * To PostGIS, the key 0 means "compare the complete keys", so the probes do not
 * include 0.
 */
static bool
orders_integers(SortSupport support)
{
	static const uint64 ascending[] = {
		1, 2, UINT64CONST(1) << 32, PG_INT64_MAX,
		(UINT64CONST(1) << 63) + 1, PG_UINT64_MAX
	};

	for (int i = 0; i < lengthof(ascending); i++)
	{
		for (int j = 0; j < lengthof(ascending); j++)
		{
			Datum		left = UInt64GetDatum(ascending[i]);
			Datum		right = UInt64GetDatum(ascending[j]);
			int			cmp = support->comparator(left, right, support);

			if ((cmp < 0) != (i < j) || (cmp > 0) != (i > j))
				return false;
		}
	}
	return true;
}

PtSort *
variant_begin_gist(Relation index, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort GiST tuples",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GistSort   *state = palloc0(sizeof(GistSort));
	PtSort	   *sort;

	state->index = index;
	state->desc = RelationGetDescr(index);
	state->gist = initGISTstate(index);
	state->gist->tempCxt = createTempGistContext();
	state->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	state->support = palloc0(state->nkeys * sizeof(SortSupportData));
	for (int i = 0; i < state->nkeys; i++)
		prepare_column(&state->support[i], index, i, false);
	prepare_column(&state->first, index, 0, true);
	state->abbreviates = state->first.abbrev_converter != NULL &&
		orders_integers(&state->first);
	state->put_context = AllocSetContextCreate(context, "ptsort put",
											   ALLOCSET_DEFAULT_SIZES);
	sort = sort_begin(&gist_variant, state, state->abbreviates ? 1 : 0,
					  context, options);
	MemoryContextSwitchTo(old);
	return sort;
}

void
variant_put_gist(PtSort *sort, ItemPointer tid, Datum *values, bool *isnull)
{
	GistSort   *state = sort_state(sort, &gist_variant);
	MemoryContext old = MemoryContextSwitchTo(state->put_context);
	Datum		compressed[INDEX_MAX_KEYS];
	IndexTuple	tuple;
	uint64		word = PG_UINT64_MAX;

	gistCompressValues(state->gist, state->index, values, isnull, true,
					   compressed);
	tuple = index_form_tuple(state->desc, compressed, isnull);
	tuple->t_tid = *tid;
	if (state->abbreviates)
	{
		bool		null;
		Datum		key = index_getattr(tuple, 1, state->desc, &null);

		if (!null)
			word = DatumGetUInt64(state->first.abbrev_converter(key,
																&state->first));
	}
	sort_put(sort, tuple, IndexTupleSize(tuple), &word);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->put_context);
}

IndexTuple
variant_get_gist(PtSort *sort)
{
	return (IndexTuple) sort_next(sort, true);
}
