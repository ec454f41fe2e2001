/*-------------------------------------------------------------------------
 *
 * key_form.c
 *	  Index tuples made from the words of an exact key.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tupmacs.h"
#include "key/key_form.h"

static void
add_step(KeyForm *form, const KeyField *field)
{
	FormStep   *step = &form->steps[form->nsteps++];
	int			null_at = field->at + field->bits;

	step->word = field->at / 64;
	step->shift = field->at % 64;
	step->spans_words = step->shift + field->bits > 64;
	step->unused = 64 - field->bits;
	step->kind = field->kind;
	step->column = field->column;
	step->within = field->kind == FIELD_UUID_LOW ? sizeof(uint64) : 0;
	step->flip = field->flip;
	if (key_pack_has_null_bit(field))
		form->null_bits[null_at / 64] |= key_bit(null_at);
}

KeyForm *
key_form_create(const KeyPack *pack, TupleDesc desc, int nwords)
{
	KeyForm    *form = palloc0(sizeof(KeyForm));
	Size		starts[INDEX_MAX_KEYS];
	Size		end = MAXALIGN(sizeof(IndexTupleData));

	form->desc = desc;
	form->nwords = nwords;
	memcpy(form->not_null, pack->not_null, sizeof(form->not_null));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		starts[i] = att_align_nominal(end, att->attalign);
		end = starts[i] + att->attlen;
	}
	form->size = MAXALIGN(end);
	Assert(form->size + MAXIMUM_ALIGNOF <= KEY_TUPLE_SIZE);

	for (int i = 0; i < pack->nfields; i++)
	{
		FormStep   *step = &form->steps[i];

		add_step(form, &pack->fields[i]);
		step->offset = starts[step->column] + step->within;
	}
	return form;
}

/* Determine which columns of an entry are null. */
static void
find_nulls(const KeyForm *form, const uint64 *entry, bool *isnull)
{
	for (int i = 0; i < form->nsteps; i++)
	{
		const FormStep *step = &form->steps[i];
		int			at = step->word * 64 + step->shift + 64 - step->unused;

		/* a uuid's second field has the null bit, and comes last */
		isnull[step->column] = ((entry[at / 64] ^ form->not_null[at / 64]) &
								key_bit(at)) != 0;
	}
}

/*
 * Make the tuple of an entry with nulls.  Its columns have other offsets than
 * in a tuple without nulls.
 */
static Size
form_with_nulls(const KeyForm *form, const uint64 *entry, IndexTuple target)
{
	bool		isnull[INDEX_MAX_KEYS] = {false};
	Size		starts[INDEX_MAX_KEYS] = {0};
	Size		end = MAXALIGN(sizeof(IndexTupleData) +
							   sizeof(IndexAttributeBitMapData));
	bits8	   *bitmap = (bits8 *) (target + 1);

	find_nulls(form, entry, isnull);
	/* no column ends later than in a tuple with bitmap and without nulls */
	memset(target, 0, form->size + end - MAXALIGN(sizeof(IndexTupleData)));
	for (int i = 0; i < form->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(form->desc, i);

		if (isnull[i])
			continue;
		bitmap[i / BITS_PER_BYTE] |= 1 << (i % BITS_PER_BYTE);
		starts[i] = att_align_nominal(end, att->attalign);
		end = starts[i] + att->attlen;
	}
	for (int i = 0; i < form->nsteps; i++)
	{
		const FormStep *step = &form->steps[i];

		if (!isnull[step->column])
			key_form_store(step, entry, (char *) target + starts[step->column] +
						   step->within);
	}
	target->t_info = (unsigned short) MAXALIGN(end) | INDEX_NULL_MASK;
	return MAXALIGN(end);
}

Size
key_form_tuple(const KeyForm *form, const uint64 *entry, IndexTuple target)
{
	if (unlikely(key_form_has_nulls(form, form->nwords, entry)))
		return form_with_nulls(form, entry, target);
	memset(target, 0, form->size);
	key_form_fill(form, entry, target);
	return form->size;
}

Datum
key_form_value(const KeyForm *form, const uint64 *entry, char *space,
			   bool *isnull)
{
	Form_pg_attribute att = TupleDescAttr(form->desc, 0);

	*isnull = key_form_has_nulls(form, form->nwords, entry);
	if (unlikely(*isnull))
		return (Datum) 0;
	for (int i = 0; i < form->nsteps; i++)
		key_form_store(&form->steps[i], entry, space + form->steps[i].within);
	return fetch_att(space, att->attbyval, att->attlen);
}
