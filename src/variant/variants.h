/*-------------------------------------------------------------------------
 *
 * variants.h
 *	  ptsort's own kinds of tuple: index (also GiST), heap and minimal tuples,
 *	  GIN records, and datums.
 *
 * The functions without a comment are in PtSortApi, and ptsort.h has their
 * contracts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VARIANTS_H
#define PTSORT_VARIANTS_H

#include "order/sortextras.h"
#include "variant/ginrecord.h"

/*
 * Compare the first nkeys columns of two index tuples.  *equal_nulls becomes
 * true if the tuples are equal and contain a null: in a unique index, these
 * tuples are duplicates only if nulls are not distinct.
 */
static inline int
variant_compare_columns(TupleDesc desc, SortSupport support, int nkeys,
						IndexTuple a, IndexTuple b, bool *equal_nulls)
{
	*equal_nulls = false;
	for (int i = 0; i < nkeys; i++)
	{
		bool		anull;
		bool		bnull;
		Datum		avalue = index_getattr(a, i + 1, desc, &anull);
		Datum		bvalue = index_getattr(b, i + 1, desc, &bnull);
		int			cmp = ApplySortComparator(avalue, anull, bvalue, bnull,
											  &support[i]);

		if (cmp != 0)
			return cmp;
		if (anull)
			*equal_nulls = true;
	}
	return 0;
}

/* variant_index.c */
extern PtSort *variant_begin_index(Relation heap, Relation index, bool unique,
								   bool nulls_not_distinct,
								   const PtSortOptions *options);

/*
 * After variant_postpone_errors, equal keys of a unique index and tuples that
 * are too large raise no error when the caller puts a tuple or the sort writes
 * a run.  Instead, the sort fails, and sort_failed returns true.
 */
extern void variant_postpone_errors(PtSort *sort);

extern void variant_put_index(PtSort *sort, ItemPointer tid,
							  const Datum *values, const bool *isnull,
							  bool alive);
extern IndexTuple variant_get_index(PtSort *sort, bool forward);

/*
 * variant_index_exact_key returns the exact key of a sort of index tuples, or
 * NULL.  With an exact key, variant_get_index_entries returns many tuples in
 * one call, as entries (key_pack.h); see ptsort_get_entries.
 */
extern PtSortKey *variant_index_exact_key(PtSort *sort);
extern const uint64 *variant_get_index_entries(PtSort *sort, int *n);

/*
 * variant_gist.c: tuples of a GiST index whose key columns' classes all have
 * sort support.  variant_put_gist compresses the values.
 */
extern PtSort *variant_begin_gist(Relation index,
								  const PtSortOptions *options);
extern void variant_put_gist(PtSort *sort, ItemPointer tid, Datum *values,
							 bool *isnull);
extern IndexTuple variant_get_gist(PtSort *sort);

/*
 * variant_gin.c: records of a GIN index (ginrecord.h).  The caller makes a
 * record of 'size' bytes in the place that variant_reserve_gin returns, and
 * then commits it.  The sort's budget includes 'room' bytes for the caller,
 * until variant_gin_end_room.
 *
 * variant_gin_order makes the order of an index's keys, in the current memory
 * context; variant_gin_order_of returns that of a sort.
 */
typedef struct GinOrder
{
	GinState	gin;
	int			ncolumns;
	PtSortKey  *keys[INDEX_MAX_KEYS];	/* NULL: a column without words */
	bool		bytewise[INDEX_MAX_KEYS];	/* memcmp() of strings decides */
	char	   *room;			/* of a sort */
	Size		room_size;
} GinOrder;

extern PtSort *variant_begin_gin(Relation index, Size room,
								 const PtSortOptions *options);
extern void variant_gin_end_room(PtSort *sort);
extern GinRecord *variant_reserve_gin(PtSort *sort, Size size);
extern void variant_commit_gin(PtSort *sort, const GinRecord *record);
extern const GinRecord *variant_get_gin(PtSort *sort);

extern GinOrder *variant_gin_order(Relation index);
extern GinOrder *variant_gin_order_of(PtSort *sort);
extern int	variant_gin_compare_keys(GinOrder *order, const GinRecord *a,
									 const GinRecord *b);

/*
 * variant_heap.c.  variant_heap_follows returns true if a row may come after
 * another one in the order of a sort, into which it puts neither.
 */
extern PtSort *variant_begin_heap(TupleDesc desc, Relation index,
								  const PtSortOptions *options);
extern void variant_put_heap(PtSort *sort, HeapTuple tuple);
extern bool variant_heap_follows(PtSort *sort, HeapTuple tuple,
								 HeapTuple previous);
extern HeapTuple variant_get_heap(PtSort *sort, bool forward);

/* variant_datum.c */
extern PtSort *variant_begin_datum(Oid type, Oid lt_operator, Oid collation,
								   bool nulls_first,
								   const PtSortOptions *options);
extern void variant_put_datum(PtSort *sort, Datum value, bool isnull);
extern bool variant_get_datum(PtSort *sort, bool forward, Datum *value,
							  bool *isnull);

/* variant_tuple.c */
extern PtSort *variant_begin_tuple(TupleDesc desc, int nkeys,
								   const AttrNumber *attnums,
								   const Oid *lt_operators,
								   const Oid *collations,
								   const bool *nulls_first,
								   const PtSortOptions *options);
extern void variant_put_tuple(PtSort *sort, MinimalTuple tuple);
extern void variant_put_slot(PtSort *sort, TupleTableSlot *slot);
extern MinimalTuple variant_get_tuple(PtSort *sort, bool forward);
extern bool variant_get_slot(PtSort *sort, bool forward, TupleTableSlot *slot);

/* Returns a value's size as a short varlena; 0 if the value cannot be one. */
static inline Size
variant_short_size(Form_pg_attribute att, const struct varlena *value)
{
	if (VARATT_IS_EXTERNAL(value))
		return 0;
	if (VARATT_IS_SHORT(value))
		return VARSIZE_SHORT(value);
	if (att->attstorage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(value))
		return VARATT_CONVERTED_SHORT_SIZE(value);
	return 0;
}

/* Size of a buffer for any index tuple. */
#define VARIANT_FORM_ROOM	(INDEX_SIZE_MASK + 1)

#endif							/* PTSORT_VARIANTS_H */
