/*-------------------------------------------------------------------------
 *
 * variant_gin.c
 *	  Records of GIN indexes (ginrecord.h), in the order of the entry tree.
 *
 * The order is that of ginCompareAttEntries(): by column, then by category,
 * then by the operator class's comparison; records of one key are in the order
 * of their first TIDs.  The word is that of a btree key, if the comparison is
 * the btree comparison of the key's type, or known to order bytes.  If the
 * index has several columns, the number of the column comes first in the word.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_operator_d.h"
#include "key/key.h"
#include "sort/tuplesort.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
#include "variant/variants.h"

/* Bits of a word for the column */
#define COLUMN_BITS		6

StaticAssertDecl(INDEX_MAX_KEYS < 1 << COLUMN_BITS, "too many columns");

static Size
gin_size(const void *record, void *state)
{
	return ((const GinRecord *) record)->size;
}

static bool
gin_same_key(const void *a, const void *b, void *arg)
{
	const GinRecord *left = a;
	const GinRecord *right = b;

	return left->key_size == right->key_size &&
		left->column == right->column && left->category == right->category &&
		memcmp(left->key, right->key, left->key_size) == 0;
}

/* Compare as varstr_cmp() does in "C". */
static int
compare_strings(const GinRecord *left, const GinRecord *right)
{
	int			cmp = memcmp(left->key + VARHDRSZ, right->key + VARHDRSZ,
							 Min(left->key_size, right->key_size) - VARHDRSZ);

	if (cmp != 0)
		return cmp;
	return (left->key_size > right->key_size) -
		(left->key_size < right->key_size);
}

static int
gin_compare_keys(const void *a, const void *b, void *arg)
{
	GinOrder   *state = arg;
	const GinRecord *left = a;
	const GinRecord *right = b;
	int			i = left->column - 1;
	Form_pg_attribute att = TupleDescAttr(state->gin.origTupdesc, i);

	if (left->column != right->column)
		return left->column < right->column ? -1 : 1;
	if (state->bytewise[i] && left->category == GIN_CAT_NORM_KEY &&
		right->category == GIN_CAT_NORM_KEY)
		return compare_strings(left, right);
	return ginCompareEntries(&state->gin, left->column,
							 ginrecord_key(left, att), left->category,
							 ginrecord_key(right, att), right->category);
}

static uint64
gin_first_tid(const void *record)
{
	return ((const GinRecord *) record)->first;
}

static int
gin_compare(const void *a, const void *b, void *arg)
{
	int			cmp = gin_same_key(a, b, arg) ? 0 :
		gin_compare_keys(a, b, arg);
	uint64		left = gin_first_tid(a);
	uint64		right = gin_first_tid(b);

	return cmp != 0 ? cmp : (left > right) - (left < right);
}

static const SortVariant gin_variant = {
	.base = {
		.name = "GIN record",
		.size = gin_size,
		.compare = gin_compare,
	},
	.same_key = gin_same_key,
	.compare_keys = gin_compare_keys,
	.last_word = gin_first_tid,
};

/* Returns a key that makes words in the order of a column, or NULL. */
static PtSortKey *
column_key(GinOrder *state, int i)
{
	Form_pg_attribute att = TupleDescAttr(state->gin.origTupdesc, i);
	Oid			compare = state->gin.compareFn[i].fn_oid;
	Oid			collation = state->gin.supportCollation[i];
	TypeCacheEntry *type = lookup_type_cache(att->atttypid,
											 TYPECACHE_CMP_PROC |
											 TYPECACHE_LT_OPR);
	bool		in_c = pt_collate_is_c(collation);
	PtSortKey  *key;

	if (compare == F_GIN_CMP_TSLEXEME || compare == F_GIN_COMPARE_JSONB ||
		(compare == F_BTTEXTCMP && in_c))
	{
		state->bytewise[i] = true;
		key = key_datum(TEXTOID, TextLessOperator, C_COLLATION_OID, false);
	}
	else if (compare == type->cmp_proc && OidIsValid(type->lt_opr) &&
			 (!OidIsValid(get_typcollation(att->atttypid)) || in_c))
		key = key_datum(att->atttypid, type->lt_opr, collation, false);
	else
		return NULL;
	if (key->learning)
		(void) key_forgo_learning(key, false);
	return key->nwords > 0 ? key : NULL;
}

GinOrder *
variant_gin_order(Relation index)
{
	GinOrder   *state = palloc0(sizeof(GinOrder));

	initGinState(&state->gin, index);
	state->ncolumns = RelationGetDescr(index)->natts;
	for (int i = 0; i < state->ncolumns; i++)
		state->keys[i] = column_key(state, i);
	return state;
}

int
variant_gin_compare_keys(GinOrder *state, const GinRecord *a,
						 const GinRecord *b)
{
	return gin_same_key(a, b, state) ? 0 : gin_compare_keys(a, b, state);
}

PtSort *
variant_begin_gin(Relation index, Size room, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort GIN records",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GinOrder   *state = variant_gin_order(index);

	state->room_size = room;
	state->room = room > 0 ? palloc(room) : NULL;
	MemoryContextSwitchTo(old);
	return sort_begin_own(&gin_variant, NULL, state, 1, context, options);
}

GinOrder *
variant_gin_order_of(PtSort *sort)
{
	return sort_state(sort, &gin_variant.base);
}

void
variant_gin_end_room(PtSort *sort)
{
	sort_note_memory(sort);
	pfree(variant_gin_order_of(sort)->room);
}

static uint64
make_word(GinOrder *state, const GinRecord *record)
{
	int			i = record->column - 1;
	PtSortKey  *key = state->keys[i];
	uint64		words[KEY_ENTRY_WORDS] = {0};

	if (record->category != GIN_CAT_NORM_KEY)
		words[0] = PG_UINT64_MAX;
	else if (key != NULL)
	{
		Datum		value = ginrecord_key(record,
										  TupleDescAttr(state->gin.origTupdesc,
														i));
		bool		isnull = false;

		key_words(key, &value, &isnull, words);
	}
	if (state->ncolumns == 1)
		return words[0];
	return (uint64) record->column << (64 - COLUMN_BITS) |
		words[0] >> COLUMN_BITS;
}

GinRecord *
variant_reserve_gin(PtSort *sort, Size size)
{
	return sort_place(sort, size);
}

void
variant_commit_gin(PtSort *sort, const GinRecord *record)
{
	uint64		words[PTSORT_MAX_WORDS] = {0};

	words[0] = make_word(variant_gin_order_of(sort), record);
	sort_add(sort, words);
}

const GinRecord *
variant_get_gin(PtSort *sort)
{
	return sort_next(sort, true);
}
