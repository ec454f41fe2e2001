/*-------------------------------------------------------------------------
 *
 * text_table.c
 *	  What the C library's own tables prove about a collation.
 *
 * glibc exposes a locale's compiled tables through nl_langinfo_l().  localedef
 * defines their layout (locale/programs/ld-collate.c); strcoll() reads them in
 * string/strcoll_l.c and locale/weight.h (2.36).  In short:
 *
 * strcoll() divides a string into collating elements from left to right.  For
 * the byte at each position the table has either an element of that one byte
 * (index >= 0) or a list (index < 0) of the byte sequences that may follow the
 * byte in an element, as in an accented letter or the Czech "ch".  The first
 * match applies; the last sequence is empty.  A list may contain ranges: all
 * sequences from a lowest to a highest one.
 *
 * An element's index contains the number of the element's set of rules and the
 * position of its weights.  The weights are a length and bytes for each pass.
 * The rules say for each pass whether it goes forward or backward, and whether
 * it also compares positions.
 *
 * A weight is a number, encoded like a character in UTF-8; an element may have
 * several weights.  If all sets of rules say that the first pass goes forward
 * and does not compare positions, this pass orders two strings as memcmp()
 * orders their elements' concatenated primary weights.
 *
 * ptsort uses no tables of any other form, and no tables of other C libraries.
 * (musl has none: its strcoll() compares bytes in all locales.  Later releases
 * of musl may differ, and without tables ptsort could not notice this, so it
 * calls strcoll().)
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#ifdef __GLIBC__
#include <langinfo.h>
#endif

#include "debug.h"
#include "text/text_table.h"
#include "utils/memutils.h"

/* Sequence: an item of a list; a range of sequences if 'index' is negative. */
typedef struct Sequence
{
	int32		index;
	int			n;				/* length in bytes of one sequence */
	const unsigned char *bytes; /* bytes of the sequence, or of a range's
								 * lowest and highest sequences */
} Sequence;

/* Read the sequence at a position of a list.  Returns the next position. */
static const unsigned char *
next_sequence(const unsigned char *at, Sequence *sequence)
{
	int			length;

	memcpy(&sequence->index, at, sizeof(sequence->index));
	at += sizeof(sequence->index);
	sequence->n = *at++;
	sequence->bytes = at;

	/* the next index is aligned relative to the length byte */
	length = sequence->index < 0 ? 2 * sequence->n : sequence->n;
	return at + TYPEALIGN(sizeof(sequence->index), 1 + length) - 1;
}

/* Returns the element's index if 'string' matches the sequence, else -1. */
static int32
match_sequence(const CollateTables *tables, const Sequence *sequence,
			   const unsigned char *string, const unsigned char *end)
{
	const unsigned char *low = sequence->bytes;
	int			last = sequence->n - 1;

	if (end - string < sequence->n)
		return -1;
	if (sequence->index >= 0)
		return memcmp(low, string, sequence->n) == 0 ? sequence->index : -1;
	if (memcmp(low, string, last) != 0 || string[last] < low[last] ||
		string[last] > low[sequence->n + last])
		return -1;
	return tables->ranges[string[last] - low[last] - sequence->index];
}

/*
 * Returns the element at 'string'; its first byte must also begin longer
 * elements.  The search ends because a list's last sequence always matches.
 */
static KeptElement
search_element(const CollateTables *tables, const unsigned char *string,
			   const unsigned char *end)
{
	const unsigned char *at = tables->sequences - tables->table[*string];
	Sequence	sequence;
	KeptElement element = {0};

	do
	{
		at = next_sequence(at, &sequence);
		element.index = match_sequence(tables, &sequence, string + 1, end);
	} while (element.index < 0);
	element.length = 1 + sequence.n;
	return element;
}

/*
 * Returns the cache's entry for the UTF-8 character at 'at'.  Sets *character
 * to the character's bytes, or to 0 for a one-byte character.  (In other
 * encodings these bytes need not be a character; the cache is correct for any
 * bytes.)
 */
static inline KeptElement *
kept_place(const CollateTables *tables, const unsigned char *at,
		   const unsigned char *end, uint32 *character)
{
	int			n = text_table_weight_length(*at);

	*character = 0;
	for (int i = 0; n > 1 && n <= end - at && i < n; i++)
		*character = (*character << 8) | at[i];
	return &tables->kept[(*character ^ (*character >> 2)) % KEPT_CHARACTERS];
}

/*
 * text_table_next: see text_table.h.  The lists of Han and Hangul have
 * thousands of sequences.  So this function caches elements that do not depend
 * on the bytes after the character.
 */
