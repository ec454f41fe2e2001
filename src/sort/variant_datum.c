/*-------------------------------------------------------------------------
 *
 * variant_datum.c
 *	  Sorts of single values.
 *
 * Image: a header that tells the image's size and whether the value is null,
 * then the value: its datum if the type is by value, otherwise its bytes.
 * Toasted, compressed, short and expanded values all become plain ones, so
 * that comparisons need no detoasting and equal values mostly have equal
 * bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "ptsort_variant.h"
#include "sort/variants.h"

/* A larger scratch buffer is given back after each put. */
#define SCRATCH_KEEP	(64 * 1024)

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
	int16		typlen;
	bool		typbyval;
	DatumImage *scratch;		/* where put makes its image */
	Size		scratch_size;
	MemoryContext context;
} DatumState;

static Size
datum_size(const void *tuple, void *state)
{
	return ((const DatumImage *) tuple)->size;
}

/* The value in an image; by reference it points into the image. */
static inline Datum
image_get(const DatumState *state, const DatumImage *image)
{
	if (image->isnull)
		return (Datum) 0;
	if (state->typbyval)
		return *(const Datum *) IMAGE_VALUE(image);
	return PointerGetDatum(IMAGE_VALUE(image));
}

static int
datum_compare(const void *a, const void *b, void *arg)
{
	DatumState *state = (DatumState *) arg;
	const DatumImage *left = (const DatumImage *) a;
	const DatumImage *right = (const DatumImage *) b;

	return ApplySortComparator(image_get(state, left), left->isnull,
							   image_get(state, right), right->isnull,
							   ptsort_key_support(state->key));
}

static const PtSortVariant datum_variant = {
	.name = "datum",
	.size = datum_size,
	.compare = datum_compare,
};

PtSort *
variant_begin_datum(Oid type, Oid lt_operator, Oid collation,
					bool nulls_first, const PtSortOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort datums",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	DatumState *state = palloc0(sizeof(DatumState));

	state->context = context;
	state->key = ptsort_key_columns(1, &lt_operator, &collation, &nulls_first);
	get_typlenbyval(type, &state->typlen, &state->typbyval);
	MemoryContextSwitchTo(caller);

	return ptsort_begin(&datum_variant, state, ptsort_key_nwords(state->key),
						context, options);
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

/* Makes the image of a plain value in the scratch buffer. */
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

void
variant_put_datum(PtSort *sort, Datum value, bool isnull)
{
	DatumState *state = ptsort_state(sort, &datum_variant);
	Datum		plain = value;
	uint64		words[PTSORT_MAX_WORDS];
	Size		size;

	if (!isnull && state->typlen == -1)
		plain = PointerGetDatum(PG_DETOAST_DATUM(value));
	size = make_image(state, plain, isnull);
	if (!isnull && plain != value)
		pfree(DatumGetPointer(plain));

	plain = image_get(state, state->scratch);
	ptsort_key_words(state->key, &plain, &isnull, words);
	ptsort_put(sort, state->scratch, size, words);

	if (state->scratch_size > SCRATCH_KEEP)
	{
		pfree(state->scratch);
		state->scratch = NULL;
		state->scratch_size = 0;
	}
}

bool
variant_get_datum(PtSort *sort, bool forward, Datum *value, bool *isnull)
{
	DatumState *state = ptsort_state(sort, &datum_variant);
	Size		size;
	const DatumImage *image = ptsort_get(sort, forward, &size);

	if (image == NULL)
		return false;
	*value = image_get(state, image);
	*isnull = image->isnull;
	return true;
}
