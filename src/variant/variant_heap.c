/*-------------------------------------------------------------------------
 *
 * variant_heap.c
 *	  Rows of a table in the order of one of its btree indexes.
 *
 * An image begins with the fields of HeapTupleData that precede t_data: the
 * tuple's length, TID and table.  The tuple follows as it is on its page,
 * including its header.  The gap after the TID is zero, because the bytes of
 * images are the final tie-breaker.
 *
 * The order is by the index's key columns, then by TID, then by bytes.
 *
 * An exact key (key.h) of one word leaves room for the TID in the second word
 * of the entry.  The two words then decide the whole order, so rows with few
 * different keys need no comparison.
 *
 * Like the server's sort, ptsort evaluates the index's expressions again in
 * each comparison.  The executor state for this lives in the sort's memory
 * context and holds no resources except memory (the tuple descriptor is a copy
 * without a reference count).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_am_d.h"
#include "executor/executor.h"
#include "key/key.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Offset of the tuple in an image. */
#define HEAP_IMAGE_HEAD	MAXALIGN(offsetof(HeapTupleData, t_data))

typedef struct HeapSort
{
	TupleDesc	desc;
	IndexInfo  *info;
	int			nkeys;
	int			decided;		/* number of columns that the words decide */
	PtSortKey  *key;
	bool		tid_in_words;	/* the words include the TID and decide the
								 * whole order */
	EState	   *estate;			/* evaluates expressions; NULL if the index
								 * has none */
	TupleTableSlot *slot;		/* tuple for evaluating expressions */
	MemoryContext put_context;	/* reset by variant_put_heap for each tuple */
	HeapTupleData result;		/* the tuple that variant_get_heap returns */
} HeapSort;

static inline void
as_heap_tuple(const void *image, HeapTuple tuple)
{
	memcpy(tuple, image, offsetof(HeapTupleData, t_data));
	tuple->t_data = (HeapTupleHeader)
		((char *) unconstify(void *, image) + HEAP_IMAGE_HEAD);
}

static Size
heap_size(const void *image, void *state)
{
	return HEAP_IMAGE_HEAD + ((const HeapTupleData *) image)->t_len;
}

/* Evaluate the index's columns, in the per-tuple context. */
static void
evaluate(HeapSort *state, HeapTuple tuple, Datum *values, bool *isnull)
{
	ExecStoreHeapTuple(tuple, state->slot, false);
	FormIndexDatum(state->info, state->slot, state->estate, values, isnull);
	ExecClearTuple(state->slot);
}

/*
 * Compare the columns that the words do not decide.  If the index has
 * expressions, evaluates all columns before comparing any.
 */
static int
compare_rows(HeapSort *state, HeapTuple left, HeapTuple right)
{
	const AttrNumber *attnums = state->info->ii_IndexAttrNumbers;
	SortSupport support = state->key->support;
	Datum		left_values[INDEX_MAX_KEYS];
	Datum		right_values[INDEX_MAX_KEYS];
	bool		left_null[INDEX_MAX_KEYS];
	bool		right_null[INDEX_MAX_KEYS];
	int			cmp = 0;

	if (state->decided == state->nkeys)
		return 0;
	if (state->estate)
	{
		ResetPerTupleExprContext(state->estate);
		evaluate(state, left, left_values, left_null);
		evaluate(state, right, right_values, right_null);
	}
	for (int i = state->decided; i < state->nkeys && cmp == 0; i++)
	{
		if (!state->estate)
		{
			left_values[i] = heap_getattr(left, attnums[i], state->desc,
										  &left_null[i]);
			right_values[i] = heap_getattr(right, attnums[i], state->desc,
										   &right_null[i]);
		}
		cmp = ApplySortComparator(left_values[i], left_null[i],
								  right_values[i], right_null[i], &support[i]);
	}
	return cmp;
}

static int
heap_compare_keys(const void *a, const void *b, void *arg)
{
	HeapTupleData left;
	HeapTupleData right;

	as_heap_tuple(a, &left);
	as_heap_tuple(b, &right);
	return compare_rows(arg, &left, &right);
}

/* Returns the TID of a tuple as a word. */
static uint64
heap_last_word(const void *image)
{
	HeapTupleData tuple;

	as_heap_tuple(image, &tuple);
	return pt_tid_word(&tuple.t_self);
}

static int
heap_compare(const void *a, const void *b, void *arg)
{
	int			cmp = heap_compare_keys(a, b, arg);
	uint64		left = heap_last_word(a);
	uint64		right = heap_last_word(b);

	return cmp != 0 ? cmp : (left > right) - (left < right);
}

static bool
heap_string(const void *image, KeyString *string, void *arg)
{
	HeapSort   *state = arg;
	int			column = state->key->string_column;
	HeapTupleData tuple;
	bool		isnull;
	Datum		value;

	if (state->estate)
		return false;			/* images lack the values of expressions */
	as_heap_tuple(image, &tuple);
	value = heap_getattr(&tuple, state->info->ii_IndexAttrNumbers[column],
						 state->desc, &isnull);
	return !isnull && key_string(state->key, value, string);
}

