/*-------------------------------------------------------------------------
 *
 * variant_index.c
 *	  Index tuples in the order of their key columns and then their heap TIDs.
 *
 * Uniqueness (see src/README): recently dead tuples, which are never
 * duplicates, may lie between two live tuples with equal keys.
 * variant_put_index therefore marks dead tuples with a bit that nbtree leaves
 * to the access method, and watch_tuple or watch_entries compares the live
 * tuples around the dead tuples.
 *
 * If the key is exact, the image is one inline word (key_pack.h), and reading
 * makes each tuple from its entry, unless the caller reads entries.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/tupmacs.h"
#include "key/key.h"
#include "sort/tuplesort.h"
#include "util.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Marks a recently dead tuple while it is in a sort for a unique index. */
#define DEAD_BIT		INDEX_AM_RESERVED_BIT

typedef struct IndexSort
{
	Relation	heap;
	Relation	index;
	TupleDesc	desc;
	int			nkeys;
	AttrNumber	string_attno;	/* attribute of the key's string; 0 if the key
								 * has no string */
	bool		unique;
	bool		nulls_not_distinct;
	bool		postpone;		/* set 'postponed' instead of raising an error
								 * for a duplicate or a tuple that is too
								 * large */
	bool		postponed;		/* the sort postponed an error */
	bool		exact;			/* images are inline */
	PtSortKey  *key;
	SortSupport support;
	int			nwords;
	MemoryContext put_context;	/* reset by variant_put_index for each tuple */
	IndexTuple	scratch;		/* VARIANT_FORM_ROOM bytes, for a tuple being
								 * formed or read */

	/* For unique indexes: see watch_tuple and watch_entries. */
	IndexTuple	live;			/* copy of the live tuple read last */
	uint64		live_entry[KEY_ENTRY_WORDS];	/* exact key: last live entry */
	bool		have_live;
	bool		dead_followed;	/* a dead tuple was read after 'live' */
} IndexSort;

static Size
index_size(const void *tuple, void *state)
{
	return IndexTupleSize((IndexTuple) tuple);
}

static inline int
compare_keys(const IndexSort *state, IndexTuple a, IndexTuple b,
			 bool *equal_nulls)
{
	return variant_compare_columns(state->desc, state->support, state->nkeys,
								   a, b, equal_nulls);
}

/* Raise, or postpone, the server's error for live tuples with equal keys. */
static void
raise_duplicate(IndexSort *state, IndexTuple tuple)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key_desc;

	if (state->postpone)
	{
		state->postponed = true;
		return;
	}
	index_deform_tuple(tuple, state->desc, values, isnull);
	key_desc = BuildIndexValueDescription(state->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(state->index)),
			 key_desc ? errdetail("Key %s is duplicated.", key_desc) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(state->heap,
								RelationGetRelationName(state->index))));
}

static int
index_compare_keys(const void *a, const void *b, void *arg)
{
	bool		equal_nulls;

	return compare_keys(arg, (IndexTuple) a, (IndexTuple) b, &equal_nulls);
}

static int
index_compare(const void *a, const void *b, void *arg)
{
	int			cmp = index_compare_keys(a, b, arg);

	return cmp != 0 ? cmp :
		ItemPointerCompare(&((IndexTuple) a)->t_tid, &((IndexTuple) b)->t_tid);
}

/* Like index_compare, but also raises the error for two live duplicates. */
static int
unique_compare(const void *a, const void *b, void *arg)
{
	IndexSort  *state = arg;
	IndexTuple	left = (IndexTuple) a;
	IndexTuple	right = (IndexTuple) b;
	bool		equal_nulls;
	int			cmp = compare_keys(state, left, right, &equal_nulls);

	if (cmp != 0)
		return cmp;

	/* A sort may compare a tuple to itself; dead tuples are no duplicates. */
	if (left != right &&
		!((left->t_info | right->t_info) & DEAD_BIT) &&
		(!equal_nulls || state->nulls_not_distinct))
		raise_duplicate(state, left);

	return ItemPointerCompare(&left->t_tid, &right->t_tid);
}

/* True if these tuples are duplicates, provided that both are live. */
static bool
keys_are_duplicates(IndexSort *state, IndexTuple a, IndexTuple b)
{
	bool		equal_nulls;

	return compare_keys(state, a, b, &equal_nulls) == 0 &&
		(!equal_nulls || state->nulls_not_distinct);
}

static bool
unique_same_slice(const void *a, const void *b, void *arg)
{
	return keys_are_duplicates((IndexSort *) arg, (IndexTuple) a,
							   (IndexTuple) b);
}

