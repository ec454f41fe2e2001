/*-------------------------------------------------------------------------
 *
 * variant_hash.c
 *	  Index tuples in the order in which a hash index is filled.
 *
 * An index tuple of a hash index is a hash code and a heap TID.  The order is
 * that of the buckets, then of the codes, then of the TIDs.  So the entry of an
 * exact key (key_pack.h) holds all of the tuple: one word for the bucket and
 * the code, and one for the TID.  There is no tuple until one is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "key/key_pack.h"
#include "sort/sortput.h"
#include "sort/sortread.h"
#include "variant/variants.h"

/* A word: the bucket, and the hash code below it. */
#define HASH_CODE_BITS	32

/* HashTuple: an index tuple of a hash index. */
typedef struct HashTuple
{
	IndexTupleData head;		/* MAXALIGNed */
	uint32		code;
} HashTuple;

#define HASH_TUPLE_SIZE	MAXALIGN(sizeof(HashTuple))

StaticAssertDecl(offsetof(HashTuple, code) == MAXALIGN(sizeof(IndexTupleData)),
				 "the hash code must come right after the tuple's head");

typedef struct HashSort
{
	uint32		high_mask;
	uint32		low_mask;
	uint32		max_buckets;
	union
	{
		HashTuple	tuple;
		char		bytes[HASH_TUPLE_SIZE];
	}			read;			/* the tuple read last */
} HashSort;

const PtSortVariant variant_hash = {
	.name = "hash index tuple",
	.inline_image = true,
};

/* The word of a hash code; its bucket as in _hash_hashkey2bucket(). */
static inline uint64
hash_word(const HashSort *state, uint32 code)
{
	uint32		bucket = code & state->high_mask;

	if (bucket > state->max_buckets)
		bucket &= state->low_mask;
	return (uint64) bucket << HASH_CODE_BITS | code;
}

/* Check that the index's tuples are hash codes of the table's rows. */
static void
check_index(Relation heap, Relation index)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), 0);

	if (RelationGetNumberOfAttributes(index) != 1 ||
		att->attlen != sizeof(uint32) || !att->attbyval)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot sort tuples of index \"%s\" by their hash codes",
						RelationGetRelationName(index)),
				 errdetail("Its tuples are not hash codes.")));
	if (index->rd_index->indrelid != RelationGetRelid(heap))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index of table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap))));
}

/* variant_begin_index_hash: see ptsort_begin_index_hash. */
PtSort *
variant_begin_index_hash(Relation heap, Relation index, uint32 high_mask,
						 uint32 low_mask, uint32 max_buckets,
						 const PtSortOptions *options)
{
	MemoryContext context;
	HashSort   *state;

	check_index(heap, index);
	context = AllocSetContextCreate(CurrentMemoryContext,
									"ptsort hash index tuples",
									ALLOCSET_SMALL_SIZES);
	state = MemoryContextAllocZero(context, sizeof(HashSort));
	state->high_mask = high_mask;
	state->low_mask = low_mask;
	state->max_buckets = max_buckets;
	state->read.tuple.head.t_info = HASH_TUPLE_SIZE;
	return ptsort_begin(&variant_hash, state, 1, context, options);
}

/* variant_put_hash: see variants.h. */
void
variant_put_hash(PtSort *sort, ItemPointer tid, Datum value, bool isnull)
{
	HashSort   *state = sort_state(sort, &variant_hash);
	uint64		entry[2] = {0};

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("hash code of an index tuple cannot be null")));
	entry[0] = hash_word(state, DatumGetUInt32(value));
	key_entry_set_tuple(entry, 1, tid, false);
	sort_put_entry(sort, entry);
}

/* variant_get_hash: see variants.h. */
IndexTuple
variant_get_hash(PtSort *sort, bool forward)
{
	HashSort   *state = sort_state(sort, &variant_hash);
	const uint64 *entry = sort_next_entry(sort, forward);

	if (entry == NULL)
		return NULL;
	state->read.tuple.code = (uint32) entry[0];
	key_entry_tid(entry, 1, &state->read.tuple.head.t_tid);
	return &state->read.tuple.head;
}