static void
make_words(HeapSort *state, HeapTuple tuple, uint64 *words)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (state->estate && state->key->nwords > 0)
	{
		ResetPerTupleExprContext(state->estate);
		evaluate(state, tuple, values, isnull);
	}
	else
	{
		for (int i = 0; i < state->key->word_columns; i++)
			values[i] = heap_getattr(tuple, state->info->ii_IndexAttrNumbers[i],
									 state->desc, &isnull[i]);
	}
	key_words(state->key, values, isnull, words);
	if (state->tid_in_words)
		key_entry_set_tuple(words, state->key->nwords, &tuple->t_self, false);
}

static void
heap_rekey(const void *image, uint64 *words, void *arg)
{
	HeapTupleData tuple;

	as_heap_tuple(image, &tuple);
	make_words((HeapSort *) arg, &tuple, words);
}

static const SortVariant heap_variant = {
	.base = {
		.name = "heap tuple",
		.size = heap_size,
		.compare = heap_compare,
	},
	.rekey = heap_rekey,
	.string = heap_string,
	.compare_keys = heap_compare_keys,
	.last_word = heap_last_word,
};

/* Check that the index can order tuples with this descriptor. */
static void
check_columns(const HeapSort *state, Relation index)
{
	if (index->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot sort rows in the order of index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("It is not a btree index.")));
	for (int i = 0; i < state->nkeys; i++)
	{
		AttrNumber	attno = state->info->ii_IndexAttrNumbers[i];

		if (attno == 0)
			continue;			/* the executor checks expressions */
		if (attno < 0 || attno > state->desc->natts ||
			TupleDescAttr(state->desc, attno - 1)->atttypid !=
			get_atttype(index->rd_index->indrelid, attno))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot sort rows in the order of index \"%s\"",
							RelationGetRelationName(index)),
					 errdetail("Column %d of the rows does not match the column of the index's table.",
							   attno)));
	}
}

PtSort *
variant_begin_heap(TupleDesc desc, Relation index,
				   const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort heap tuples",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HeapSort   *state = palloc0(sizeof(HeapSort));
	int			nwords;
	PtSort	   *sort;

	state->desc = CreateTupleDescCopyConstr(desc);
	state->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	state->info = BuildIndexInfo(index);
	check_columns(state, index);
	state->key = key_index(index);
	state->decided = key_decided_columns(state->key);
	state->put_context = AllocSetContextCreate(context, "ptsort put",
											   ALLOCSET_SMALL_SIZES);
	if (state->info->ii_Expressions != NIL)
	{
		state->estate = CreateExecutorState();
		state->slot = MakeSingleTupleTableSlot(state->desc, &TTSOpsHeapTuple);
		GetPerTupleExprContext(state->estate)->ecxt_scantuple = state->slot;
	}
	nwords = state->key->nwords;
	state->tid_in_words = state->key->exact && nwords < PTSORT_MAX_WORDS;
	if (state->tid_in_words)
	{
		nwords++;
		state->decided = state->nkeys;
	}
	sort = sort_begin_own(&heap_variant, state->key, state, nwords, context,
						  options);
	MemoryContextSwitchTo(old);
	return sort;
}

void
variant_put_heap(PtSort *sort, HeapTuple tuple)
{
	HeapSort   *state = sort_state(sort, &heap_variant.base);
	MemoryContext old = MemoryContextSwitchTo(state->put_context);
	char	   *image = sort_place(sort, HEAP_IMAGE_HEAD + tuple->t_len);
	HeapTuple	head = (HeapTuple) image;
	uint64		words[KEY_ENTRY_WORDS];

	memset(image, 0, HEAP_IMAGE_HEAD);
	head->t_len = tuple->t_len;
	head->t_self = tuple->t_self;
	head->t_tableOid = tuple->t_tableOid;
	memcpy(image + HEAP_IMAGE_HEAD, tuple->t_data, tuple->t_len);
	make_words(state, tuple, words);
	sort_add(sort, words);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->put_context);
}

bool
variant_heap_follows(PtSort *sort, HeapTuple tuple, HeapTuple previous)
{
	HeapSort   *state = sort_state(sort, &heap_variant.base);
	MemoryContext old = MemoryContextSwitchTo(state->put_context);
	uint64		words[KEY_ENTRY_WORDS];
	uint64		before[KEY_ENTRY_WORDS];
	int			cmp;

	make_words(state, tuple, words);
	make_words(state, previous, before);
	cmp = order_compare_words(before, words, sort->order.nwords);
	if (cmp == 0)
		cmp = compare_rows(state, previous, tuple);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->put_context);
	return cmp <= 0;
}

HeapTuple
variant_get_heap(PtSort *sort, bool forward)
{
	HeapSort   *state = sort_state(sort, &heap_variant.base);
	const void *image = sort_next(sort, forward);

	if (image == NULL)
		return NULL;
	as_heap_tuple(image, &state->result);
	return &state->result;
}
