/*-------------------------------------------------------------------------
 *
 * variant_form.c
 *	  Index tuples of small values, formed in place.
 *
 * index_form_tuple() allocates the tuple and visits each value three times: to
 * fetch or decompress it, to find its size, and to store it.  Most keys need
 * one visit and no allocation.  The tuple's layout equals heap_fill_tuple()'s.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tupmacs.h"
#include "util.h"
#include "variant/variants.h"

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

bool
variant_form_small(TupleDesc desc, const Datum *values, const bool *isnull,
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
