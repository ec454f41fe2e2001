/*-------------------------------------------------------------------------
 *
 * variant_datum.c
 *	  Sorts of single values.
 *
 * An image has one of three forms.
 *
 * If the key is exact (key.h), the image is inline: one word after the words of
 * the key.  Reading rebuilds the value from all these words.
 *
 * The image of a varlena is the value itself.  ptsort converts toasted,
 * compressed, short and expanded values to plain ones, so that comparisons need
 * no detoasting and equal values mostly have equal bytes.  The image of a null
 * is a header of 0, which no value has.
 *
 * Any other image is a DatumImage followed by the value: the datum if the type
 * is by value, otherwise the value's bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/key.h"
#include "sort/tuplesort.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"
#include "variant/variants.h"

/* Minimum size of an image in bytes. */
#define MIN_IMAGE		sizeof(uint64)

/* The start of an image that is neither inline nor a varlena. */
typedef struct DatumImage
{
	uint32		size;			/* size of the whole image in bytes */
	uint32		isnull;
} DatumImage;

#define IMAGE_VALUE(image)	((char *) (image) + sizeof(DatumImage))

typedef struct DatumState
{
	PtSortKey  *key;
	bool		exact;			/* true if the key is exact (inline images) */
	bool		single;			/* exact, and the type is by value */
	bool		varlena;		/* type is varlena: the value is its image */
	int16		typlen;
	bool		typbyval;
	uint64		space[KEY_VALUE_SIZE / sizeof(uint64)]; /* exact key, type by
														 * reference: the last
														 * value read */
} DatumState;

static Size
datum_size(const void *tuple, void *arg)
{
	const DatumState *state = arg;

	if (state->varlena)
		return Max(VARSIZE(tuple), MIN_IMAGE);
	return ((const DatumImage *) tuple)->size;
}

/* Returns the value in an image; by-reference values point into the image. */
static inline Datum
image_get(const DatumState *state, const void *image, bool *isnull)
{
	if (state->varlena)
	{
		*isnull = VARSIZE(image) == 0;
		return PointerGetDatum(image);
	}
	*isnull = ((const DatumImage *) image)->isnull;
	if (*isnull)
		return (Datum) 0;
	if (state->typbyval)
		return *(const Datum *) IMAGE_VALUE(image);
	return PointerGetDatum(IMAGE_VALUE(image));
}

static int
datum_compare_values(const Datum *values, const bool *isnull,
					 const void *image, void *arg)
{
	DatumState *state = arg;
	bool		right_null;
	Datum		right = image_get(state, image, &right_null);

	return ApplySortComparator(values[0], isnull[0], right, right_null,
							   state->key->support);
}

static int
datum_compare(const void *a, const void *b, void *arg)
{
	bool		isnull;
	Datum		value = image_get(arg, a, &isnull);

	return datum_compare_values(&value, &isnull, b, arg);
}

static bool
datum_string(const void *image, KeyString *string, void *arg)
{
	const DatumState *state = arg;
	bool		isnull;
	Datum		value = image_get(state, image, &isnull);

	return !isnull && key_string(state->key, value, string);
}

static void
datum_rekey(const void *tuple, uint64 *words, void *arg)
{
	DatumState *state = arg;
	bool		isnull;
	Datum		value = image_get(state, tuple, &isnull);

	key_words(state->key, &value, &isnull, words);
}

static const SortVariant datum_variant = {
	.base = {
		.name = "datum",
		.size = datum_size,
		.compare = datum_compare,
	},
	.rekey = datum_rekey,
	.string = datum_string,
	.compare_values = datum_compare_values,
	.head_bytes = sizeof(uint64),
};

static const SortVariant exact_variant = {
	.base = {
		.name = "datum, exact key",
		.inline_image = true,
	},
};

static DatumState *
datum_state(PtSort *sort)
{
	const PtSortVariant *variant = sort_variant(sort);

	if (variant == &exact_variant.base)
		return sort_state(sort, variant);
	return sort_state(sort, &datum_variant.base);
}

PtSort *
variant_begin_datum(Oid type, Oid lt_operator, Oid collation,
					bool nulls_first, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort datums",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	DatumState *state = palloc0(sizeof(DatumState));

	state->key = key_datum(type, lt_operator, collation, nulls_first);
	state->exact = state->key->exact;
	state->single = state->exact && key_pack_is_single(&state->key->pack);
	get_typlenbyval(type, &state->typlen, &state->typbyval);
	state->varlena = state->typlen == -1;
	MemoryContextSwitchTo(caller);
	return sort_begin_own(state->exact ? &exact_variant : &datum_variant,
						  state->exact ? NULL : state->key, state,
						  state->key->nwords, context, options);
}

