/*-------------------------------------------------------------------------
 *
 * text_collation.c
 *	  The primary weights of a collation's characters, learned by comparing.
 *
 * Two comparisons tell whether the primary weights of characters x and y are
 * equal: that of "x1" with "y0", and that of "x0" with "y1".  If the weights
 * differ, they decide both times.  If they are equal, the digits decide
 * whatever accents and case say, so "x1" is greater and "x0" is less.
 * (Digits, because no language has a character that is a letter followed by a
 * digit.)
 *
 * A character x is ignorable if "x1" is greater than "0" and "x0" is less than
 * "1", as if x were not there.  That is true of the digit 0, too, so the same
 * is asked with letters in place of the digits.
 *
 * A list holds one character of each weight, in order.  A character is looked
 * up by bisecting that list with comparisons, once; its weight is then kept in
 * an array (characters of one byte) or a hash table (others).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fmgr.h"
#include "key/text_collation.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* A character: its bytes, the last one lowest.  0 is none. */
typedef uint32 CharKey;

/* Most bytes of a character in a server encoding. */
#define MAX_CHAR_BYTES	4

typedef struct CharEntry
{
	CharKey		key;
	CharWeight	weight;
	char		status;			/* for simplehash */
} CharEntry;

#define SH_PREFIX		chartable
#define SH_ELEMENT_TYPE	CharEntry
#define SH_KEY_TYPE		CharKey
#define SH_KEY			key
#define SH_HASH_KEY(table, key)	((uint32) (key) * 0x9E3779B1)
#define SH_EQUAL(table, a, b)	((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct Collation
{
	SortSupport ssup;			/* the comparison; its direction is not used */
	TextForm	form;
	bool		bytewise;
	bool		learning;		/* since learn_string, before end_learning */
	int			encoding;
	CharKey		byte_keys;		/* smaller keys are found in byte_weights */
	int			nweights;
	int			maxweights;
	CharKey    *examples;		/* one character of each weight, in order */
	CharWeight	byte_weights[256];	/* of characters of one byte */
	chartable_hash *characters; /* of the others */
	uint32		max_characters; /* at most this many of them */
};

/* Room for characters at first. */
#define FIRST_CHARACTERS	256

Collation *
text_collation_create(SortSupport ssup, TextForm form, bool bytewise)
{
	Collation  *collation = palloc0(sizeof(Collation));

	collation->ssup = ssup;
	collation->form = form;
	collation->bytewise = bytewise;
	collation->encoding = GetDatabaseEncoding();
	collation->byte_keys =
		bytewise || pg_encoding_max_length(collation->encoding) == 1 ?
		256 : 128;
	collation->maxweights = 256;
	collation->examples = palloc(collation->maxweights * sizeof(CharKey));
	for (int i = 0; i < 256; i++)
		collation->byte_weights[i] = WEIGHT_UNKNOWN;
	collation->characters = chartable_create(CurrentMemoryContext,
											 FIRST_CHARACTERS, NULL);
	collation->max_characters = PG_UINT32_MAX;
	return collation;
}

void
text_collation_limit(Collation *collation, Size limit)
{
	uint64		slots = 2 * FIRST_CHARACTERS;

	while (slots * 2 * sizeof(CharEntry) * 3 / 2 <= limit)
		slots *= 2;
	/* simplehash grows at nine tenths */
	collation->max_characters = Min(slots * 8 / 10, PG_UINT32_MAX);
}

int
text_collation_nweights(const Collation *collation)
{
	Assert(!collation->learning);
	return collation->nweights;
}

CharWeight *
text_collation_byte_weights(Collation *collation)
{
	return collation->byte_weights;
}

const char *
text_collation_string(const Collation *collation, Datum value, int *length)
{
	struct varlena *text;

	if (collation->form == TEXT_NAME)
	{
		*length = strnlen(DatumGetCString(value), NAMEDATALEN);
		return DatumGetCString(value);
	}
	text = (struct varlena *) DatumGetPointer(value);
	if (!VARATT_IS_SHORT(text) || VARATT_IS_EXTERNAL(text))
		text = PG_DETOAST_DATUM_PACKED(value);
	*length = VARSIZE_ANY_EXHDR(text);
	if (collation->form == TEXT_PADDED)
		*length = bpchartruelen(VARDATA_ANY(text), *length);
	return VARDATA_ANY(text);
}


