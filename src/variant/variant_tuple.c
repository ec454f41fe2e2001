/*-------------------------------------------------------------------------
 *
 * variant_tuple.c
 *	  Sorts of minimal tuples by some of their columns.
 *
 * An image is the minimal tuple itself, which begins with its length.  Like the
 * server's sort, ptsort keeps toast pointers.
 *
 * Bytes order tuples with equal keys.  ptsort clears what a minimal tuple made
 * from a table row still has of the row's header, so that the order depends on
 * the values alone.
 *
 * Padding follows the length; the server never reads it.  If the first key
 * column is by reference, ptsort stores the offset of the column's value there:
 * comparisons then need not skip the variable-length columns before this
 * column.  The padding takes no part in the order, and ptsort clears it before
 * it returns a tuple.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/htup_details.h"
#include "key/key.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Header bits that describe the tuple's values. */
#define VALUE_INFOMASK	(HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL)
#define VALUE_INFOMASK2 HEAP_NATTS_MASK

/*
 * A sort reads little of a row that it drops, so the processor does not detect
 * that rows follow each other in a page.  ptsort therefore prefetches the
 * first BYTES_AHEAD bytes of the row that is ROWS_AHEAD rows ahead, if rows are
 * as far apart as the caller's last two rows.
 */
#define ROWS_AHEAD		6
#define BYTES_AHEAD		128

typedef struct TupleState
{
	PtSortKey  *key;
	TupleDesc	desc;
	int			nkeys;
	int			decided;		/* number of leading keys that are equal if
								 * the words are equal */
	AttrNumber *attnums;
	bool		first_by_value; /* the first key column is by value */
	const char *row_before;		/* address of the caller's last row */

	/*
	 * Key values of the tuple that the caller puts: all if there is a bound,
	 * otherwise only those that the words represent.
	 */
	int			nvalues;
	AttrNumber	last_attnum;	/* largest attnum of these values */
	bool		direct;			/* last_attnum follows only fixed-length
								 * columns */
	Datum	   *values;
	bool	   *isnull;
} TupleState;

/* The place of the first key column's value in a tuple; 0 if unknown. */
typedef uint16 FirstPlace;

StaticAssertDecl(sizeof(FirstPlace) <=
				 sizeof(((MinimalTuple) NULL)->mt_padding),
				 "a minimal tuple has too little padding");

static Size
tuple_size(const void *tuple, void *state)
{
	return ((const MinimalTupleData *) tuple)->t_len;
}

/* Set up heap_tuple so that the server can read a minimal tuple. */
static inline void
as_heap_tuple(HeapTuple heap_tuple, const void *tuple)
{
	MinimalTuple minimal = (MinimalTuple) unconstify(void *, tuple);

	heap_tuple->t_len = minimal->t_len + MINIMAL_TUPLE_OFFSET;
	heap_tuple->t_data =
		(HeapTupleHeader) ((char *) minimal - MINIMAL_TUPLE_OFFSET);
}

/*
 * Store the place of the first key column's value.  state->values[0] points
 * into a tuple that begins at 'start' and has the layout of 'tuple'.  (If ALTER
 * TABLE added the column to an existing row, the value may be in no tuple.)
 */
static inline void
keep_first(const TupleState *state, MinimalTuple tuple, const char *start)
{
	FirstPlace	place = 0;

	if (!state->first_by_value && !state->isnull[0])
	{
		ptrdiff_t	offset = (char *) DatumGetPointer(state->values[0]) - start;

		if (offset > 0 && offset <= PG_UINT16_MAX &&
			offset < tuple->t_len + MINIMAL_TUPLE_OFFSET)
			place = offset;
	}
	memcpy(tuple->mt_padding, &place, sizeof(place));
}

static inline Datum
image_value(const TupleState *state, const void *image, int key, bool *isnull)
{
	HeapTupleData tuple;
	FirstPlace	place = 0;

	as_heap_tuple(&tuple, image);
	if (key == 0)
		memcpy(&place, ((const MinimalTupleData *) image)->mt_padding,
			   sizeof(place));
	if (place == 0)
		return heap_getattr(&tuple, state->attnums[key], state->desc, isnull);
	*isnull = false;
	return PointerGetDatum((char *) tuple.t_data + place);
}

/*
 * True if two values of the first key column have the same bytes and need no
 * comparison.  Other columns need not have words, and comparing records, for
 * example, may raise an error even if the bytes are equal.
 */
