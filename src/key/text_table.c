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
 * A first pass that goes forward, without positions, in all sets of rules
 * compares two strings as memcmp() would compare the primary weights of their
 * elements, put after each other.
 *
 * So a byte may end a prefix (text_prefix.c) if its index is not negative and
 * no sequence contains it.  In en_US that is all of ASCII but "L" and "l", in
 * cs_CZ all but "C", "H", "L", in hu_HU all but ten letters; in GB18030
 * neither letters nor digits do, whose bytes continue longer characters.
 *
 * Anything that does not look like this, and any other C library, proves
 * nothing.  Nor does a table whose weights order the characters of ASCII
 * differently from strcoll(): then we do not read it as strcoll() does.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#ifdef __GLIBC__
#include <langinfo.h>
#endif

#include "key/text_table.h"
#include "utils/memutils.h"

/* what this process has proved, in TopMemoryContext */
static CollateProof *proofs = NULL;

#ifdef __GLIBC__

/* No locale has more passes, or sequences after one first byte. */
#define MAX_PASSES		16
#define MAX_SEQUENCES	2000000

/* A pass's rule, in the bits of localedef: backward is 2, with position 4. */
#define RULE_FORWARD	1

/* Tables: those of one locale. */
typedef struct Tables
{
	uint32		npasses;
	const unsigned char *rules; /* npasses of each set */
	const int32 *table;			/* index of each first byte */
	const unsigned char *sequences; /* lists that begin at -index */
	const int32 *ranges;		/* indexes of the elements of ranges */
	const unsigned char *weights;
} Tables;

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

static void
find_tables(Tables *tables, locale_t locale)
{
	/* a number in place of the pointer, in its lower half */
	tables->npasses =
		(uint32) (uintptr_t) locale_item(locale, _NL_COLLATE_NRULES);
	tables->rules = locale_item(locale, _NL_COLLATE_RULESETS);
	tables->table = locale_item(locale, _NL_COLLATE_TABLEMB);
	tables->sequences = locale_item(locale, _NL_COLLATE_EXTRAMB);
	tables->ranges = locale_item(locale, _NL_COLLATE_INDIRECTMB);
	tables->weights = locale_item(locale, _NL_COLLATE_WEIGHTMB);
}

/* Bytes of an element's primary weight. */
static int
primary_length(const Tables *tables, int32 index)
{
	return tables->weights[index & 0xFFFFFF];
}

static const unsigned char *
primary_weight(const Tables *tables, int32 index)
{
	return tables->weights + (index & 0xFFFFFF) + 1;
}

/* Does an element's first pass go forward, and compare weights alone? */
static bool
goes_forward(const Tables *tables, int32 index)
{
	return index >= 0 &&
		tables->rules[(index >> 24) * tables->npasses] == RULE_FORWARD;
}

/*
 * Note the bytes of a range of sequences, of n bytes each, which must differ
 * in the last one only.  False if we cannot be sure of it.
 */
static bool
visit_range(const Tables *tables, int32 index, const unsigned char *low, int n,
			bool *continues)
{
	const unsigned char *high = low + n;

	if (n == 0 || memcmp(low, high, n - 1) != 0 || low[n - 1] > high[n - 1])
		return false;
	for (int i = 0; i < n - 1; i++)
		continues[low[i]] = true;
	for (int c = low[n - 1]; c <= high[n - 1]; c++)
	{
		continues[c] = true;
		if (!goes_forward(tables, tables->ranges[c - low[n - 1] - index]))
			return false;
	}
	return true;
}

/*
 * Go through the sequences that follow one first byte, and note the bytes in
 * them.  False if we cannot be sure of one.
 */
static bool
visit_sequences(const Tables *tables, const unsigned char *at, bool *continues)
{
	for (int count = 0; count < MAX_SEQUENCES; count++)
	{
		int32		index;
		int			n;
		int			length;

		memcpy(&index, at, sizeof(index));
		at += sizeof(index);
		n = *at++;
		if (index < 0)
		{
			length = 2 * n;
			if (!visit_range(tables, index, at, n, continues))
				return false;
		}
		else
		{
			length = n;
			if (!goes_forward(tables, index))
				return false;
			if (n == 0)
				return true;
			for (int i = 0; i < n; i++)
				continues[at[i]] = true;
		}

		/* the next index is aligned; the length's byte counts */
		at += TYPEALIGN(sizeof(index), 1 + length) - 1;
	}
	return false;
}

/*
 * Go through all elements.  Note the bytes that continue one.  False unless
 * the first pass is certain to go forward over all of them.
 */
static bool
visit_elements(const Tables *tables, bool *continues)
{
	/* strcoll() asks the first set of rules about positions */
	if (tables->rules[0] != RULE_FORWARD)
		return false;
	for (int c = 1; c < 256; c++)
	{
		int32		index = tables->table[c];

		if (index < 0 ?
			!visit_sequences(tables, tables->sequences - index, continues) :
			!goes_forward(tables, index))
			return false;
	}
	return true;
}

/* The order of two bytes that weigh, by their primary weights. */
static int
compare_weights(const Tables *tables, int a, int b)
{
	int			alen = primary_length(tables, tables->table[a]);
	int			blen = primary_length(tables, tables->table[b]);
	int			cmp = memcmp(primary_weight(tables, tables->table[a]),
							 primary_weight(tables, tables->table[b]),
							 Min(alen, blen));

	return cmp != 0 ? cmp : alen - blen;
}

/* Does strcoll() order the characters of ASCII as their weights do? */
static bool
agrees_with_strcoll(const CollateProof *proof, const Tables *tables,
					locale_t locale)
{
	int			before = 0;

	for (int c = 1; c < 128; c++)
	{
		char		a[2] = {(char) before};
		char		b[2] = {(char) c};
		int			weights;
		int			truth;

		if (!proof->weighs[c])
			continue;
		if (before != 0)
		{
			weights = compare_weights(tables, before, c);
			truth = locale == (locale_t) 0 ? strcoll(a, b) :
				strcoll_l(a, b, locale);
			if ((weights < 0 && truth >= 0) || (weights > 0 && truth <= 0))
				return false;
		}
		before = c;
	}
	return true;
}

/* Fill in the proof, if there is one. */
static void
prove(CollateProof *proof, locale_t locale)
{
	Tables		tables;
	bool		continues[256] = {false};

	find_tables(&tables, locale);
	if (tables.npasses < 1 || tables.npasses > MAX_PASSES)
		return;					/* 0: strcoll() is strcmp() */
	if (!visit_elements(&tables, continues))
		return;
	for (int c = 1; c < 256; c++)
	{
		int32		index = tables.table[c];

		proof->alone[c] = index >= 0 && !continues[c];
		proof->weighs[c] = proof->alone[c] &&
			primary_length(&tables, index) > 0;
	}
	proof->forward = agrees_with_strcoll(proof, &tables, locale);
}

#endif							/* __GLIBC__ */

const CollateProof *
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
