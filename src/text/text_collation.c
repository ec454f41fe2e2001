/*-------------------------------------------------------------------------
 *
 * text_collation.c
 *	  The primary weights of a collation's characters, as ranks.
 *
 * A sorted list holds the weights that occur in the sample.  A weight is found
 * by binary search in that list, once; its place is then cached in an array
 * (one-byte characters) or a hash table (others).
 *
 * The weights are those of a string's collating elements, which may be fewer
 * or more than its characters.  In bytewise order they are the bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "text/text_collation.h"
#include "utils/builtins.h"
#include "utils/formatting.h"

/* A character: its bytes, the last one lowest.  0 is no character. */
typedef uint32 CharKey;

/* Maximum length in bytes of a character in a server encoding. */
#define MAX_CHAR_BYTES	4

typedef struct CharEntry
{
	CharKey		key;
	CharWeight	weight;
	char		status;			/* for simplehash */
	char		proof;			/* TextRankProof; used with ranks only */
} CharEntry;

#define SH_PREFIX		chartable
#define SH_ELEMENT_TYPE	CharEntry
#define SH_KEY_TYPE		CharKey
#define SH_KEY			key
#define SH_HASH_KEY(table, key)	murmurhash32(key)
#define SH_EQUAL(table, a, b)	((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct Collation
{
	const TextRanks *ranks;		/* the collation's order; NULL: bytewise */
	int			taken;			/* bytes of the current element's weights that
								 * were already returned */
	TextForm	form;
	bool		learning;		/* between learn_string and end_learning */
	int			encoding;
	CharKey		byte_keys;		/* keys below this are in byte_weights */
	int			nweights;
	int			most_weights;	/* maximum of nweights */
	int			maxweights;		/* allocated length of 'weights' */
	uint32	   *weights;		/* learned weights, in order */
	CharWeight	byte_weights[256];	/* weights of one-byte characters */
	chartable_hash *characters; /* the other characters */
	uint32		max_slots;		/* maximum slots of that table */
	uint32		max_characters; /* maximum entries, so that it stays within
								 * max_slots */
};

/* Initial room for characters and weights. */
#define FIRST_CHARACTERS	256
#define FIRST_WEIGHTS		256

Collation *
text_collation_create(TextForm form, const TextRanks *ranks)
{
	Collation  *collation = palloc0(sizeof(Collation));

	Assert(ranks == NULL || text_rank_is_ready(ranks));
	collation->ranks = ranks;
	collation->form = form;
	collation->encoding = GetDatabaseEncoding();
	collation->byte_keys =
		ranks == NULL || pg_encoding_max_length(collation->encoding) == 1 ?
		256 : 128;
	collation->most_weights = MAX_WEIGHTS;
	collation->maxweights = FIRST_WEIGHTS;
	collation->weights = palloc(collation->maxweights * sizeof(uint32));
	for (int i = 0; i < 256; i++)
		collation->byte_weights[i] = WEIGHT_UNKNOWN;
	collation->characters = chartable_create(CurrentMemoryContext,
											 FIRST_CHARACTERS, NULL);
	text_collation_limit(collation, PG_INT32_MAX);
	return collation;
}

void
text_collation_limit(Collation *collation, Size limit)
{
	uint64		slots = 2 * FIRST_CHARACTERS;

	while (slots * 2 * sizeof(CharEntry) * 3 / 2 <= limit)
		slots *= 2;
	collation->max_slots = slots;
	/* simplehash grows at nine tenths, or if an entry is far from its place */
	collation->max_characters = slots * 6 / 10;
}

Size
text_collation_growth(const Collation *collation)
{
	uint64		slots = collation->characters->size;

	/* single bytes are not in the table */
	if (collation->ranks == NULL || slots >= collation->max_slots)
		return 0;
	/* while it grows, both the old and the new table exist */
	return (collation->max_slots * 3 / 2 - slots) * sizeof(CharEntry);
}

void
text_collation_limit_weights(Collation *collation, int most)
{
	collation->most_weights = Max(FIRST_WEIGHTS, Min(most, MAX_WEIGHTS));
}

int
text_collation_nweights(const Collation *collation)
{
	Assert(!collation->learning);
	return collation->nweights;
}

void
text_collation_begin(Collation *collation)
{
	collation->taken = 0;
}

bool
text_collation_ends(const Collation *collation, const char *string)
{
	return collation->ranks == NULL ||
		(collation->taken == 0 &&
		 text_rank_is_alone(collation->ranks, string[-1]));
}

CharWeight *
text_collation_byte_weights(Collation *collation)
{
	return collation->byte_weights;
}

/* A varlena in lower case, as a C string, like citext_cmp() compares it. */
static Datum
lower_case(Datum value)
{
	struct varlena *text = PG_DETOAST_DATUM_PACKED(value);
	char	   *lower = str_tolower(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text),
									DEFAULT_COLLATION_OID);

	if ((Pointer) text != DatumGetPointer(value))
		pfree(text);
	return CStringGetDatum(lower);
}