static inline bool
is_same_value(const TupleState *state, int key, Datum a, Datum b)
{
	Form_pg_attribute att = TupleDescAttr(state->desc, state->attnums[0] - 1);

	if (key > 0)
		return false;
	if (att->attlen == -1)
	{
		/* datumIsEqual() does the same, but calls functions to get sizes */
		Size		size = VARSIZE_ANY(DatumGetPointer(a));

		return size == VARSIZE_ANY(DatumGetPointer(b)) &&
			memcmp(DatumGetPointer(a), DatumGetPointer(b), size) == 0;
	}
	return datumIsEqual(a, b, att->attbyval, att->attlen);
}

/* Compare two tuples by their key columns, beginning with column 'key'. */
static inline int
compare_from(TupleState *state, const void *a, const void *b, int key)
{
	int			result = 0;

	for (int i = key; i < state->nkeys && result == 0; i++)
	{
		bool		left_null;
		bool		right_null;
		Datum		left = image_value(state, a, i, &left_null);
		Datum		right = image_value(state, b, i, &right_null);

		if (!left_null && !right_null &&
			is_same_value(state, i, left, right))
			continue;
		result = ApplySortComparator(left, left_null, right, right_null,
									 &state->key->support[i]);
	}
	return result;
}

static int
tuple_compare(const void *a, const void *b, void *arg)
{
	return compare_from(arg, a, b, ((TupleState *) arg)->decided);
}

static bool
tuple_same_key(const void *a, const void *b, void *arg)
{
	TupleState *state = (TupleState *) arg;
	bool		left_null;
	bool		right_null;
	Datum		left = image_value(state, a, 0, &left_null);
	Datum		right = image_value(state, b, 0, &right_null);

	return !left_null && !right_null &&
		is_same_value(state, 0, left, right) &&
		(state->nkeys == 1 ||
		 compare_from(state, a, b, Max(state->decided, 1)) == 0);
}

static int
tuple_compare_values(const Datum *values, const bool *isnull,
					 const void *tuple, void *arg)
{
	TupleState *state = (TupleState *) arg;
	int			result = 0;

	for (int i = state->decided; i < state->nkeys && result == 0; i++)
	{
		bool		right_null;
		Datum		right = image_value(state, tuple, i, &right_null);

		result = ApplySortComparator(values[i], isnull[i], right, right_null,
									 &state->key->support[i]);
	}
	return result;
}

static bool
tuple_string(const void *tuple, KeyString *string, void *arg)
{
	const TupleState *state = arg;
	bool		isnull;
	Datum		value = image_value(state, tuple, state->key->string_column,
									&isnull);

	return !isnull && key_string(state->key, value, string);
}

static void
tuple_rekey(const void *tuple, uint64 *words, void *arg)
{
	TupleState *state = (TupleState *) arg;

	for (int i = 0; i < state->key->word_columns; i++)
		state->values[i] = image_value(state, tuple, i, &state->isnull[i]);
	key_words(state->key, state->values, state->isnull, words);
}

static const SortVariant tuple_variant = {
	.base = {
		.name = "minimal tuple",
		.size = tuple_size,
		.compare = tuple_compare,
	},
	.rekey = tuple_rekey,
	.string = tuple_string,
	.same_key = tuple_same_key,
	.compare_values = tuple_compare_values,
	/* padding follows the length, see keep_first */
	.head_bytes = sizeof(((MinimalTuple) NULL)->t_len),
};

/* Set the fields that say which key values the put functions read. */
static void
find_keys(TupleState *state, bool bound)
{
	state->nvalues = bound ? state->nkeys : Max(state->key->word_columns, 1);
	for (int i = 0; i < state->nvalues; i++)
		state->last_attnum = Max(state->last_attnum, state->attnums[i]);
	state->direct = true;
	for (int i = 0; i < state->last_attnum - 1; i++)
		state->direct &= TupleDescAttr(state->desc, i)->attlen > 0;
}

