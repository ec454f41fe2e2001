/*-------------------------------------------------------------------------
 *
 * text_table.c
 *	  What the C library's own tables prove about a collation.
 *
 * glibc shows a locale's compiled tables through nl_langinfo_l().  Their
 * layout is that of its localedef (locale/programs/ld-collate.c); how
 * strcoll() reads them is in string/strcoll_l.c and locale/weight.h (2.36).
 * In short:
 *
 * A string is divided into collating elements from left to right.  For the byte
 * at each position the table has either an element of that one byte
 * (index >= 0), or a list (index < 0) of the sequences of bytes that may
 * follow it in an element.  The first one that matches is taken; the last one
 * is empty.  In UTF-8 the bytes of a letter with an accent are such a
 * sequence, just as the two letters of the Czech "ch" are.  A list may have
 * ranges: sequences from a lowest to a highest one.
 *
 * An element's index tells the set of its rules and where its weights are: for
 * each pass a length and that many bytes.  The rules tell for each pass whether
 * it goes forward or backward, and whether it also compares positions.
 *
 * A weight is a number, written as UTF-8 writes numbers; there may be several.
 * A first pass that goes forward, without positions, in all sets of rules
 * compares two strings as memcmp() would compare the primary weights of their
 * elements, put after each other.
 *
 * Anything that does not look like this, and any other C library, proves
 * nothing.
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

/* what this process has proved, in TopMemoryContext */
static CollateProof *proofs = NULL;

/* Sequence: one of a list, or a range of them if the index is negative. */
typedef struct Sequence
{
	int32		index;
	int			n;				/* bytes of one */
	const unsigned char *bytes; /* of the lowest and the highest in a range */
} Sequence;

/* Read the sequence at a place of a list; returns where the next one is. */
static const unsigned char *
next_sequence(const unsigned char *at, Sequence *sequence)
{
	int			length;

	memcpy(&sequence->index, at, sizeof(sequence->index));
	at += sizeof(sequence->index);
	sequence->n = *at++;
	sequence->bytes = at;

	/* the next index is aligned; the length's byte counts */
	length = sequence->index < 0 ? 2 * sequence->n : sequence->n;
	return at + TYPEALIGN(sizeof(sequence->index), 1 + length) - 1;
}

/* The index of the element that the bytes at 'string' make, -1 if none. */
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
 * The element at 'string', which begins with a byte that begins longer ones as
 * well.  A list ends with what always matches.
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
 * text_table_next: see text_table.h.  Some lists have thousands of sequences:
 * those of Han and Hangul.  So what is found is kept, if it depends on nothing
 * that follows the character (whose length is that of UTF-8; in other encodings
 * these bytes are as good as any).
 */
int32
text_table_next(const CollateTables *tables, const unsigned char **string,
				const unsigned char *end)
{
	const unsigned char *at = *string;
	int			n = text_table_weight_length(*at);
	uint32		character = 0;
	KeptElement *kept;
	KeptElement element;

	if (n > end - at)
		n = 0;
	for (int i = 0; i < n; i++)
		character = (character << 8) | at[i];
	kept = &tables->kept[(character ^ (character >> 2)) % KEPT_ELEMENTS];
	if (likely(n > 1 && kept->character == character))
	{
		*string += kept->length;
		return kept->index;
	}
	element = search_element(tables, at, end);
	element.character = character;
	if (n > 1 && element.length <= n && !text_table_continues(tables, at, n))
		*kept = element;
	*string += element.length;
	return element.index;
}

/* text_table_single: see text_table.h. */
int32
text_table_single(const CollateTables *tables, unsigned char byte)
{
	const unsigned char *string = &byte;

	return text_table_element(tables, &string, string + 1);
}

