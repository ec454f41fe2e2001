/*-------------------------------------------------------------------------
 *
 * text_table.h
 *	  What the C library's own tables prove about a collation.
 *
 * text_rank.c orders characters and strings by these tables.  Here is how they
 * are read, and whether they look as they must.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_TABLE_H
#define PTSORT_TEXT_TABLE_H

#include "compat.h"

/* A pass's rule, in the bits of localedef: where it begins, what it counts. */
#define RULE_FORWARD	1
#define RULE_BACKWARD	2
#define RULE_POSITION	4

/* Elements that have been found are kept, this many: a power of two. */
#define KEPT_ELEMENTS	8192

/* KeptElement: what element a character begins with, wherever it occurs. */
typedef struct KeptElement
{
	uint32		character;		/* its bytes, the last one lowest; 0: none */
	int32		index;
	int			length;			/* of the element */
} KeptElement;

/* CollateTables: those of one locale. */
typedef struct CollateTables
{
	uint32		npasses;
	const unsigned char *rules; /* npasses of each set */
	const int32 *table;			/* index of each first byte */
	const unsigned char *sequences; /* lists that begin at -index */
	const int32 *ranges;		/* indexes of the elements of ranges */
	const unsigned char *weights;
	KeptElement *kept;
} CollateTables;

/*
 * CollateProof: facts about a collation of the C library, as long as the
 * process lives.
 */
typedef struct CollateProof
{
	struct CollateProof *next;
	Oid			collation;

	/*
	 * There are no tables: strcoll() is strcmp(), as in C.UTF-8.  Then the
	 * fields below mean nothing.
	 */
	bool		bytewise;

	/*
	 * All elements can be found as text_table_element finds them, and the
	 * first pass over two strings goes forward over all of them, and compares
	 * their primary weights and nothing else.  All of these are written in
	 * the manner of UTF-8.  If that is not certain the other fields mean
	 * nothing.
	 */
	bool		forward;

	/*
	 * ... and the later passes are as text_pass.c expects them.  Positions
	 * count for all elements or none, and if so all go forward.
	 */
	bool		later;

	/*
	 * This byte is a collating element on its own wherever it occurs: it
	 * neither begins nor continues a longer one.
	 */
	bool		alone[256];

	/* ... and goes forward in all passes, and has weights in the later ones */
	bool		settled[256];

	CollateTables tables;

	/* what text_rank.c has found out by comparing */
	bool		tried;
	bool		agrees;

	/* pairs that text_compare.c has also compared by strcoll() */
	int			compared;
} CollateProof;

/*
 * text_table_prove returns what is certain about a collation whose provider
 * is the C library.  The first call for a collation takes 0.1 to 0.3 ms, later
 * ones look up its result, which is valid until the process ends.
 */
extern CollateProof *text_table_prove(Oid collation);

/*
 * text_table_next returns the index of the element at *string, which begins
 * with a byte that begins longer ones as well, and advances *string past it.
 */
extern int32 text_table_next(const CollateTables *tables,
							 const unsigned char **string,
							 const unsigned char *end);

/*
 * text_table_continues tells whether an element that is longer begins with
 * these n bytes.
 */
extern bool text_table_continues(const CollateTables *tables,
								 const unsigned char *bytes, int n);

/* text_table_single returns the index of the element of one byte alone. */
extern int32 text_table_single(const CollateTables *tables,
							   unsigned char byte);

/*
 * text_table_weight_length returns the bytes of a single weight that begins
 * with this one, 0 if none does.
 */
static inline int
text_table_weight_length(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 :
		first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
}

/* text_table_element is text_table_next for any byte. */
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

/* text_table_rules returns the number of an element's set of rules. */
static inline int
text_table_rules(int32 index)
{
	return index >> 24;
}

/* text_table_rule returns how a pass goes over an element. */
static inline int
text_table_rule(const CollateTables *tables, int32 index, int pass)
{
	return tables->rules[text_table_rules(index) * tables->npasses + pass];
}

/* text_table_weight returns an element's weight in a pass, and its length. */
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

/* CollateWeights: a string's weights in a pass, one after the other. */
typedef struct CollateWeights
{
	const unsigned char *at;	/* what is left of the current ones */
	int			length;			/* in bytes; 0: there are no more */
} CollateWeights;

/*
 * text_table_compare compares weights of two strings, neither of which is at
 * its end, and leaves what is left after that.
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

#endif							/* PTSORT_TEXT_TABLE_H */