static bool
index_string(const void *tuple, KeyString *string, void *arg)
{
	IndexSort  *state = arg;
	bool		isnull;
	Datum		value = index_getattr((IndexTuple) tuple, state->string_attno,
									  state->desc, &isnull);

	return !isnull && key_string(state->key, value, string);
}

static bool
index_same_key(const void *a, const void *b, void *arg)
{
	const IndexTupleData *left = a;
	const IndexTupleData *right = b;

	return left->t_info == right->t_info &&
		memcmp(left + 1, right + 1,
			   IndexTupleSize(left) - sizeof(IndexTupleData)) == 0;
}

static uint64
index_last_word(const void *tuple)
{
	return pt_tid_word(&((const IndexTupleData *) tuple)->t_tid);
}

static void
index_rekey(const void *tuple, uint64 *words, void *arg)
{
	IndexSort  *state = arg;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	for (int i = 0; i < state->key->word_columns; i++)
		values[i] = index_getattr((IndexTuple) tuple, i + 1, state->desc,
								  &isnull[i]);
	key_words(state->key, values, isnull, words);
}

static bool
index_has_postponed(const void *arg)
{
	return ((const IndexSort *) arg)->postponed;
}

static void
index_reset(void *arg)
{
	IndexSort  *state = arg;

	state->have_live = state->dead_followed = false;
}

static const SortVariant index_variant = {
	.base = {
		.name = "index tuple",
		.size = index_size,
		.compare = index_compare,
	},
	.rekey = index_rekey,
	.string = index_string,
	.same_key = index_same_key,
	.compare_keys = index_compare_keys,
	.last_word = index_last_word,
	.has_postponed = index_has_postponed,
	.reset = index_reset,
};

static const SortVariant index_unique_variant = {
	.base = {
		.name = "index tuple, unique key",
		.size = index_size,
		.compare = unique_compare,
		.same_slice = unique_same_slice,
	},
	.rekey = index_rekey,
	.string = index_string,
	.has_postponed = index_has_postponed,
	.reset = index_reset,
};

/* Like keys_are_duplicates, for entries with equal words. */
static bool
exact_same_slice(const uint64 *a, const uint64 *b, void *arg)
{
	IndexSort  *state = arg;

	if (!key_entry_same_tail(state->nwords, a, b))
		return false;
	if (state->nulls_not_distinct)
		return true;
	key_pack_tuple(&state->key->pack, a, state->scratch);
	return !IndexTupleHasNulls(state->scratch);
}

/* Raise the error for two entries with equal words if they are duplicates. */
static void
exact_check_equal(const uint64 *a, const uint64 *b, void *arg)
{
	IndexSort  *state = arg;

	if (a == b ||
		key_entry_is_dead(a, state->nwords) ||
		key_entry_is_dead(b, state->nwords) ||
		!exact_same_slice(a, b, arg))
		return;
	key_pack_tuple(&state->key->pack, a, state->scratch);
	raise_duplicate(state, state->scratch);
}

static const SortVariant exact_variant = {
	.base = {
		.name = "index tuple, exact key",
		.inline_image = true,
	},
};

static const SortVariant exact_unique_variant = {
	.base = {
		.name = "index tuple, exact unique key",
		.inline_image = true,
	},
	.check_equal = exact_check_equal,
	.same_slice = exact_same_slice,
	.has_postponed = index_has_postponed,
	.reset = index_reset,
};

static IndexSort *
make_state(Relation heap, Relation index, PtSortKey *key)
{
	IndexSort  *state = palloc0(sizeof(IndexSort));

	state->heap = heap;
	state->index = index;
	state->desc = RelationGetDescr(index);
	state->key = key;
	state->nkeys = key->ncolumns;
	state->string_attno = key->string_column + 1;
	state->support = key->support;
	state->nwords = key->nwords;
	state->put_context = AllocSetContextCreate(CurrentMemoryContext,
											   "ptsort put",
											   ALLOCSET_SMALL_SIZES);
	/* form_small and key_pack_tuple never write beyond the scratch */
	StaticAssertStmt(KEY_TUPLE_SIZE <= VARIANT_FORM_ROOM,
					 "an exact key's tuple must fit the scratch");
	state->scratch = palloc0(VARIANT_FORM_ROOM);
	return state;
}

PtSort *
variant_begin_index(Relation heap, Relation index, bool unique,
					bool nulls_not_distinct, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort index tuples",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IndexSort  *state = make_state(heap, index, key_index(index));
	const SortVariant *variant =
		unique ? &index_unique_variant : &index_variant;
	PtSort	   *sort;

	if (unique && options->bound > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("sort for a unique index cannot have a bound"),
				 errdetail("A sort with a bound does not compare dropped tuples with each other.")));
	state->unique = unique;
	state->nulls_not_distinct = nulls_not_distinct;
	/* A sort reads inline images only forward. */
	state->exact = state->key->exact && !options->random_access;
	if (unique && !state->exact)
		state->live = palloc(VARIANT_FORM_ROOM);
	if (state->exact)
		variant = unique ? &exact_unique_variant : &exact_variant;
	sort = sort_begin_own(variant, state->exact ? NULL : state->key, state,
						  state->nwords, context, options);
	MemoryContextSwitchTo(old);
	return sort;
}

