/*-------------------------------------------------------------------------
 *
 * modelarray.c
 *	  The expected tuples of the model test: the output of the server's sort.
 *
 * The server's tuplesort decides the order of keys.  The test uses the
 * operator class's comparison to find groups of tuples with equal keys.  It
 * sorts each group in the order that ptsort promises: by the images' bytes or,
 * if the sort is stable, in the order of the puts.  So there is one right
 * result, and the test compares each tuple that ptsort returns with the
 * array's tuple, byte by byte.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "model.h"

/* A tuple that the test put; find_put() finds the tuple by the digest. */
typedef struct PutTuple
{
	uint64		digest;			/* of the tuple's image */
	int64		number;
} PutTuple;

/*
 * Head of a value's image.  If a sort of values is not stable, the sort
 * returns equal values in the order of their images.
 */
typedef struct ValueImage
{
	uint32		size;
	uint32		isnull;
} ValueImage;

/*
 * model_tuple_image returns a copy of a tuple without the bits that are not
 * part of the values.
 */
char *
model_tuple_image(MinimalTuple tuple, Size *size)
{
	MinimalTuple image = palloc(tuple->t_len);

	memcpy(image, tuple, tuple->t_len);
	memset(image->mt_padding, 0, sizeof(image->mt_padding));
	image->t_infomask &= HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL;
	image->t_infomask2 &= HEAP_NATTS_MASK;
	*size = tuple->t_len;
	return (char *) image;
}

/*
 * model_datum_image returns an image of a value.  A varlena's image is the
 * detoasted value, including the bytes of the length.  For a type passed by
 * value, the image leaves out the Datum's upper bits, which can differ between
 * equal values.
 */
char *
model_datum_image(Form_pg_attribute attr, Datum value, bool isnull, Size *size)
{
	Size		length = 0;
	ValueImage *image;
	char	   *bytes;

	if (!isnull && attr->attlen == -1)
	{
		bytes = (char *) PG_DETOAST_DATUM_COPY(value);
		*size = VARSIZE(bytes);
		return bytes;
	}
	if (!isnull)
		length = attr->attbyval ? sizeof(Datum) :
			datumGetSize(value, false, attr->attlen);
	*size = sizeof(ValueImage) + length;
	image = palloc0(*size);
	image->size = *size;
	image->isnull = isnull;
	bytes = (char *) (image + 1);
	if (length > 0 && attr->attbyval)
		store_att_byval(bytes, value, attr->attlen);
	else if (length > 0)
		memcpy(bytes, DatumGetPointer(value), length);
	return (char *) image;
}

/* Returns the image of the tuple in a slot, in the current memory context. */
static char *
slot_image(ModelArray *array, TupleTableSlot *slot, Size *size)
{
	if (array->settings->datum)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 1, &isnull);

		return model_datum_image(TupleDescAttr(array->source->desc, 0),
								 value, isnull, size);
	}
	return model_tuple_image(ExecCopySlotMinimalTuple(slot), size);
}

/*
 * model_participant returns the participant that puts a tuple.  Depending on
 * the seed, the participant is random, changes after every 64 tuples (as in a
 * scan of blocks), or is mostly number 0.
 */
int
model_participant(const ModelSettings *settings, int64 number, int64 n)
{
	uint64		dice = test_mix(settings->seed, number);

	if (settings->participants < 2)
		return 0;
	switch (settings->seed % 3)
	{
		case 0:
			return dice % settings->participants;
		case 1:
			return number / 64 % settings->participants;
		default:
			return dice % 16 == 0 ? dice / 16 % settings->participants : 0;
	}
}