int32
text_table_next(const CollateTables *tables, const unsigned char **string,
				const unsigned char *end)
{
	const unsigned char *at = *string;
	int			n = text_table_weight_length(*at);
	uint32		character;
	KeptElement *kept = kept_place(tables, at, end, &character);
	KeptElement element;

	if (likely(character != 0 && kept->character == character))
	{
		*string += kept->length;
		return kept->index;
	}
	element = search_element(tables, at, end);
	element.character = character;
	if (character != 0 && element.length <= n &&
		!text_table_continues(tables, at, n))
		*kept = element;
	*string += element.length;
	return element.index;
}

bool
text_table_continues(const CollateTables *tables, const unsigned char *bytes,
					 int n)
{
	const unsigned char *at;
	uint32		character;
	Sequence	sequence;

	if (tables->table[bytes[0]] >= 0)
		return false;
	if (n == text_table_weight_length(bytes[0]) &&
		kept_place(tables, bytes, bytes + n, &character)->character ==
		character && character != 0)
		return false;
	at = tables->sequences - tables->table[bytes[0]];
	do
	{
		at = next_sequence(at, &sequence);
		if (sequence.n >= n && memcmp(sequence.bytes, bytes + 1, n - 1) == 0)
			return true;
	} while (sequence.n > 0);
	return false;
}

/* Limit on sequences after a first byte; no locale exceeds it. */
#define MAX_SEQUENCES	2000000

/* Maximum length of an element in bytes. */
#define MAX_ELEMENT_BYTES	(1 + PG_UINT8_MAX)

/*
 * Visit the elements of a range of sequences, which must differ only in the
 * last byte.  Returns false unless the range is certainly valid.
 */
static bool
walk_range(const CollateTables *tables, const Sequence *range,
		   unsigned char *bytes, TextTableVisitor visit, void *arg)
{
	const unsigned char *low = range->bytes;
	const unsigned char *high = low + range->n;
	int			last = range->n - 1;

	if (last < 0 || memcmp(low, high, last) != 0 || low[last] > high[last])
		return false;
	memcpy(bytes + 1, low, last);
	for (int c = low[last]; c <= high[last]; c++)
	{
		bytes[range->n] = c;
		if (!visit(arg, bytes, 1 + range->n,
				   tables->ranges[c - low[last] - range->index]))
			return false;
	}
	return true;
}

/* As walk_range for the list of the first byte bytes[0] */
static bool
walk_list(const CollateTables *tables, unsigned char *bytes,
		  TextTableVisitor visit, void *arg)
{
	const unsigned char *at = tables->sequences - tables->table[bytes[0]];

	for (int count = 0; count < MAX_SEQUENCES; count++)
	{
		Sequence	sequence;

		at = next_sequence(at, &sequence);
		if (sequence.index < 0)
		{
			if (!walk_range(tables, &sequence, bytes, visit, arg))
				return false;
			continue;
		}
		memcpy(bytes + 1, sequence.bytes, sequence.n);
		if (!visit(arg, bytes, 1 + sequence.n, sequence.index))
			return false;
		if (sequence.n == 0)
			return true;
	}
	return false;
}

bool
text_table_walk(const CollateTables *tables, TextTableVisitor visit, void *arg)
{
	unsigned char bytes[MAX_ELEMENT_BYTES];

	for (int c = 1; c < 256; c++)
	{
		int32		index = tables->table[c];

		bytes[0] = c;
		if (index < 0 ? !walk_list(tables, bytes, visit, arg) :
			!visit(arg, bytes, 1, index))
			return false;
	}
	return true;
}

#ifdef __GLIBC__

/* Limit on passes; no locale exceeds it. */
#define MAX_PASSES		16

/*
 * Returns one of the locale's tables.  If 'locale' is 0, the table is that of
 * the database's locale, which the server set by setlocale().
 */
static const void *
locale_item(locale_t locale, nl_item item)
{
	return locale == (locale_t) 0 ? nl_langinfo(item) :
		nl_langinfo_l(item, locale);
}

/* In glibc, a number shares a union with nl_langinfo()'s pointer. */
static uint32
locale_number(locale_t locale, nl_item item)
{
	union
	{
		const void *string;
		unsigned int word;
	}			value;

	value.string = locale_item(locale, item);
	return value.word;
}