static IndexSort *
index_state(PtSort *sort)
{
	const PtSortVariant *variant = sort_variant(sort);

	if (variant == &exact_variant.base ||
		variant == &exact_unique_variant.base ||
		variant == &index_unique_variant.base)
		return sort_state(sort, variant);
	return sort_state(sort, &index_variant.base);
}

static void
put_exact(IndexSort *state, PtSort *sort, ItemPointer tid,
		  const Datum *values, const bool *isnull, bool alive)
{
	uint64		entry[KEY_ENTRY_WORDS];

	key_words(state->key, values, isnull, entry);
	key_entry_set_tuple(entry, state->nwords, tid, state->unique && !alive);
	sort_put_entry(sort, entry);
}

/* True if index_form_tuple, which could compress values, may raise an error. */
static bool
may_be_too_large(TupleDesc desc, const Datum *values, const bool *isnull)
{
	Size		size = MAXALIGN(sizeof(IndexTupleData) +
								sizeof(IndexAttributeBitMapData));

	for (int i = 0; i < desc->natts; i++)
	{
		int16		len = TupleDescAttr(desc, i)->attlen;

		if (isnull[i])
			continue;
		if (len == -1)
			size += MAXALIGN(VARHDRSZ + toast_datum_size(values[i]));
		else
			size += MAXALIGN(len > 0 ? len : NAMEDATALEN);
	}
	return size > INDEX_SIZE_MASK;
}

/*
 * Advance to the next multiple of an attribute's alignment, and zero the gap.
 * Writes a whole word of zeros: for fewer bytes gcc would call memset().
 */
static inline char *
align(char *at, char attalign)
{
	memset(at, 0, MAXIMUM_ALIGNOF);
	return (char *) att_align_nominal((uintptr_t) at, attalign);
}

/* Store a value of fixed length.  Returns the value's end. */
static inline char *
store_fixed(Form_pg_attribute att, char *at, Datum value)
{
	at = align(at, att->attalign);
	if (att->attbyval)
		store_att_byval(at, value, att->attlen);
	else
		memcpy(at, DatumGetPointer(value), att->attlen);
	return at + att->attlen;
}

/*
 * index_form_tuple() for small values: it allocates nothing and visits each
 * value once, not three times.  Writes the tuple without its TID to 'target',
 * and may overwrite VARIANT_FORM_ROOM bytes there.  Returns false if a value is
 * null or too long for a short varlena, or if the tuple would be too large.
 */
static bool
form_small(TupleDesc desc, const Datum *values, const bool *isnull,
		   IndexTuple target)
{
	char	   *at = (char *) target + MAXALIGN(sizeof(IndexTupleData));
	char	   *end = (char *) target + INDEX_SIZE_MASK - MAXIMUM_ALIGNOF;
	uint16		infomask = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const struct varlena *value =
			(const struct varlena *) DatumGetPointer(values[i]);
		Size		size;

		if (isnull[i] || att->attlen < -1)
			return false;
		if (att->attlen > 0)
		{
			if (end - at < att->attlen + MAXIMUM_ALIGNOF)
				return false;
			at = store_fixed(att, at, values[i]);
			continue;
		}
		size = variant_short_size(att, value);
		if (size == 0 || end - at < (ptrdiff_t) size)
			return false;
		if (VARATT_IS_SHORT(value))
			pt_copy(at, value, size);
		else
		{
			SET_VARSIZE_SHORT(at, size);
			pt_copy(at + VARHDRSZ_SHORT, VARDATA(value), size - VARHDRSZ_SHORT);
		}
		at += size;
		infomask = INDEX_VAR_MASK;
	}
	at = align(at, TYPALIGN_DOUBLE);
	target->t_info = infomask | (at - (char *) target);
	return true;
}

