/*-------------------------------------------------------------------------
 *
 * key_form.h
 *	  Index tuples made from the words of an exact key.
 *
 * Loading an index makes one tuple from each entry.  So the steps for each
 * field of a pack are computed once: the position of its bits in the words,
 * which of them to invert, and the position of its bytes in a tuple without
 * nulls.  A tuple then takes a few shifts and stores.  Tuples with nulls,
 * whose columns have other offsets, take a slower path.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_FORM_H
#define PTSORT_KEY_FORM_H

#include "compat.h"

#include "access/itup.h"
#include "access/tupdesc.h"
#include "key/key_pack.h"
#include "port/pg_bswap.h"

/* FormStep: how to store one field. */
typedef struct FormStep
{
	uint64		flip;			/* bits to invert, right-aligned */
	uint8		word;			/* word of the entry where the field begins */
	bool		spans_words;	/* true if it ends in the next word */
	uint8		shift;			/* number of bits before it in this word */
	uint8		unused;			/* 64 - bits of the field */
	uint8		kind;			/* FieldKind */
	uint8		column;
	uint16		within;			/* offset in the column, in bytes */
	uint16		offset;			/* offset in a tuple without nulls, in bytes */
} FormStep;

typedef struct KeyForm
{
	TupleDesc	desc;
	int			nwords;
	int			nsteps;
	Size		size;			/* size of a tuple without nulls, in bytes */
	uint64		null_bits[KEY_ENTRY_WORDS]; /* null bits in an entry */
	uint64		not_null[KEY_ENTRY_WORDS];	/* values of the null bits without
											 * nulls */
	FormStep	steps[KEY_PACK_MAX_FIELDS];
} KeyForm;

/*
 * key_form_create computes how to make tuples of 'desc' from an exact pack in
 * 'nwords' words and a tail.  It keeps the pointer to 'desc'.
 */
extern KeyForm *key_form_create(const KeyPack *pack, TupleDesc desc,
								int nwords);

/*
 * key_form_tuple makes the tuple of an entry in 'target', which has room for
 * KEY_TUPLE_SIZE bytes, as index_form_tuple() would; the caller sets the heap
 * TID.  Returns the tuple's size.
 */
extern Size key_form_tuple(const KeyForm *form, const uint64 *entry,
						   IndexTuple target);

/*
 * key_form_value returns the value of an entry whose key is a single column,
 * or sets *isnull.  A value by reference is stored in 'space'.
 */
extern Datum key_form_value(const KeyForm *form, const uint64 *entry,
							char *space, bool *isnull);

/* key_form_has_nulls returns true if a column of the entry is null. */
static inline bool
key_form_has_nulls(const KeyForm *form, int nwords, const uint64 *entry)
{
	uint64		found = 0;

	for (int i = 0; i <= nwords; i++)
		found |= (entry[i] ^ form->not_null[i]) & form->null_bits[i];
	return found != 0;
}

/* Store the field of one step. */
static inline void
key_form_store(const FormStep *step, const uint64 *entry, char *target)
{
	uint64		bits = entry[step->word] << step->shift;

	if (step->spans_words)
		bits |= entry[step->word + 1] >> (64 - step->shift);
	bits = (bits >> step->unused) ^ step->flip;
	switch ((FieldKind) step->kind)
	{
		case FIELD_BOOL:
		case FIELD_CHAR:
			*(uint8 *) target = (uint8) bits;
			break;
		case FIELD_INT16:
			*(uint16 *) target = (uint16) bits;
			break;
		case FIELD_INT32:
		case FIELD_UINT32:
			*(uint32 *) target = (uint32) bits;
			break;
		case FIELD_INT64:
		case FIELD_UINT64:
			*(uint64 *) target = bits;
			break;
		case FIELD_MACADDR:
			bits = pg_hton64(bits << 16);
			memcpy(target, &bits, 6);
			break;
		case FIELD_MACADDR8:
		case FIELD_UUID_HIGH:
		case FIELD_UUID_LOW:
			bits = pg_hton64(bits);
			memcpy(target, &bits, 8);
			break;
		case FIELD_TID:
			ItemPointerSet((ItemPointer) target, (BlockNumber) (bits >> 16),
						   (OffsetNumber) (bits & 0xFFFF));
			break;
		case FIELD_WORD:
		case FIELD_NONE:
			Assert(false);		/* not in an exact key */
	}
}

/*
 * key_form_fill is key_form_tuple for an entry without nulls.  The caller must
 * zero the tuple's form->size bytes first.
 */
static inline void
key_form_fill(const KeyForm *form, const uint64 *entry, IndexTuple target)
{
	target->t_info = (unsigned short) form->size;
	for (int i = 0; i < form->nsteps; i++)
	{
		const FormStep *step = &form->steps[i];

		key_form_store(step, entry, (char *) target + step->offset);
	}
}

#endif							/* PTSORT_KEY_FORM_H */