static void
find_tables(CollateTables *tables, locale_t locale)
{
	tables->npasses = ptsort_debug.collation_rules >= 0 ?
		ptsort_debug.collation_rules :
		locale_number(locale, _NL_COLLATE_NRULES);
	tables->rules = locale_item(locale, _NL_COLLATE_RULESETS);
	tables->table = locale_item(locale, _NL_COLLATE_TABLEMB);
	tables->sequences = locale_item(locale, _NL_COLLATE_EXTRAMB);
	tables->ranges = locale_item(locale, _NL_COLLATE_INDIRECTMB);
	tables->weights = locale_item(locale, _NL_COLLATE_WEIGHTMB);
}

typedef struct Visit
{
	const CollateTables *tables;
	bool		continues[256]; /* bytes that may continue an element */
	bool		sets[128];		/* true for sets of rules that were checked */
	bool		later;			/* true if ptsort knows the kinds of rules in
								 * all later passes */
} Visit;

/* True if the rules of an element's later passes are of known kinds. */
static bool
later_rules_are_known(const CollateTables *tables, int32 index)
{
	for (int pass = 1; pass < (int) tables->npasses; pass++)
	{
		int			rule = text_table_rule(tables, index, pass);
		int			first = tables->rules[pass];

		if ((rule != RULE_FORWARD && rule != RULE_BACKWARD &&
			 rule != (RULE_FORWARD | RULE_POSITION)) ||
			(rule & RULE_POSITION) != (first & RULE_POSITION))
			return false;
	}
	return true;
}

/*
 * Visits an element: see text_table_walk.  Returns false unless the first pass
 * goes forward over the element and compares only weights, and each of the
 * element's primary weights is well-formed.
 */
static bool
visit_element(void *arg, const unsigned char *bytes, int n, int32 index)
{
	Visit	   *visit = arg;
	const CollateTables *tables = visit->tables;
	CollateWeights weights;

	if (index < 0)
		return false;
	for (int i = 1; i < n; i++)
		visit->continues[bytes[i]] = true;
	/* check each set once: there are many elements, but few sets */
	if (!visit->sets[index >> 24])
	{
		if (text_table_rule(tables, index, 0) != RULE_FORWARD)
			return false;
		visit->later &= later_rules_are_known(tables, index);
		visit->sets[index >> 24] = true;
	}
	weights.at = text_table_weight(tables, index, 0, &weights.length);
	while (weights.length > 0)
	{
		if (text_table_number(&weights) < 0)
			return false;
	}
	return true;
}

/*
 * True if an element goes forward in all later passes and has weights in each.
 */
static bool
is_settled(const CollateTables *tables, int32 index)
{
	for (int pass = 1; pass < (int) tables->npasses; pass++)
	{
		int			length;

		(void) text_table_weight(tables, index, pass, &length);
		if (length == 0 ||
			(text_table_rule(tables, index, pass) & RULE_BACKWARD))
			return false;
	}
	return true;
}

/* Returns the number of an element's only primary weight, or 0. */
static uint32
primary_number(const CollateTables *tables, int32 index)
{
	CollateWeights weights;
	int32		number;

	weights.at = text_table_weight(tables, index, 0, &weights.length);
	if (weights.length == 0)
		return 0;
	number = text_table_number(&weights);
	return number > 0 && weights.length == 0 ? number : 0;
}

/* Set the fields of 'proof' that the tables prove. */
static void
prove(CollateProof *proof, locale_t locale)
{
	CollateTables *tables = &proof->tables;
	Visit		visit = {.tables = tables,.later = true};

	find_tables(tables, locale);
	if (tables->npasses < 1 || tables->npasses > MAX_PASSES)
	{
		proof->bytewise = tables->npasses == 0;
		return;
	}
	/* strcoll() reads the handling of positions from the first set of rules */
	if (tables->rules[0] != RULE_FORWARD ||
		!text_table_walk(tables, visit_element, &visit))
		return;
	for (int c = 1; c < 256; c++)
	{
		proof->alone[c] = tables->table[c] >= 0 && !visit.continues[c];
		proof->settled[c] = proof->alone[c] &&
			is_settled(tables, tables->table[c]);
		if (proof->alone[c])
			proof->primary[c] = primary_number(tables, tables->table[c]);
	}
	tables->kept = MemoryContextAllocZero(TopMemoryContext, KEPT_CHARACTERS *
										  sizeof(KeptElement));
	proof->later = visit.later;
	proof->forward = true;
}

#endif							/* __GLIBC__ */

CollateProof *
text_table_prove(Oid collation)
{
	CollateProof *proof = MemoryContextAllocZero(TopMemoryContext,
												 sizeof(CollateProof));

#ifdef __GLIBC__
	prove(proof, pt_libc_locale(collation));
#endif
	return proof;
}