/* Put a tuple.  Forms a tuple of small values in place, if memory has room. */
static void
put_formed(IndexSort *state, PtSort *sort, ItemPointer tid, const Datum *values,
		   const bool *isnull, bool alive)
{
	IndexTuple	place = sort_next_place(sort, VARIANT_FORM_ROOM);
	IndexTuple	tuple = place != NULL ? place : state->scratch;
	uint64		words[KEY_ENTRY_WORDS];

	if (!form_small(state->desc, values, isnull, tuple))
	{
		if (state->postpone &&
			may_be_too_large(state->desc, values, isnull))
		{
			state->postponed = true;
			return;
		}
		place = NULL;
		tuple = index_form_tuple(state->desc, (Datum *) values,
								 (bool *) isnull);
	}
	tuple->t_tid = *tid;
	if (state->unique && !alive)
		tuple->t_info |= DEAD_BIT;
	/* sort_place may make the key learn, so call it before key_words */
	if (place == NULL)
		memcpy(sort_place(sort, IndexTupleSize(tuple)), tuple,
			   IndexTupleSize(tuple));
	key_words(state->key, values, isnull, words);
	if (place == NULL)
		sort_add(sort, words);
	else
		sort_add_next(sort, IndexTupleSize(tuple), words);
}

void
variant_postpone_errors(PtSort *sort)
{
	index_state(sort)->postpone = true;
}

void
variant_put_index(PtSort *sort, ItemPointer tid, const Datum *values,
				  const bool *isnull, bool alive)
{
	IndexSort  *state = index_state(sort);
	MemoryContext old;

	if (state->exact)
	{
		put_exact(state, sort, tid, values, isnull, alive);
		return;
	}
	old = MemoryContextSwitchTo(state->put_context);
	put_formed(state, sort, tid, values, isnull, alive);
	MemoryContextSwitchTo(old);
	/* usually there is nothing to reset, so test before the call */
	if (unlikely(!state->put_context->isReset ||
				 state->put_context->firstchild != NULL))
		MemoryContextReset(state->put_context);
}

/*
 * Check for two live tuples with equal keys and only dead tuples between them.
 * Returns 'tuple' or, if it is dead, an unmarked copy: the sort still compares
 * the marked original.
 */
static IndexTuple
watch_tuple(IndexSort *state, IndexTuple tuple, bool forward)
{
	if (!forward)
		index_reset(state);
	if (tuple->t_info & DEAD_BIT)
	{
		memcpy(state->scratch, tuple, IndexTupleSize(tuple));
		state->scratch->t_info &= ~DEAD_BIT;
		state->dead_followed = true;
		return state->scratch;
	}
	if (state->have_live && state->dead_followed &&
		keys_are_duplicates(state, state->live, tuple))
		raise_duplicate(state, tuple);
	memcpy(state->live, tuple, IndexTupleSize(tuple));
	state->have_live = true;
	state->dead_followed = false;
	return tuple;
}

/* Raise the error if an entry has the key of the live entry read before it. */
static pg_noinline void
check_live_entry(IndexSort *state, const uint64 *live, const uint64 *entry)
{
	if (live != NULL &&
		order_compare_words(live, entry, state->nwords) == 0)
		exact_check_equal(live, entry, state);
	state->dead_followed = false;
}

/* Like watch_tuple, for the next n entries of an exact key. */
static void
watch_entries(IndexSort *state, const uint64 *entries, int n)
{
	const int	stride = state->nwords + 1;
	const uint64 *live = state->have_live ? state->live_entry : NULL;

	for (int i = 0; i < n; i++)
	{
		const uint64 *entry = entries + i * stride;

		if (unlikely(key_entry_is_dead(entry, state->nwords)))
		{
			state->dead_followed = true;
			continue;
		}
		if (unlikely(state->dead_followed))
			check_live_entry(state, live, entry);
		live = entry;
	}
	state->have_live = live != NULL;
	if (live != NULL)
		memmove(state->live_entry, live, stride * sizeof(uint64));
}

static IndexTuple
get_exact(IndexSort *state, PtSort *sort, bool forward)
{
	const uint64 *entry = sort_next_entry(sort, forward);

	if (entry == NULL)
		return NULL;
	if (state->unique)
		watch_entries(state, entry, 1);
	key_pack_tuple(&state->key->pack, entry, state->scratch);
	key_entry_tid(entry, state->nwords, &state->scratch->t_tid);
	return state->scratch;
}

IndexTuple
variant_get_index(PtSort *sort, bool forward)
{
	IndexSort  *state = index_state(sort);
	IndexTuple	tuple;

	if (state->exact)
		return get_exact(state, sort, forward);
	tuple = (IndexTuple) sort_next(sort, forward);
	return tuple == NULL || !state->unique ? tuple :
		watch_tuple(state, tuple, forward);
}

PtSortKey *
variant_index_exact_key(PtSort *sort)
{
	IndexSort  *state = index_state(sort);

	return state->exact ? state->key : NULL;
}

const uint64 *
variant_get_index_entries(PtSort *sort, int *n)
{
	IndexSort  *state = index_state(sort);
	const uint64 *entries = sort_get_entries(sort, n);

	if (state->unique && entries != NULL)
		watch_entries(state, entries, *n);
	return entries;
}