PtSort *
variant_begin_tuple(TupleDesc desc, int nkeys, const AttrNumber *attnums,
					const Oid *lt_operators, const Oid *collations,
					const bool *nulls_first, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort minimal tuples",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	TupleState *state = palloc0(sizeof(TupleState));

	/* key_operators checks nkeys */
	state->key = key_operators(nkeys, lt_operators, collations, nulls_first);
	for (int i = 0; i < nkeys; i++)
	{
		if (attnums[i] < 1 || attnums[i] > desc->natts)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column %d cannot be a sort key of a tuple of %d columns",
							attnums[i], desc->natts)));
	}
	state->decided = key_decided_columns(state->key);
	state->desc = CreateTupleDescCopyConstr(desc);
	state->nkeys = nkeys;
	state->attnums = palloc(nkeys * sizeof(AttrNumber));
	memcpy(state->attnums, attnums, nkeys * sizeof(AttrNumber));
	state->values = palloc(nkeys * sizeof(Datum));
	state->isnull = palloc(nkeys * sizeof(bool));
	find_keys(state, options->bound > 0);
	state->first_by_value = TupleDescAttr(desc, attnums[0] - 1)->attbyval;
	MemoryContextSwitchTo(caller);
	return sort_begin_own(&tuple_variant, state->key, state,
						  state->key->nwords, context, options);
}

/* Read the first nvalues key values of a tuple. */
static inline void
tuple_values(TupleState *state, HeapTuple tuple)
{
	for (int i = 0; i < state->nvalues; i++)
		state->values[i] = heap_getattr(tuple, state->attnums[i], state->desc,
										&state->isnull[i]);
}

/* Returns the heap tuple of the slot, or NULL if the slot has none. */
static inline HeapTuple
slot_heap_tuple(TupleTableSlot *slot)
{
	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
		return ((HeapTupleTableSlot *) slot)->tuple;
	return NULL;
}

/* Read the first nvalues key values of a slot. */
static inline void
slot_values(TupleState *state, TupleTableSlot *slot)
{
	HeapTuple	tuple = state->direct ? slot_heap_tuple(slot) : NULL;

	if (tuple != NULL)
	{
		tuple_values(state, tuple);
		return;
	}
	slot_getsomeattrs(slot, state->last_attnum);
	for (int i = 0; i < state->nvalues; i++)
	{
		state->values[i] = slot->tts_values[state->attnums[i] - 1];
		state->isnull[i] = slot->tts_isnull[state->attnums[i] - 1];
	}
}

/*
 * Copy a minimal tuple, or the end of a heap tuple, into the sort.  The caller
 * must fill state->values afterwards: sort_place may overwrite them.
 */
static inline MinimalTuple
copy_tuple(PtSort *sort, const void *tuple, Size size)
{
	MinimalTuple place = sort_place(sort, size);

	memcpy(place, tuple, size);
	place->t_len = size;
	memset(place->mt_padding, 0, sizeof(place->mt_padding));
	place->t_infomask &= VALUE_INFOMASK;
	place->t_infomask2 &= VALUE_INFOMASK2;
	return place;
}

/*
 * Add the tuple that is in the reserved place.  The datums in state->values
 * point into a tuple that begins at 'start' and has the layout of 'place'.
 */
static inline void
add_tuple(PtSort *sort, TupleState *state, MinimalTuple place,
		  const char *start)
{
	uint64		words[KEY_ENTRY_WORDS];

	key_words(state->key, state->values, state->isnull, words);
	keep_first(state, place, start);
	sort_add(sort, words);
}

void
variant_put_tuple(PtSort *sort, MinimalTuple tuple)
{
	TupleState *state = sort_state(sort, &tuple_variant.base);
	MinimalTuple place = copy_tuple(sort, tuple, tuple->t_len);
	HeapTupleData heap_tuple;

	as_heap_tuple(&heap_tuple, place);
	tuple_values(state, &heap_tuple);
	add_tuple(sort, state, place, (char *) heap_tuple.t_data);
}

/*
 * Returns the value of the first key column in a tuple formed with 'desc'.  If
 * the tuple ends with this column, a short value's size tells where it begins.
 */
static inline Datum
formed_value(TupleState *state, TupleDesc desc, HeapTuple tuple)
{
	const int	key = state->attnums[0] - 1;
	Form_pg_attribute att = TupleDescAttr(desc, key);
	Size		size = 0;
	Datum		value;

	if (att->attlen == -1 && key + 1 == desc->natts)
		size = variant_short_size(att, (struct varlena *)
								  DatumGetPointer(state->values[0]));
	if (size == 0)
		return heap_getattr(tuple, key + 1, desc, &state->isnull[0]);
	value = PointerGetDatum((char *) tuple->t_data + tuple->t_len - size);
	Assert(value == heap_getattr(tuple, key + 1, desc, &state->isnull[0]));
	return value;
}

