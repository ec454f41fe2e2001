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

/* variant_index.c */
extern PtSort *variant_begin_index(Relation heap, Relation index, bool unique,
								   bool nulls_not_distinct,
								   const PtSortOptions *options);
extern void variant_put_index(PtSort *sort, ItemPointer tid,
							  const Datum *values, const bool *isnull,
							  bool alive);
extern IndexTuple variant_get_index(PtSort *sort, bool forward);

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

#endif							/* PTSORT_VARIANTS_H */