/* text_table_continues: see text_table.h. */
bool
text_table_continues(const CollateTables *tables, const unsigned char *bytes,
					 int n)
{
	const unsigned char *at;
	Sequence	sequence;

	if (tables->table[bytes[0]] >= 0)
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

#ifdef __GLIBC__

/* No locale has more passes, or sequences after one first byte. */
#define MAX_PASSES		16
#define MAX_SEQUENCES	2000000

/*
 * One of the locale's tables.  Without a locale it is the one that setlocale()
 * has set, which is the database's own.
 */
static const void *
locale_item(locale_t locale, nl_item item)
{
	return locale == (locale_t) 0 ? nl_langinfo(item) :
		nl_langinfo_l(item, locale);
}

/*
 * One of the locale's numbers.  glibc keeps it in a union with the pointer that
 * it returns, so which half of the pointer it is depends on the byte order.
 */
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

/* What is found out on the way through all elements. */
typedef struct Visit
{
	const CollateTables *tables;
	bool		continues[256]; /* this byte may continue an element */
	bool		sets[128];		/* these sets of rules have been looked at */
	bool		later;			/* rules of the later passes are as expected */
} Visit;

/* Are the rules of an element's later passes of the kinds that are known? */
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
 * Does an element's first pass go forward, and compare weights alone, and is
 * each of these as it must be?
 */
static bool
visit_element(Visit *visit, int32 index)
{
	const CollateTables *tables = visit->tables;
	const unsigned char *weights;
	int			length;

	if (index < 0)
		return false;
	/* there are tens of thousands of elements, and a few sets of rules */
	if (!visit->sets[text_table_rules(index)])
	{
		if (text_table_rule(tables, index, 0) != RULE_FORWARD)
			return false;
		visit->later &= later_rules_are_known(tables, index);
		visit->sets[text_table_rules(index)] = true;
	}
	weights = text_table_weight(tables, index, 0, &length);
	while (length > 0)
	{
		int			n = text_table_weight_length(*weights);

		if (n == 0 || n > length)
			return false;
		for (int i = 1; i < n; i++)
		{
			if ((weights[i] & 0xC0) != 0x80)
				return false;
		}
		weights += n;
		length -= n;
	}
	return true;
}

/*
 * Note the bytes of a range of sequences, which must differ in the last one
 * only.  False if we cannot be sure of it.
 */
static bool
visit_range(Visit *visit, const Sequence *range)
{
	const int32 *ranges = visit->tables->ranges;
	const unsigned char *low = range->bytes;
	const unsigned char *high = low + range->n;
	int			last = range->n - 1;

	if (last < 0 || memcmp(low, high, last) != 0 || low[last] > high[last])
		return false;
	for (int i = 0; i < last; i++)
		visit->continues[low[i]] = true;
	for (int c = low[last]; c <= high[last]; c++)
	{
		visit->continues[c] = true;
		if (!visit_element(visit, ranges[c - low[last] - range->index]))
			return false;
	}
	return true;
}

/*
 * Go through the sequences that follow one first byte, and note the bytes in
 * them.  False if we cannot be sure of one.
 */
static bool
visit_sequences(Visit *visit, const unsigned char *at)
{
	for (int count = 0; count < MAX_SEQUENCES; count++)
	{
		Sequence	sequence;

		at = next_sequence(at, &sequence);
		if (sequence.index < 0)
		{
			if (!visit_range(visit, &sequence))
				return false;
			continue;
		}
		if (!visit_element(visit, sequence.index))
			return false;
		if (sequence.n == 0)
			return true;
		for (int i = 0; i < sequence.n; i++)
			visit->continues[sequence.bytes[i]] = true;
	}
	return false;
}

/*
 * Go through all elements.  False unless the first pass is certain to go
 * forward over all of them.
 */
static bool
visit_elements(Visit *visit)
{
	const CollateTables *tables = visit->tables;

	/* strcoll() asks the first set of rules about positions */
	if (tables->rules[0] != RULE_FORWARD)
		return false;
	for (int c = 1; c < 256; c++)
	{
		int32		index = tables->table[c];

		if (index < 0 ? !visit_sequences(visit, tables->sequences - index) :
			!visit_element(visit, index))
			return false;
	}
	return true;
}

/* Does an element go forward in all later passes, and has weights in each? */
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

/* Fill in the proof, if there is one. */
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
	if (!visit_elements(&visit))
		return;
	for (int c = 1; c < 256; c++)
	{
		proof->alone[c] = tables->table[c] >= 0 && !visit.continues[c];
		proof->settled[c] = proof->alone[c] &&
			is_settled(tables, tables->table[c]);
	}
	tables->kept = MemoryContextAllocZero(TopMemoryContext,
										  KEPT_ELEMENTS * sizeof(KeptElement));
	proof->later = visit.later;
	proof->forward = true;
}

#endif							/* __GLIBC__ */

CollateProof *
text_table_prove(Oid collation)
{
	CollateProof *proof;

	for (proof = proofs; proof != NULL; proof = proof->next)
	{
		if (proof->collation == collation)
			return proof;
	}

	proof = MemoryContextAllocZero(TopMemoryContext, sizeof(CollateProof));
	proof->collation = collation;
#ifdef __GLIBC__
	prove(proof, pt_libc_locale(collation));
#endif
	proof->next = proofs;
	proofs = proof;
	return proof;
}
