/*-------------------------------------------------------------------------
 *
 * text_collation.c
 *	  Learned weights: the classes of a collation's characters.
 *
 * Two comparisons tell whether characters x and y have the same primary
 * weight: of x1 with y0, and of x0 with y1.  If the weights differ, they
 * decide both times.  If they are the same, the digits decide, whatever
 * accents and case say; the first is then greater, the second smaller.
 * (Digits, because no language has a character that is a letter followed by a
 * digit.)
 *
 * A character is ignored if it looks like no character at all in that test,
 * and again with letters instead of the digits, so that it is not just the
 * digit 0 itself.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "key/text_collation.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* A character: its bytes, the last one lowest.  0 is none. */
typedef uint32 CharKey;

/* Most bytes of a character in a server encoding. */
#define MAX_CHAR_BYTES	4

typedef struct CharEntry
{
	CharKey		key;
	CharClass	class;
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
	int			encoding;
	CharKey		byte_keys;		/* smaller keys are found in byte_classes */
	int			nclasses;
	int			maxclasses;
	CharKey    *classes;		/* one character of each, in order */
	CharClass	byte_classes[256];	/* of characters of one byte */
	chartable_hash *characters; /* of the others; so many at most: */
	uint32		max_characters;
};

/* Room for characters at first. */
#define FIRST_CHARACTERS	256

/*
 * text_collation_create prepares for a column.  ssup is the column's, without
 * abbreviation, and must live as long.
 */
Collation *
text_collation_create(SortSupport ssup, TextForm form, bool bytewise)
{
	Collation  *collation = palloc0(sizeof(Collation));

	collation->ssup = ssup;
	collation->form = form;
	collation->bytewise = bytewise;
	collation->encoding = GetDatabaseEncoding();
	collation->byte_keys =
		bytewise || pg_encoding_max_length(collation->encoding) == 1 ? 256 : 128;
	collation->maxclasses = 256;
	collation->classes = palloc(collation->maxclasses * sizeof(CharKey));
	for (int i = 0; i < 256; i++)
		collation->byte_classes[i] = CLASS_UNKNOWN;
	collation->characters = chartable_create(CurrentMemoryContext,
											 FIRST_CHARACTERS, NULL);
	collation->max_characters = PG_UINT32_MAX;
	return collation;
}

/*
 * text_collation_limit has the table of characters take no more than `limit`
 * bytes, also while it grows, when there are a table and one of half the size.
 */
void
text_collation_limit(Collation *collation, Size limit)
{
	uint64		slots = 2 * FIRST_CHARACTERS;

	while (slots * 2 * sizeof(CharEntry) * 3 / 2 <= limit)
		slots *= 2;
	/* simplehash grows at nine tenths */
	collation->max_characters = Min(slots * 8 / 10, PG_UINT32_MAX);
}

bool
text_collation_is_bytewise(const Collation *collation)
{
	return collation->bytewise;
}

/* text_collation_classes returns how many classes have been learned. */
int
text_collation_classes(const Collation *collation)
{
	return collation->nclasses;
}

/* text_collation_byte_classes returns the classes of characters of one byte. */
CharClass *
text_collation_byte_classes(Collation *collation)
{
	return collation->byte_classes;
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

	return collation->ssup->comparator(make_probe(collation, &left, a, a_suffix),
									   make_probe(collation, &right, b, b_suffix),
									   collation->ssup);
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
	int			first;

	if (collation->bytewise)
		return (a > b) - (a < b);
	first = compare_probes(collation, a, '1', b, '0');
	return first > 0 && compare_probes(collation, a, '0', b, '1') < 0 ? 0 : first;
}

static bool
is_ignored(const Collation *collation, CharKey key)
{
	return !collation->bytewise &&
		compare_characters(collation, key, 0) == 0 &&
		compare_probes(collation, key, 'q', 0, 'p') > 0 &&
		compare_probes(collation, key, 'p', 0, 'q') < 0;
}

/* The place of a character among the classes, perhaps above one. */
static CharClass
find_class(const Collation *collation, CharKey key)
{
	int			low = 0;
	int			high = collation->nclasses;

	if (is_ignored(collation, key))
		return CLASS_IGNORED;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			cmp = compare_characters(collation, key, collation->classes[middle]);

		if (cmp == 0)
			return middle;
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low | CLASS_ABOVE;
}


/*
 * Characters
 */