static inline void
put_exact(DatumState *state, PtSort *sort, Datum value, bool isnull)
{
	uint64		entry[KEY_ENTRY_WORDS];

	if (state->single && likely(!isnull))
		key_single_encode(&state->key->pack, value, entry);
	else
		key_words(state->key, &value, &isnull, entry);
	sort_put_entry(sort, entry);
}

/* Add to the sort the image in the reserved place. */
static void
commit_image(DatumState *state, PtSort *sort, const void *image)
{
	uint64		words[KEY_ENTRY_WORDS];

	datum_rekey(image, words, state);
	sort_add(sort, words);
}

/* Reserve the place of a varlena, which may be shorter than MIN_IMAGE. */
static struct varlena *
reserve_varlena(PtSort *sort, Size size)
{
	uint64	   *place = sort_place(sort, Max(size, MIN_IMAGE));

	*place = 0;
	return (struct varlena *) place;
}

/* Make the image of a varlena: what PG_DETOAST_DATUM() would return. */
static struct varlena *
make_varlena(PtSort *sort, Datum value)
{
	struct varlena *toasted = (struct varlena *) DatumGetPointer(value);
	struct varlena *image;
	struct varlena *plain;
	Size		size;

	if (VARATT_IS_EXTERNAL_EXPANDED(toasted))
	{
		ExpandedObjectHeader *object = DatumGetEOHP(value);

		size = EOH_get_flat_size(object);
		image = reserve_varlena(sort, size);
		EOH_flatten_into(object, image, size);
		return image;
	}
	if (VARATT_IS_SHORT(toasted) && !VARATT_IS_EXTERNAL(toasted))
	{
		size = VARSIZE_SHORT(toasted) - VARHDRSZ_SHORT;
		image = reserve_varlena(sort, VARHDRSZ + size);
		SET_VARSIZE(image, VARHDRSZ + size);
		memcpy(VARDATA(image), VARDATA_SHORT(toasted), size);
		return image;
	}
	plain = pg_detoast_datum(toasted);
	image = reserve_varlena(sort, VARSIZE(plain));
	memcpy(image, plain, VARSIZE(plain));
	if (plain != toasted)
		pfree(plain);
	return image;
}

/* Make the image of a value that is not a varlena. */
static DatumImage *
make_image(DatumState *state, PtSort *sort, Datum value, bool isnull)
{
	Size		length = 0;
	DatumImage *image;

	if (!isnull)
		length = state->typbyval ? sizeof(Datum) :
			datumGetSize(value, false, state->typlen);
	if (!AllocSizeIsValid(sizeof(DatumImage) + length))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of %zu bytes is too large to sort", length)));

	image = sort_place(sort, sizeof(DatumImage) + length);
	image->size = sizeof(DatumImage) + length;
	image->isnull = isnull;
	if (state->typbyval && !isnull)
		*(Datum *) IMAGE_VALUE(image) = value;
	else if (length > 0)
		memcpy(IMAGE_VALUE(image), DatumGetPointer(value), length);
	return image;
}

void
variant_put_datum(PtSort *sort, Datum value, bool isnull)
{
	DatumState *state = datum_state(sort);

	if (state->exact)
		put_exact(state, sort, value, isnull);
	else if (bounded_may_drop(sort) && bounded_drops(sort, &value, &isnull))
		return;
	else if (!state->varlena)
		commit_image(state, sort, make_image(state, sort, value, isnull));
	else if (isnull)
		commit_image(state, sort, reserve_varlena(sort, 0));
	else
		commit_image(state, sort, make_varlena(sort, value));
}

static inline bool
get_exact(DatumState *state, PtSort *sort, bool forward, Datum *value,
		  bool *isnull)
{
	const uint64 *entry = sort_next_entry(sort, forward);

	if (entry == NULL)
		return false;
	if (state->single)
		*value = key_single_value(&state->key->pack, entry, isnull);
	else
		*value = key_pack_value(&state->key->pack, entry,
								(char *) state->space, isnull);
	return true;
}

bool
variant_get_datum(PtSort *sort, bool forward, Datum *value, bool *isnull)
{
	DatumState *state = datum_state(sort);
	const void *image;

	if (state->exact)
		return get_exact(state, sort, forward, value, isnull);
	image = sort_next(sort, forward);
	if (image == NULL)
		return false;
	*value = image_get(state, image, isnull);
	if (*isnull)
		*value = (Datum) 0;
	return true;
}
