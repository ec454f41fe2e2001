/*-------------------------------------------------------------------------
 *
 * text_sample.c
 *	  An evenly spread sample of the strings that are shown.
 *
 * The strings are in one block of memory, so that the limit on it is exact and
 * the memory of dropped strings can be reused.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "mb/pg_wchar.h"
#include "text/text_sample.h"
#include "util.h"
#include "utils/memutils.h"

/* Initial size of the block in bytes. */
#define FIRST_ROOM		1024

void
text_sample_init(TextSample *sample, bool bytewise, Size reserve)
{
	memset(sample, 0, sizeof(TextSample));
	sample->limit = MaxAllocSize;
	sample->reserve = reserve;
	sample->bytewise = bytewise;
	sample->every = 1;
	sample->room = FIRST_ROOM;
	sample->data = palloc(sample->room);
}

int
text_sample_clip(const TextSample *sample, const char *string, int length,
				 int limit)
{
	return sample->bytewise ? Min(length, limit) :
		pg_encoding_mbcliplen(GetDatabaseEncoding(), string, length, limit);
}

const char *
text_sample_next(const TextSample *sample, Size *at, int *length)
{
	const char *string;

	if (*at >= sample->bytes)
		return NULL;
	memcpy(length, sample->data + *at, sizeof(int));
	string = sample->data + *at + sizeof(int);
	*at += sizeof(int) + *length;
	return string;
}

/* Drop every other string. */
static void
thin_out(TextSample *sample)
{
	const char *string;
	Size		at = 0;
	Size		kept = 0;		/* bytes */
	int			length;
	int			i = 0;

	while ((string = text_sample_next(sample, &at, &length)) != NULL)
	{
		if (i++ % 2 != 0)
			continue;
		memmove(sample->data + kept, string - sizeof(int),
				sizeof(int) + length);
		kept += sizeof(int) + length;
	}
	sample->bytes = kept;
	sample->nstrings = (sample->nstrings + 1) / 2;
	sample->every *= 2;
}

/*
 * True if there is room for a string of this length; enlarges the block if
 * necessary.
 */
static bool
has_room(TextSample *sample, int length)
{
	Size		need = sample->bytes + sizeof(int) + length;

	if (sample->nstrings == TEXT_SAMPLE_STRINGS ||
		need + (sample->nstrings + 1) * sample->reserve > sample->limit)
		return false;
	while (sample->room < need)
	{
		sample->room = Min(sample->room * 2, sample->limit);
		sample->data = repalloc(sample->data, sample->room);
	}
	return true;
}

void
text_sample_show(TextSample *sample, const char *string, int length)
{
	int64		number = sample->seen++;

	if (number % sample->every != 0)
		return;
	if (length > TEXT_SAMPLE_BYTES)
		length = text_sample_clip(sample, string, length, TEXT_SAMPLE_BYTES);
	while (!has_room(sample, length))
	{
		if (sample->nstrings == 0)
			return;
		thin_out(sample);
		/* the sample keeps only multiples of the new interval */
		if (number % sample->every != 0)
			return;
	}
	memcpy(sample->data + sample->bytes, &length, sizeof(int));
	memcpy(sample->data + sample->bytes + sizeof(int), string, length);
	sample->bytes += sizeof(int) + length;
	sample->nstrings++;
}

void
text_sample_free(TextSample *sample)
{
	pfree(sample->data);
	sample->data = NULL;
	sample->bytes = 0;
	sample->nstrings = 0;
}

int
text_sample_prefix(const TextSample *sample, double fraction, char *prefix)
{
	int			length = 0;

	for (; length < TEXT_SAMPLE_BYTES; length++)
	{
		int			counts[256] = {0};
		int			best = 0;
		Size		at = 0;
		int			size;
		const char *string;

		while ((string = text_sample_next(sample, &at, &size)) != NULL)
		{
			if (size > length && memcmp(string, prefix, length) == 0)
				counts[(unsigned char) string[length]]++;
		}
		for (int i = 1; i < 256; i++)
		{
			if (counts[i] > counts[best])
				best = i;
		}
		if (counts[best] < fraction * sample->nstrings ||
			counts[best] == 0)
			break;
		prefix[length] = (char) best;
	}
	return length;
}

static int
compare_words(const void *a, const void *b)
{
	uint64		left = *(const uint64 *) a;
	uint64		right = *(const uint64 *) b;

	return (left > right) - (left < right);
}

int
text_sample_count_words(const TextSample *sample)
{
	uint64	   *words = palloc(Max(sample->nstrings, 1) * sizeof(uint64));
	const char *string;
	Size		at = 0;
	int			length;
	int			n = 0;
	int			different = Min(sample->nstrings, 1);

	while ((string = text_sample_next(sample, &at, &length)) != NULL)
		words[n++] = pt_string_word(string, length);
	qsort(words, n, sizeof(uint64), compare_words);
	for (int i = 1; i < n; i++)
		different += words[i] != words[i - 1];
	pfree(words);
	return different;
}

double
text_sample_wide_fraction(const TextSample *sample)
{
	const char *string;
	Size		at = 0;
	int			length;
	int64		bytes = 0;
	int64		wide = 0;

	while ((string = text_sample_next(sample, &at, &length)) != NULL)
	{
		bytes += length;
		for (int i = 0; i < length; i++)
			wide += IS_HIGHBIT_SET(string[i]) ? 1 : 0;
	}
	return bytes == 0 ? 0 : (double) wide / bytes;
}