/*
 * Asking the comparison
 */

/* A string as a value of the column's type. */
typedef union Probe
{
	char		name[NAMEDATALEN];
	struct varlena header;
	uint64		alignment;
} Probe;

/* Make a value of a character and a suffix of one byte. */
static Datum
make_probe(const Collation *collation, Probe *probe, CharKey key, char suffix)
{
	char	   *start = probe->name;
	int			length = 0;

	memset(probe, 0, sizeof(Probe));
	if (collation->form != TEXT_NAME)
		start += VARHDRSZ;
	for (int shift = 8 * (MAX_CHAR_BYTES - 1); shift >= 0; shift -= 8)
	{
		if (key >> shift)
			start[length++] = (char) (key >> shift);
	}
	start[length++] = suffix;
	if (collation->form == TEXT_NAME)
		return CStringGetDatum(probe->name);
	SET_VARSIZE(probe, VARHDRSZ + length);
	return PointerGetDatum(probe);
}

static int
compare_probes(const Collation *collation, CharKey a, char a_suffix, CharKey b,
			   char b_suffix)
{
	Probe		left;
	Probe		right;
	SortSupport ssup = collation->ssup;

	return ssup->comparator(make_probe(collation, &left, a, a_suffix),
							make_probe(collation, &right, b, b_suffix), ssup);
}

/* Make a value of a string, in palloc'd memory. */
static Datum
make_value(const Collation *collation, const char *string, int length)
{
	char	   *value = palloc0(Max(NAMEDATALEN, VARHDRSZ + length));

	if (collation->form == TEXT_NAME)
	{
		memcpy(value, string, Min(length, NAMEDATALEN - 1));
		return CStringGetDatum(value);
	}
	SET_VARSIZE(value, VARHDRSZ + length);
	memcpy(value + VARHDRSZ, string, length);
	return PointerGetDatum(value);
}

int
text_collation_compare(const Collation *collation, const char *a, int a_length,
					   const char *b, int b_length)
{
	Datum		left = make_value(collation, a, a_length);
	Datum		right = make_value(collation, b, b_length);
	int			cmp = collation->ssup->comparator(left, right, collation->ssup);

	pfree(DatumGetPointer(left));
	pfree(DatumGetPointer(right));
	return cmp;
}

/* The order of the primary weights of two characters. */
static int
compare_characters(const Collation *collation, CharKey a, CharKey b)
{
	int			cmp;

	if (collation->bytewise)
		return (a > b) - (a < b);
	cmp = compare_probes(collation, a, '1', b, '0');
	if (cmp > 0 && compare_probes(collation, a, '0', b, '1') < 0)
		return 0;
	return cmp;
}

static bool
is_ignorable(const Collation *collation, CharKey key)
{
	return !collation->bytewise &&
		compare_characters(collation, key, 0) == 0 &&
		compare_probes(collation, key, 'q', 0, 'p') > 0 &&
		compare_probes(collation, key, 'p', 0, 'q') < 0;
}

/* The rank of a character's weight; WEIGHT_ABOVE if it was not learned. */
static CharWeight
find_weight(const Collation *collation, CharKey key)
{
	int			low = 0;
	int			high = collation->nweights;

	if (is_ignorable(collation, key))
		return WEIGHT_IGNORABLE;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			cmp = compare_characters(collation, key,
											 collation->examples[middle]);

		if (cmp == 0)
			return middle;
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low | WEIGHT_ABOVE;
}


/*
 * Characters
 */

/* The character at *string, which is advanced past it. */
static CharKey
next_key(const Collation *collation, const char **string, const char *end)
{
	CharKey		key = 0;
	int			length = 1;

	/* an incomplete character at the end is as good as any */
	if (!collation->bytewise && IS_HIGHBIT_SET(**string) && end - *string > 1)
		length = Min(pg_encoding_mblen(collation->encoding, *string),
					 end - *string);
	length = Min(length, MAX_CHAR_BYTES);
	for (int i = 0; i < length; i++)
		key = (key << 8) | (unsigned char) *(*string)++;
	return key;
}

