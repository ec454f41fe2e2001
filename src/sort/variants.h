/*-------------------------------------------------------------------------
 *
 * variants.h
 *	  ptsort's own kinds of tuple: index tuple, datum, minimal tuple.
 *
 * The functions behind the begin, put and get inlines of ptsort.h; see the
 * contracts there.  Each kind is written against ptsort_variant.h and the
 * server's headers only, as another extension's would be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_VARIANTS_H
#define PTSORT_VARIANTS_H

#include "ptsort_variant.h"
#include "storage/itemptr.h"

/* variant_index.c */
extern PtSort *variant_begin_index(Relation heap, Relation index, bool unique,
								   bool nulls_not_distinct,
								   const PtSortOptions *options);
extern void variant_put_index(PtSort *sort, ItemPointer tid,
							  const Datum *values, const bool *isnull,
							  bool alive);
extern IndexTuple variant_get_index(PtSort *sort, bool forward);
extern PtSortKey *variant_index_exact_key(PtSort *sort);
extern const uint64 *variant_get_index_entries(PtSort *sort, int *n);

/*
 * The inline image of an exact key, the last word of its entry:
 *
 *		15 bits tail of the key | 32 bits block | 16 bits offset | 1 bit dead
 *
 * A recently dead tuple is marked in a unique index only.
 */
#define INDEX_ENTRY_DEAD	UINT64CONST(1)

static inline uint64
index_entry_image(ItemPointer tid, bool dead)
{
	return ((uint64) ItemPointerGetBlockNumberNoCheck(tid) << 17) |
		((uint64) ItemPointerGetOffsetNumberNoCheck(tid) << 1) |
		(dead ? INDEX_ENTRY_DEAD : 0);
}

static inline void
index_entry_tid(uint64 image, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber) (image >> 17),
				   (OffsetNumber) ((image >> 1) & 0xFFFF));
}

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

/*
 * variant_form_small makes in `target`, which is MAXALIGNed and has room for
 * INDEX_SIZE_MASK bytes, the tuple that index_form_tuple() would make, but for
 * its TID.  False if it cannot: a value is null, or longer than a short
 * varlena can be.
 */
extern bool variant_form_small(TupleDesc desc, const Datum *values,
							   const bool *isnull, IndexTuple target);

#endif							/* PTSORT_VARIANTS_H */