/* Put the values of a slot: form a minimal tuple in the sort's memory. */
static void
put_values(PtSort *sort, TupleState *state, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	bool		hasnull = memchr(slot->tts_isnull, true, desc->natts) != NULL;
	int			hoff = MAXALIGN(SizeofMinimalTupleHeader +
								(hasnull ? BITMAPLEN(desc->natts) : 0));
	Size		data_size = heap_compute_data_size(desc, slot->tts_values,
												   slot->tts_isnull);
	MinimalTuple place;
	HeapTupleData heap_tuple;
	uint64		words[KEY_ENTRY_WORDS];

	if (desc->natts > MaxTupleAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("number of columns (%d) exceeds limit (%d)",
						desc->natts, MaxTupleAttributeNumber)));
	place = sort_place(sort, hoff + data_size);
	/* alignment padding stays zero */
	memset(place, 0, hoff + data_size);
	place->t_len = hoff + data_size;
	HeapTupleHeaderSetNatts(place, desc->natts);
	place->t_hoff = hoff + MINIMAL_TUPLE_OFFSET;
	heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull,
					(char *) place + hoff, data_size, &place->t_infomask,
					hasnull ? place->t_bits : NULL);
	slot_values(state, slot);
	key_words(state->key, state->values, state->isnull, words);
	as_heap_tuple(&heap_tuple, place);
	if (!state->first_by_value && !state->isnull[0])
		state->values[0] = formed_value(state, desc, &heap_tuple);
	keep_first(state, place, (char *) heap_tuple.t_data);
	sort_add(sort, words);
}

static inline void
prefetch_rows(TupleState *state, const HeapTupleData *tuple)
{
	const char *row = (const char *) tuple->t_data;
	ptrdiff_t	distance = row - state->row_before;

	state->row_before = row;
	if (distance > -BLCKSZ && distance < BLCKSZ)
	{
		row += ROWS_AHEAD * distance;
		for (int i = 0; i <= BYTES_AHEAD; i += CACHE_LINE)
			pt_prefetch(row + i);
	}
}

void
variant_put_slot(PtSort *sort, TupleTableSlot *slot)
{
	TupleState *state = sort_state(sort, &tuple_variant.base);
	HeapTuple	heap_tuple = slot_heap_tuple(slot);
	MinimalTuple tuple;

	if (bounded_may_drop(sort))
	{
		if (heap_tuple != NULL)
			prefetch_rows(state, heap_tuple);
		slot_values(state, slot);
		if (bounded_drops(sort, state->values, state->isnull))
			return;
	}
	if (heap_tuple != NULL)
	{
		tuple = copy_tuple(sort, (char *) heap_tuple->t_data +
						   MINIMAL_TUPLE_OFFSET,
						   heap_tuple->t_len - MINIMAL_TUPLE_OFFSET);
		slot_values(state, slot);
		add_tuple(sort, state, tuple, (char *) heap_tuple->t_data);
	}
	else if (slot->tts_nvalid == slot->tts_tupleDescriptor->natts &&
			 !TTS_IS_MINIMALTUPLE(slot))
		put_values(sort, state, slot);
	else if (slot->tts_ops->get_minimal_tuple != NULL)
		variant_put_tuple(sort, slot->tts_ops->get_minimal_tuple(slot));
	else
	{
		/* a slot of a table access method other than heap */
		tuple = ExecCopySlotMinimalTuple(slot);
		variant_put_tuple(sort, tuple);
		heap_free_minimal_tuple(tuple);
	}
}

MinimalTuple
variant_get_tuple(PtSort *sort, bool forward)
{
	TupleState *state = sort_state(sort, &tuple_variant.base);
	MinimalTuple tuple = unconstify(void *, sort_next(sort, forward));

	/* return the tuple as the caller put it */
	if (tuple != NULL && !state->first_by_value)
		memset(tuple->mt_padding, 0, sizeof(tuple->mt_padding));
	return tuple;
}

bool
variant_get_slot(PtSort *sort, bool forward, TupleTableSlot *slot)
{
	MinimalTuple tuple = variant_get_tuple(sort, forward);

	if (tuple == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(tuple, slot, false);
	return true;
}
