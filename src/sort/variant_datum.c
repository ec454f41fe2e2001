/*-------------------------------------------------------------------------
 *
 * variant_datum.c
 *	  Sorts of single values.
 *
 * There are three kinds of images:
 *
 * If the key is exact (key.h), none: an entry is the words of the key and one
 * word after them, and a value is made of these when it is read.
 *
 * The image of a varlena is the value itself, whose length is in its header.
 * Toasted, compressed, short and expanded values all become plain ones, so
 * that comparisons need no detoasting and equal values mostly have equal
 * bytes.  The image of a null is a header of 0, which no value has.  What is
 * shorter than an image can be is filled up with zeros.
 *
 * Any other image has a header of ours, then the value: its datum if the type
 * is by value, otherwise its bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "key/key.h"
#include "sort/internal.h"
#include "sort/variants.h"

/* A larger scratch buffer is given back after each put. */
#define SCRATCH_KEEP	(64 * 1024)

/* Fewest bytes of an image. */
#define MIN_IMAGE		sizeof(uint64)

/* An image that is neither exact nor a varlena begins like this. */
typedef struct DatumImage
{
	uint32		size;			/* of the whole image */
	uint32		isnull;
} DatumImage;

#define IMAGE_VALUE(image)	((char *) (image) + sizeof(DatumImage))

/* What a type's values look like. */
typedef struct DatumState
{
	PtSortKey  *key;
	SortSupport support;
	int			nwords;
	bool		exact;			/* there are no images */
	bool		varlena;		/* images are the values */
	int16		typlen;
	bool		typbyval;
	DatumImage *scratch;		/* where put makes its image */
	Size		scratch_size;
	MemoryContext context;
	uint64		space[KEY_VALUE_SIZE / sizeof(uint64)]; /* exact: a value that
														 * was read */
} DatumState;

static Size
datum_size(const void *tuple, void *arg)
{
	const DatumState *state = arg;

	if (state->varlena)
		return Max(VARSIZE(tuple), MIN_IMAGE);
	return ((const DatumImage *) tuple)->size;
}

/* The value in an image; by reference it points into the image. */
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
datum_compare(const void *a, const void *b, void *arg)
{
	DatumState *state = (DatumState *) arg;
	bool		left_null;
	bool		right_null;
	Datum		left = image_get(state, a, &left_null);
	Datum		right = image_get(state, b, &right_null);

	return ApplySortComparator(left, left_null, right, right_null,
							   state->support);
}

static PtSortKey *
datum_key(void *arg)
{
	return ((DatumState *) arg)->key;
}

static void
datum_rekey(const void *tuple, uint64 *words, void *arg)
{
	DatumState *state = (DatumState *) arg;
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
	.key = datum_key,
	.rekey = datum_rekey,
};

static const SortVariant exact_variant = {
	.base = {
		.name = "datum, exact key",
		.inline_image = true,
	},
};

/* The state of a sort of values, of any kind. */
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
	SortOptions with = {.options = *options};

	state->context = context;
	state->key = key_datum(type, lt_operator, collation, nulls_first);
	state->support = key_support(state->key);
	state->nwords = key_nwords(state->key);
	state->exact = key_is_exact(state->key);
	get_typlenbyval(type, &state->typlen, &state->typbyval);
	state->varlena = state->typlen == -1;
	MemoryContextSwitchTo(caller);

	return sort_begin_with(state->exact ? &exact_variant : &datum_variant,
						   state, state->nwords, context, &with);
}

/* Makes the scratch buffer large enough. */
static void
reserve_scratch(DatumState *state, Size size)
{
	if (size <= state->scratch_size)
		return;
	if (state->scratch != NULL)
		pfree(state->scratch);
	state->scratch = NULL;
	state->scratch_size = 0;
	state->scratch = MemoryContextAlloc(state->context, size);
	state->scratch_size = size;
}

/* Makes the image of a value in the scratch buffer. */
static Size
make_image(DatumState *state, Datum value, bool isnull)
{
	Size		length = 0;
	Size		size;

	if (!isnull)
		length = state->typbyval ? sizeof(Datum) :
			datumGetSize(value, false, state->typlen);
	size = sizeof(DatumImage) + length;
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of %zu bytes is too large to sort", length)));

	reserve_scratch(state, size);
	state->scratch->size = size;
	state->scratch->isnull = isnull;
	if (state->typbyval && !isnull)
		*(Datum *) IMAGE_VALUE(state->scratch) = value;
	else if (length > 0)
		memcpy(IMAGE_VALUE(state->scratch), DatumGetPointer(value), length);
	return size;
}

/* Frees a scratch buffer that only a large value needed. */
static void
shrink_scratch(DatumState *state)
{
	if (state->scratch_size <= SCRATCH_KEEP)
		return;
	pfree(state->scratch);
	state->scratch = NULL;
	state->scratch_size = 0;
}

static void
put_exact(DatumState *state, PtSort *sort, Datum value, bool isnull)
{
	uint64		entry[KEY_ENTRY_WORDS];

	key_words(state->key, &value, &isnull, entry);
	ptsort_put(sort, &entry[state->nwords], sizeof(uint64), entry);
}

/* Puts a varlena that is not null. */
static void
put_varlena(DatumState *state, PtSort *sort, Datum value)
{
	struct varlena *plain = PG_DETOAST_DATUM(value);
	const void *image = plain;
	Size		size = VARSIZE(plain);
	uint64		words[KEY_ENTRY_WORDS];
	uint64		short_image = 0;
	bool		isnull = false;
	Datum		datum = PointerGetDatum(plain);

	key_words(state->key, &datum, &isnull, words);
	if (size < MIN_IMAGE)
	{
		memcpy(&short_image, plain, size);
		image = &short_image;
		size = MIN_IMAGE;
	}
	ptsort_put(sort, image, size, words);
	if (datum != value)
		pfree(plain);
}

/* Puts a null of a type whose images are varlenas. */
static void
put_null(DatumState *state, PtSort *sort)
{
	const uint64 null_image = 0;
	uint64		words[KEY_ENTRY_WORDS];
	bool		isnull = true;
	Datum		value = (Datum) 0;

	key_words(state->key, &value, &isnull, words);
	ptsort_put(sort, &null_image, MIN_IMAGE, words);
}

void
variant_put_datum(PtSort *sort, Datum value, bool isnull)
{
	DatumState *state = datum_state(sort);
	uint64		words[KEY_ENTRY_WORDS];
	Size		size;

	if (state->exact)
		put_exact(state, sort, value, isnull);
	else if (state->varlena && isnull)
		put_null(state, sort);
	else if (state->varlena)
		put_varlena(state, sort, value);
	else
	{
		size = make_image(state, value, isnull);
		key_words(state->key, &value, &isnull, words);
		ptsort_put(sort, state->scratch, size, words);
		shrink_scratch(state);
	}
}

bool
variant_get_datum(PtSort *sort, bool forward, Datum *value, bool *isnull)
{
	DatumState *state = datum_state(sort);
	Size		size;
	const void *image = state->exact ? sort_get_entry(sort, forward) :
		ptsort_get(sort, forward, &size);

	if (image == NULL)
		return false;
	if (state->exact)
		*value = key_value(state->key, image, (char *) state->space, isnull);
	else
		*value = image_get(state, image, isnull);
	if (*isnull)
		*value = (Datum) 0;
	return true;
}
