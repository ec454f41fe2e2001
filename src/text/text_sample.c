/*-------------------------------------------------------------------------
 *
 * text_sample.c
 *	  The strings from which a code is learned.
 *
 * The strings are in one block of memory, so that the limit on it is exact and
 * other processes can read it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_sample.h"
#include "util.h"
#include "utils/memutils.h"

/* Number of strings whose beginnings text_sample_prefix tries. */
#define CANDIDATES		3

void
text_sample_init(TextSample *sample, Size limit)
{
	memset(sample, 0, sizeof(TextSample));
	sample->limit = limit;
	sample->room = ALLOCSET_SMALL_INITSIZE;
	sample->data = palloc(sample->room);
}

void
text_sample_free(TextSample *sample)
{
	pfree(sample->data);
	memset(sample, 0, sizeof(TextSample));
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

void
text_sample_show(TextSample *sample, const char *string, int length)
{
	Size		need;

	length = Min(length, TEXT_SAMPLE_BYTES);
	need = sample->bytes + sizeof(int) + length;
	if (sample->nstrings == TEXT_SAMPLE_STRINGS ||
		need + (sample->nstrings + 1) * sizeof(SampleWords) > sample->limit)
		return;
	while (sample->room < need)
	{
		sample->room = Min(sample->room * 2, sample->limit);
		sample->data = repalloc(sample->data, sample->room);
	}
	memcpy(sample->data + sample->bytes, &length, sizeof(int));
	memcpy(sample->data + sample->bytes + sizeof(int), string, length);
	sample->bytes = need;
	sample->nstrings++;
}

/*
 * The length of the longest prefix of a string that at least this fraction of
 * the sample's strings have.
 */
static int
common_prefix(const TextSample *sample, double fraction, const char *string,
			  int length)
{
	int			counts[TEXT_SAMPLE_BYTES + 1] = {0};	/* by shared bytes */
	int			have = 0;
	Size		at = 0;
	int			size;
	const char *other;

	while ((other = text_sample_next(sample, &at, &size)) != NULL)
	{
		int			shared = 0;

		while (shared < length && shared < size &&
			   other[shared] == string[shared])
			shared++;
		counts[shared]++;
	}
	for (; length > 0; length--)
	{
		have += counts[length];
		if (have >= fraction * sample->nstrings)
			break;
	}
	return length;
}

int
text_sample_prefix(const TextSample *sample, double fraction,
				   const char **prefix)
{
	int			best = 0;
	Size		at = 0;
	int			length;
	const char *string;

	for (int i = 0;
		 (string = text_sample_next(sample, &at, &length)) != NULL; i++)
	{
		if (i % (sample->nstrings / CANDIDATES + 1) != 0)
			continue;
		length = common_prefix(sample, fraction, string, length);
		if (length > best)
		{
			best = length;
			*prefix = string;
		}
	}
	return best;
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

bool
text_sample_import(TextSample *sample, const char *source, Size bytes)
{
	int			length;

	for (Size at = 0; at < bytes; at += sizeof(int) + length)
	{
		if (bytes - at < sizeof(int))
			return false;
		memcpy(&length, source + at, sizeof(int));
		if (length < 0 || length > bytes - at - sizeof(int))
			return false;
		text_sample_show(sample, source + at + sizeof(int), length);
	}
	return sample->bytes == bytes;
}