/* The character at *string, and move behind it. */
static CharKey
next_key(const Collation *collation, const char **string, const char *end)
{
	CharKey		key = 0;
	int			length = 1;

	/* An incomplete character at the end is as good as any. */
	if (!collation->bytewise && IS_HIGHBIT_SET(**string) && end - *string > 1)
		length = Min(pg_encoding_mblen(collation->encoding, *string), end - *string);
	length = Min(length, MAX_CHAR_BYTES);
	for (int i = 0; i < length; i++)
		key = (key << 8) | (unsigned char) *(*string)++;
	return key;
}

/*
 * Where the class of a character is kept.  What has been found out about
 * characters can be found out again, so a full table is emptied.
 */
static CharClass *
class_place(Collation *collation, CharKey key)
{
	CharEntry  *entry;
	bool		found;

	if (key < collation->byte_keys)
		return &collation->byte_classes[key];
	if (unlikely(collation->characters->members >= collation->max_characters) &&
		chartable_lookup(collation->characters, key) == NULL)
		chartable_reset(collation->characters);
	entry = chartable_insert(collation->characters, key, &found);
	if (!found)
		entry->class = CLASS_UNKNOWN;
	return &entry->class;
}

/*
 * text_collation_multibyte_class is text_collation_next for a character of
 * several bytes, or one that is met for the first time.
 */
CharClass
text_collation_multibyte_class(Collation *collation, const char **string,
							   const char *end)
{
	CharKey		key = next_key(collation, string, end);
	CharClass  *place = class_place(collation, key);

	if (*place == CLASS_UNKNOWN)
		*place = find_class(collation, key);
	return *place;
}

/* Learn a character, in a new class if it is between those there are. */
static void
learn_character(Collation *collation, CharKey key)
{
	CharClass  *place = class_place(collation, key);
	CharClass	class;

	if (*place != CLASS_UNKNOWN)
		return;
	*place = CLASS_IGNORED;		/* that is: seen, for now */
	class = find_class(collation, key);
	if (!(class & CLASS_ABOVE) || collation->nclasses >= MAX_CLASSES)
		return;
	class &= ~CLASS_ABOVE;
	if (collation->nclasses == collation->maxclasses)
	{
		collation->maxclasses *= 2;
		collation->classes = repalloc(collation->classes,
									  collation->maxclasses * sizeof(CharKey));
	}
	memmove(&collation->classes[class + 1], &collation->classes[class],
			(collation->nclasses - class) * sizeof(CharKey));
	collation->classes[class] = key;
	collation->nclasses++;
}

/*
 * text_collation_forget_numbers forgets the numbers of characters, which new
 * classes have moved.  To be called after the last string to learn.
 */
void
text_collation_forget_numbers(Collation *collation)
{
	for (int i = 0; i < 256; i++)
		collation->byte_classes[i] = CLASS_UNKNOWN;
	chartable_reset(collation->characters);
}

/* text_collation_learn_string learns the characters of a string. */
void
text_collation_learn_string(Collation *collation, const char *string, int length)
{
	const char *end = string + length;

	while (string < end)
		learn_character(collation, next_key(collation, &string, end));
}


/*
 * Classes for other processes: their number and one character of each.  Every
 * process finds the same numbers from these.
 */

void
text_collation_export(const Collation *collation, StringInfo target)
{
	appendBinaryStringInfo(target, (const char *) &collation->nclasses, sizeof(int));
	appendBinaryStringInfo(target, (const char *) collation->classes,
						   collation->nclasses * sizeof(CharKey));
}

/*
 * text_collation_import returns what lies behind what it has read; NULL if
 * that is not what lies from source to end.
 */
const char *
text_collation_import(Collation *collation, const char *source, const char *end)
{
	int			nclasses;

	if (end - source < (ptrdiff_t) sizeof(int))
		return NULL;
	memcpy(&nclasses, source, sizeof(int));
	source += sizeof(int);
	if (nclasses < 0 || nclasses > MAX_CLASSES ||
		end - source < (ptrdiff_t) (nclasses * sizeof(CharKey)))
		return NULL;
	text_collation_forget_numbers(collation);
	collation->nclasses = nclasses;
	collation->maxclasses = Max(nclasses, 1);
	collation->classes = repalloc(collation->classes,
								  collation->maxclasses * sizeof(CharKey));
	memcpy(collation->classes, source, nclasses * sizeof(CharKey));
	return source + nclasses * sizeof(CharKey);
}