static int
compare_puts(const void *a, const void *b)
{
	const PutTuple *left = (const PutTuple *) a;
	const PutTuple *right = (const PutTuple *) b;

	if (left->digest != right->digest)
		return left->digest < right->digest ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

/* Makes the server sort all tuples; returns their digests. */
static PutTuple *
run_server(ModelArray *array)
{
	ModelSource *source = array->source;
	MemoryContext caller = CurrentMemoryContext;
	int64		room = 1024;
	PutTuple   *puts = palloc(room * sizeof(PutTuple));
	TupleTableSlot *slot;

	array->server = tuplesort_begin_heap(source->desc, source->nkeys,
										 source->attnums, source->operators,
										 source->collations,
										 source->nulls_first, work_mem, NULL,
										 TUPLESORT_NONE);
	MemoryContextSwitchTo(array->row_context);
	while ((slot = model_source_next(source)) != NULL)
	{
		Size		size;
		char	   *image = slot_image(array, slot, &size);

		CHECK_FOR_INTERRUPTS();
		tuplesort_puttupleslot(array->server, slot);
		if (array->n == room)
		{
			room *= 2;
			puts = repalloc_huge(puts, room * sizeof(PutTuple));
		}
		puts[array->n].digest = hash_bytes_extended((unsigned char *) image,
													size, 0);
		puts[array->n].number = array->n;
		array->n++;
		array->largest = Max(array->largest, size);
		MemoryContextReset(array->row_context);
	}
	MemoryContextSwitchTo(caller);
	tuplesort_performsort(array->server);
	qsort(puts, array->n, sizeof(PutTuple), compare_puts);
	return puts;
}

/*
 * Returns the number of a put tuple that has the given tuple's image.  The
 * function returns each number only once, and then replaces the number with
 * -1.
 */
static int64
find_put(ModelArray *array, PutTuple *puts, const ModelTuple *tuple)
{
	uint64		digest = hash_bytes_extended((unsigned char *) tuple->image,
											 tuple->size, 0);
	int64		low = 0;
	int64		high = array->n;
	int64		number;

	while (low < high)
	{
		int64		middle = (low + high) / 2;
		const PutTuple *put = &puts[middle];

		if (put->digest < digest ||
			(put->digest == digest && put->number < 0))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == array->n || puts[low].digest != digest)
		elog(ERROR, "the server returned a tuple that was not put");
	number = puts[low].number;
	puts[low].number = -1;
	return number;
}

/* Appends the next tuple of the server's sort to the array. */
static bool
take_tuple(ModelArray *array, PutTuple *puts, int64 position)
{
	ModelTuple *result = &array->tuples[position];

	if (!tuplesort_gettupleslot(array->server, true, false,
								array->server_slot, NULL))
		return false;
	if (position >= array->n)
		elog(ERROR, "the server returned too many tuples");
	result->tuple = ExecCopySlotMinimalTuple(array->server_slot);
	result->image = slot_image(array, array->server_slot, &result->size);
	result->number = find_put(array, puts, result);
	result->participant = model_participant(array->settings, result->number,
											array->n);
	if (position > 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(array->row_context);
		int			order = model_compare(array->source, result[-1].tuple,
										  result->tuple);

		MemoryContextSwitchTo(caller);
		MemoryContextReset(array->row_context);
		if (order > 0)
			elog(ERROR, "the server's sort is not in order");
		result->group = result[-1].group + (order < 0 ? 1 : 0);
	}
	return true;
}

/* Orders tuples with equal keys by their bytes. */
static int
compare_images(const void *a, const void *b)
{
	const ModelTuple *left = (const ModelTuple *) a;
	const ModelTuple *right = (const ModelTuple *) b;
	int			result = memcmp(left->image, right->image,
								Min(left->size, right->size));

	if (result != 0)
		return result;
	return (left->size > right->size) - (left->size < right->size);
}

/* Orders tuples with equal keys by the order of their puts. */
static int
compare_numbers(const void *a, const void *b)
{
	const ModelTuple *left = (const ModelTuple *) a;
	const ModelTuple *right = (const ModelTuple *) b;

	if (left->participant != right->participant)
		return left->participant < right->participant ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

/* Orders each group of tuples with equal keys. */
static void
order_groups(ModelArray *array)
{
	int64		first = 0;

	for (int64 i = 1; i <= array->n; i++)
	{
		if (i < array->n &&
			array->tuples[i].group == array->tuples[first].group)
			continue;
		qsort(&array->tuples[first], i - first, sizeof(ModelTuple),
			  array->settings->stable ? compare_numbers : compare_images);
		array->groups++;
		first = i;
	}
}

/* Returns the number of tuples that a sort of n tuples returns. */
static int64
count_wanted(const ModelSettings *settings, int64 n)
{
	return settings->bound > 0 ? Min(settings->bound, n) : n;
}

/*
 * model_is_put returns true if the test puts the tuple with the given number
 * in the given round.  The first round has all tuples; a later round has all,
 * half, a few or no tuples.
 */
bool
model_is_put(const ModelSettings *settings, int round, int64 number)
{
	static const int parts[] = {1, 2, 17, 0};
	int			part = round == 0 ? 1 :
		parts[test_mix(settings->seed, -round) % lengthof(parts)];

	return part > 0 && test_mix(round, number) % part == 0;
}

/* model_array_round makes the array of a later round. */
ModelArray *
model_array_round(const ModelArray *first, int round)
{
	ModelArray *array = palloc(sizeof(ModelArray));

	*array = *first;
	array->round = round;
	array->n = 0;
	array->server = NULL;
	array->tuples = MemoryContextAllocHuge(CurrentMemoryContext,
										   (first->n + 1) *
										   sizeof(ModelTuple));
	for (int64 i = 0; i < first->n; i++)
	{
		if (model_is_put(first->settings, round, first->tuples[i].number))
			array->tuples[array->n++] = first->tuples[i];
	}
	array->wanted = count_wanted(first->settings, array->n);
	return array;
}

/* model_array_make sorts the source with the server. */
ModelArray *
model_array_make(ModelSource *source, const ModelSettings *settings)
{
	ModelArray *array = palloc0(sizeof(ModelArray));
	PutTuple   *puts;
	int64		position = 0;

	array->source = source;
	array->settings = settings;
	array->server_slot = MakeSingleTupleTableSlot(source->desc,
												  &TTSOpsMinimalTuple);
	array->row_context = AllocSetContextCreate(CurrentMemoryContext,
											   "ptsort_test row",
											   ALLOCSET_DEFAULT_SIZES);
	puts = run_server(array);
	array->tuples = MemoryContextAllocExtended(CurrentMemoryContext,
											   (array->n + 1) *
											   sizeof(ModelTuple),
											   MCXT_ALLOC_HUGE |
											   MCXT_ALLOC_ZERO);
	while (take_tuple(array, puts, position))
	{
		CHECK_FOR_INTERRUPTS();
		position++;
	}
	if (position != array->n)
		elog(ERROR, "the server returned " INT64_FORMAT " of " INT64_FORMAT " tuples",
			 position, array->n);
	pfree(puts);
	if (array->n > 0)
		order_groups(array);
	array->wanted = count_wanted(settings, array->n);
	return array;
}

/* model_array_free ends the server's sort, but does not free the tuples. */
void
model_array_free(ModelArray *array)
{
	ExecClearTuple(array->server_slot);
	tuplesort_end(array->server);
	ExecDropSingleTupleTableSlot(array->server_slot);
	MemoryContextDelete(array->row_context);
}