Datum
text_collation_plain(const Collation *collation, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	if (collation->form == TEXT_LOWERED)
		return lower_case(value);
	if (collation->form == TEXT_NAME ||
		(VARATT_IS_SHORT(text) && !VARATT_IS_EXTERNAL(text)))
		return value;
	return PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
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
	if (collation->form == TEXT_LOWERED)
	{
		*length = strlen(DatumGetCString(value));
		return DatumGetCString(value);
	}
	text = (struct varlena *) DatumGetPointer(value);
	*length = VARSIZE_ANY_EXHDR(text);
	if (collation->form == TEXT_PADDED)
		*length = bpchartruelen(VARDATA_ANY(text), *length);
	return VARDATA_ANY(text);
}


/*
 * Looking weights up
 */

/*
 * The place of a weight in the list, with WEIGHT_ABOVE if it was not learned.
 */
static CharWeight
find_place(const Collation *collation, uint32 weight)
{
	int			low = 0;
	int			high = collation->nweights;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (weight == collation->weights[middle])
			return middle;
		if (weight < collation->weights[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low | WEIGHT_ABOVE;
}

/* The place of a rank; rank 0 means that there is no primary weight. */
static CharWeight
find_rank(const Collation *collation, uint32 rank)
{
	return rank == 0 ? WEIGHT_IGNORABLE : find_place(collation, rank);
}

/* Extract the bytes of a character.  Returns their number. */
static int
key_bytes(CharKey key, char *bytes)
{
	int			n = 0;

	for (int shift = 8 * (MAX_CHAR_BYTES - 1); shift >= 0; shift -= 8)
	{
		if (key >> shift)
			bytes[n++] = (char) (key >> shift);
	}
	return n;
}

/*
 * The weight of a character; *proof says whether the character has this weight
 * wherever it occurs.
 */
static CharWeight
find_weight(const Collation *collation, CharKey key, char *proof)
{
	char		bytes[MAX_CHAR_BYTES];
	int			n = key_bytes(key, bytes);
	uint32		rank;

	*proof = text_rank_character(collation->ranks, bytes, n, &rank);
	return *proof == RANK_UNPROVED ? WEIGHT_UNKNOWN :
		find_rank(collation, rank);
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

	/* an incomplete character at the end counts as a character */
	if (collation->ranks && IS_HIGHBIT_SET(**string) && end - *string > 1)
		length = Min(pg_encoding_mblen(collation->encoding, *string),
					 end - *string);
	length = Min(length, MAX_CHAR_BYTES);
	for (int i = 0; i < length; i++)
		key = (key << 8) | (unsigned char) *(*string)++;
	return key;
}

/*
 * The cache entry of a character of several bytes.  A full table is simply
 * emptied, since its contents can be looked up again.
 */
static CharEntry *
find_entry(Collation *collation, CharKey key)
{
	CharEntry  *entry;
	bool		found;

	if (unlikely(collation->characters->members >= collation->max_characters) &&
		chartable_lookup(collation->characters, key) == NULL)
		chartable_reset(collation->characters);
	entry = chartable_insert(collation->characters, key, &found);
	if (!found)
	{
		entry->weight = WEIGHT_UNKNOWN;
		entry->proof = RANK_UNKNOWN;
	}
	return entry;
}

/* A pointer to the cached weight of a character. */
static CharWeight *
weight_place(Collation *collation, CharKey key)
{
	if (key < collation->byte_keys)
		return &collation->byte_weights[key];
	return &find_entry(collation, key)->weight;
}

/*
 * text_collation_next_slow with ranks.  The cached weight of a character is
 * used unless the character is part of an element of another length, or begins
 * one here.
 */
static CharWeight
next_ranked(Collation *collation, const char **string, const char *end)
{
	const char *start = *string;

	if (likely(collation->taken == 0))
	{
		CharKey		key = next_key(collation, string, end);
		CharEntry  *entry = find_entry(collation, key);

		if (entry->proof == RANK_UNKNOWN)
			entry->weight = find_weight(collation, key, &entry->proof);
		if (entry->proof == RANK_PROVED && key < collation->byte_keys)
			collation->byte_weights[key] = entry->weight;
		if (entry->proof == RANK_PROVED ||
			(entry->proof == RANK_BEGINS &&
			 text_rank_ends(collation->ranks, start, *string - start, end)))
			return entry->weight;
		*string = start;
	}
	return find_rank(collation,
					 text_rank_next(collation->ranks, string, end,
									&collation->taken));
}

CharWeight
text_collation_next_slow(Collation *collation, const char **string,
						 const char *end)
{
	unsigned char byte;

	Assert(!collation->learning);
	if (collation->ranks)
		return next_ranked(collation, string, end);
	byte = (unsigned char) *(*string)++;
	collation->byte_weights[byte] = find_place(collation, byte);
	return collation->byte_weights[byte];
}

/* text_collation_is_open: see text_collation.h. */
bool
text_collation_is_open(const Collation *collation, char byte)
{
	CharEntry  *entry = chartable_lookup(collation->characters,
										 (unsigned char) byte);

	return collation->ranks != NULL && entry != NULL &&
		entry->proof == RANK_BEGINS && !IS_HIGHBIT_SET(byte);
}

/* text_collation_is_fixed: see text_collation.h. */
bool
text_collation_is_fixed(const Collation *collation, const char *character,
						int n)
{
	CharEntry  *entry;

	if (collation->encoding != PG_UTF8 || collation->ranks == NULL)
		return false;
	entry = chartable_lookup(collation->characters,
							 next_key(collation, &character, character + n));
	return entry != NULL && entry->proof == RANK_PROVED;
}

/* text_collation_continues: see text_collation.h. */
bool
text_collation_continues(const Collation *collation, char byte, char next)
{
	return collation->ranks == NULL ||
		text_rank_continues(collation->ranks, byte, next);
}

/* Insert a weight, unless the limit is reached. */
static void
insert_weight(Collation *collation, int place, uint32 weight)
{
	if (collation->nweights == collation->most_weights)
		return;
	if (collation->nweights == collation->maxweights)
	{
		collation->maxweights = Min(2 * collation->maxweights,
									collation->most_weights);
		collation->weights = repalloc(collation->weights,
									  collation->maxweights * sizeof(uint32));
	}
	memmove(&collation->weights[place + 1], &collation->weights[place],
			(collation->nweights - place) * sizeof(uint32));
	collation->weights[place] = weight;
	collation->nweights++;
}

/*
 * Learn a byte.  A new weight is inserted among the others, which changes the
 * ranks of all weights above it.  So during learning the table records only
 * whether a byte was seen.
 */
static void
learn_byte(Collation *collation, unsigned char byte)
{
	CharWeight	weight;

	if (collation->byte_weights[byte] != WEIGHT_UNKNOWN)
		return;
	collation->byte_weights[byte] = WEIGHT_IGNORABLE;	/* seen */
	weight = find_place(collation, byte);
	if (weight & WEIGHT_ABOVE)
		insert_weight(collation, weight & ~WEIGHT_ABOVE, byte);
}

/*
 * With ranks: true if the character at *string always has the same weight, and
 * this weight is learned; *string is then advanced past it.  During learning
 * the table contains WEIGHT_IGNORABLE for these characters, and 0 for others
 * that were seen.
 */
static bool
skip_learned(Collation *collation, const char **string, const char *end)
{
	const char *at = *string;
	CharWeight *place = weight_place(collation, next_key(collation, &at, end));
	uint32		rank;

	if (*place == WEIGHT_IGNORABLE)
	{
		*string = at;
		return true;
	}
	if (*place == WEIGHT_UNKNOWN)
		*place = text_rank_character(collation->ranks, *string, at - *string,
									 &rank) == RANK_PROVED ?
			WEIGHT_IGNORABLE : 0;
	return false;
}

/* Learn the next rank of a string. */
static void
learn_rank(Collation *collation, const char **string, const char *end)
{
	uint32		rank = text_rank_next(collation->ranks, string, end,
									  &collation->taken);
	CharWeight	weight = find_rank(collation, rank);

	if (weight & WEIGHT_ABOVE)
		insert_weight(collation, weight & ~WEIGHT_ABOVE, rank);
}

/* Forget the cached ranks of characters, which new weights have changed. */
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
	collation->taken = 0;
	while (string < end)
	{
		if (collation->ranks == NULL)
			learn_byte(collation, (unsigned char) *string++);
		else if (collation->taken > 0 ||
				 !skip_learned(collation, &string, end))
			learn_rank(collation, &string, end);
	}
}

void
text_collation_end_learning(Collation *collation)
{
	forget_characters(collation);
	collation->learning = false;
}


/*
 * Export of weights: this header, then the list of weights.  Every process
 * finds the same places from the list.
 */
typedef struct WeightsHeader
{
	int			nweights;
	int			ranked;
} WeightsHeader;

void
text_collation_export(const Collation *collation, StringInfo target)
{
	WeightsHeader header = {
		.nweights = collation->nweights,
		.ranked = collation->ranks != NULL
	};

	Assert(!collation->learning);
	appendBinaryStringInfo(target, (const char *) &header, sizeof(header));
	appendBinaryStringInfo(target, (const char *) collation->weights,
						   collation->nweights * sizeof(uint32));
}

const char *
text_collation_import(Collation *collation, const char *source,
					  const char *end)
{
	WeightsHeader header;

	Assert(!collation->learning);
	if (end - source < (ptrdiff_t) sizeof(header))
		return NULL;
	memcpy(&header, source, sizeof(header));
	source += sizeof(header);
	if (header.nweights < 0 || header.nweights > MAX_WEIGHTS ||
		header.ranked != (collation->ranks != NULL) ||
		end - source < (ptrdiff_t) (header.nweights * sizeof(uint32)))
		return NULL;
	forget_characters(collation);
	collation->nweights = header.nweights;
	collation->maxweights = Max(header.nweights, 1);
	collation->weights = repalloc(collation->weights,
								  collation->maxweights * sizeof(uint32));
	memcpy(collation->weights, source, header.nweights * sizeof(uint32));
	return source + header.nweights * sizeof(uint32);
}