/*
 * Where the weight of a character is kept.  What has been found out about
 * characters can be found out again, so a full table is emptied.
 */
static CharWeight *
weight_place(Collation *collation, CharKey key)
{
	CharEntry  *entry;
	bool		found;

	if (key < collation->byte_keys)
		return &collation->byte_weights[key];
	if (unlikely(collation->characters->members >= collation->max_characters) &&
		chartable_lookup(collation->characters, key) == NULL)
		chartable_reset(collation->characters);
	entry = chartable_insert(collation->characters, key, &found);
	if (!found)
		entry->weight = WEIGHT_UNKNOWN;
	return &entry->weight;
}

CharWeight
text_collation_next_slow(Collation *collation, const char **string,
						 const char *end)
{
	CharKey		key = next_key(collation, string, end);
	CharWeight *place = weight_place(collation, key);

	Assert(!collation->learning);
	if (*place == WEIGHT_UNKNOWN)
		*place = find_weight(collation, key);
	return *place;
}

/*
 * Learn a character.  If its weight is none of those there are, it is inserted
 * among them, and the ranks of all weights above it change.  So what the table
 * says meanwhile is only that a character has been seen.
 */
static void
learn_character(Collation *collation, CharKey key)
{
	CharWeight *place = weight_place(collation, key);
	CharWeight	weight;

	if (*place != WEIGHT_UNKNOWN)
		return;
	*place = WEIGHT_IGNORABLE;	/* seen */
	weight = find_weight(collation, key);
	if (!(weight & WEIGHT_ABOVE) || collation->nweights >= MAX_WEIGHTS)
		return;
	weight &= ~WEIGHT_ABOVE;
	if (collation->nweights == collation->maxweights)
	{
		collation->maxweights *= 2;
		collation->examples = repalloc(collation->examples,
									   collation->maxweights * sizeof(CharKey));
	}
	memmove(&collation->examples[weight + 1], &collation->examples[weight],
			(collation->nweights - weight) * sizeof(CharKey));
	collation->examples[weight] = key;
	collation->nweights++;
}

/* Forget the ranks of characters, which new weights have changed. */
static void
forget_characters(Collation *collation)
{
	for (int i = 0; i < 256; i++)
		collation->byte_weights[i] = WEIGHT_UNKNOWN;
	chartable_reset(collation->characters);
}

void
text_collation_learn_string(Collation *collation, const char *string,
							int length)
{
	const char *end = string + length;

	if (!collation->learning)
	{
		forget_characters(collation);
		collation->learning = true;
	}
	while (string < end)
		learn_character(collation, next_key(collation, &string, end));
}

void
text_collation_end_learning(Collation *collation)
{
	forget_characters(collation);
	collation->learning = false;
}


/*
 * Weights for other processes: their number and one character of each.  Every
 * process finds the same ranks from these.
 */

void
text_collation_export(const Collation *collation, StringInfo target)
{
	Assert(!collation->learning);
	appendBinaryStringInfo(target, (const char *) &collation->nweights,
						   sizeof(int));
	appendBinaryStringInfo(target, (const char *) collation->examples,
						   collation->nweights * sizeof(CharKey));
}

const char *
text_collation_import(Collation *collation, const char *source,
					  const char *end)
{
	int			nweights;

	Assert(!collation->learning);
	if (end - source < (ptrdiff_t) sizeof(int))
		return NULL;
	memcpy(&nweights, source, sizeof(int));
	source += sizeof(int);
	if (nweights < 0 || nweights > MAX_WEIGHTS ||
		end - source < (ptrdiff_t) (nweights * sizeof(CharKey)))
		return NULL;
	forget_characters(collation);
	collation->nweights = nweights;
	collation->maxweights = Max(nweights, 1);
	collation->examples = repalloc(collation->examples,
								   collation->maxweights * sizeof(CharKey));
	memcpy(collation->examples, source, nweights * sizeof(CharKey));
	return source + nweights * sizeof(CharKey);
}
