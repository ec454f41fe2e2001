/*-------------------------------------------------------------------------
 *
 * text_table.h
 *	  What the C library's own tables prove about a collation.
 *
 * text_rank.c orders characters and strings by these tables.  text_table.c
 * reads the tables and checks whether they have the expected form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_TABLE_H
#define PTSORT_TEXT_TABLE_H

#include "compat.h"

/*
 * Direction of a pass and whether it compares positions: localedef's values.
 */
enum
{
	RULE_FORWARD = 1,
	RULE_BACKWARD = 2,
	RULE_POSITION = 4
};

/* Number of entries in each cache of characters; a power of two. */
#define KEPT_CHARACTERS 8192

/* KeptElement: a cached character and the element at its start. */
typedef struct KeptElement
{
	uint32		character;		/* the character's bytes, the last in the
								 * lowest bits; 0: unused entry */
	int32		index;
	int			length;			/* length of the element in bytes */
} KeptElement;

/* CollateTables: the tables of one locale. */
typedef struct CollateTables
{
	uint32		npasses;
	const unsigned char *rules; /* npasses rules for each set of rules */
	const int32 *table;			/* index for each first byte */
	const unsigned char *sequences; /* lists of sequences; each list begins at
									 * -index */
	const int32 *ranges;		/* indexes of elements, for ranges of
								 * sequences */
	const unsigned char *weights;
	KeptElement *kept;
} CollateTables;

/* CollateProof: facts about a collation of the C library. */
typedef struct CollateProof
{
	/*
	 * True if there are no tables: strcoll() is strcmp(), as in C.UTF-8.  The
	 * fields below then have no meaning.
	 */
	bool		bytewise;

	/*
	 * True if text_table_element finds all elements, and the first pass goes
	 * forward over all elements and compares only primary weights encoded
	 * like characters in UTF-8.  If false, the fields below have no meaning.
	 */
	bool		forward;

	/*
	 * True if the later passes have the form that text_pass.c expects.  If a
	 * pass compares positions, it does so for all elements, and all elements
	 * go forward in this pass.
	 */
	bool		later;

	/*
	 * True if this byte is always a collating element of its own: it neither
	 * begins nor continues a longer element.
	 */
	bool		alone[256];

	/*
	 * The number of the primary weight of a byte for which 'alone' is true;
	 * see text_table_number.  0: the byte has no primary weight, or several.
	 */
	uint32		primary[256];

	/*
	 * True if 'alone' is true for this byte, and the byte goes forward in all
	 * passes and has weights in all later passes.
	 */
	bool		settled[256];

	CollateTables tables;
} CollateProof;

/*
 * text_table_prove reads all tables of a collation of the C library.  Returns
 * what the tables prove; the result is valid until the process ends.
 */
extern CollateProof *text_table_prove(Oid collation);

/*
 * text_table_next returns the index of the element at *string and advances
 * *string past the element.  The element's first byte must also begin longer
 * elements.
 */
extern int32 text_table_next(const CollateTables *tables,
							 const unsigned char **string,
							 const unsigned char *end);

/*
 * text_table_continues returns true if a longer element begins with these n
 * bytes.
 */
extern bool text_table_continues(const CollateTables *tables,
								 const unsigned char *bytes, int n);

/*
 * text_table_walk calls 'visit' with the bytes and the index of each element:
 * first bytes in ascending order, then the order in which strcoll() searches
 * the list of the first byte.  A list may have an element twice.  The function
 * stops and returns false if 'visit' returns false or the lists do not have the
 * expected form.
 */
typedef bool (*TextTableVisitor) (void *arg, const unsigned char *bytes, int n,
								  int32 index);
extern bool text_table_walk(const CollateTables *tables,
							TextTableVisitor visit, void *arg);

/*
 * text_table_weight_length returns the length in bytes of a weight that begins
 * with this byte, or 0 if no weight begins with it.
 */
static inline int
text_table_weight_length(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 :
		first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
}

/* text_table_element is text_table_next for elements with any first byte. */
static inline int32
text_table_element(const CollateTables *tables, const unsigned char **string,
				   const unsigned char *end)
{
	int32		index = tables->table[**string];

	if (likely(index >= 0))
	{
		(*string)++;
		return index;
	}
	return text_table_next(tables, string, end);
}

/*
 * text_table_rule returns the rule of a pass for an element.  The top byte of
 * the element's index is the number of the element's set of rules.
 */
static inline int
text_table_rule(const CollateTables *tables, int32 index, int pass)
{
	return tables->rules[(index >> 24) * tables->npasses + pass];
}

/* text_table_weight returns an element's weights in a pass and sets *length. */
static inline const unsigned char *
text_table_weight(const CollateTables *tables, int32 index, int pass,
				  int *length)
{
	const unsigned char *at = tables->weights + (index & 0xFFFFFF);

	while (pass-- > 0)
		at += 1 + *at;
	*length = *at;
	return at + 1;
}

/*
 * CollateWeights: reads the weights that a string has for one pass of the
 * collation, one after the other.
 */
typedef struct CollateWeights
{
	const unsigned char *at;	/* the remaining bytes of the current weights */
	int			length;			/* in bytes; 0: no more weights */
} CollateWeights;

/*
 * text_table_number returns the next weight as a number and advances past the
 * weight.  Returns -1 if the weight is not well-formed.  Weights sort like
 * their numbers, and no weight is a prefix of another.
 */
static inline int32
text_table_number(CollateWeights *weights)
{
	const unsigned char *at = weights->at;
	int			n = text_table_weight_length(at[0]);
	int32		number = n == 1 ? at[0] : at[0] & (0x7F >> n);

	if (n == 0 || n > weights->length)
		return -1;
	for (int i = 1; i < n; i++)
	{
		if ((at[i] & 0xC0) != 0x80)
			return -1;
		number = number << 6 | (at[i] & 0x3F);
	}
	weights->at += n;
	weights->length -= n;

	/* an encoding longer than necessary does not sort like its number */
	return n > 1 && number >> (n == 2 ? 7 : 5 * n - 4) == 0 ? -1 : number;
}

/*
 * text_table_compare compares the current weights of two strings and advances
 * both past the bytes compared.  Neither string may be at its end.
 */
static inline int
text_table_compare(CollateWeights *a, CollateWeights *b)
{
	int			n = Min(a->length, b->length);

	for (int i = 0; i < n; i++)
	{
		if (a->at[i] != b->at[i])
			return a->at[i] < b->at[i] ? -1 : 1;
	}
	a->at += n;
	a->length -= n;
	b->at += n;
	b->length -= n;
	return 0;
}

/*
 * text_pass_compare (text_pass.c) compares two strings that the first pass
 * leaves equal, and sets *cmp to <0 or >0.  The strings' first 'shared' bytes
 * must be equal.  Returns false if the strings are equal or the passes cannot
 * decide.
 */
extern bool text_pass_compare(const CollateProof *proof, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);

#endif							/* PTSORT_TEXT_TABLE_H */
