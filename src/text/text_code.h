/*-------------------------------------------------------------------------
 *
 * text_code.h
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * The first difference between two keys may come late: URLs share hosts, paths
 * share directories, names share first names.  The first eight bytes of the
 * string, or of its sort key, are the same for thousands of them, and for most
 * collations of the C library the server has no abbreviated keys at all.  So
 * strings are compressed before they are truncated: a code is learned from the
 * first strings of a sort, and predictable characters then take almost no
 * bits.  Two words hold 40 to 60 characters of a URL, where plain weights
 * would fit only about 20.
 *
 * The code is an arithmetic code without its last step, the choice of the
 * shortest number in an interval.  The set of all strings is the interval from
 * 0 to 2^64, or to 2^128 for two words.  The interval of a string is divided
 * among the strings that continue it by one character: in the order of the
 * characters' primary weights (text_symbol.h), in proportion to how
 * frequent each weight is after the two before it (text_model.h).  The words
 * are the lower end of the interval of the string, or of the longest prefix
 * that fits into the bits.  So words have the order of the sequences of
 * weights.
 *
 * In bytewise collations the order of the weights is that of the strings, and
 * one word is made.  In other collations the tables of the collation prove the
 * weights (text_rank.h), and two words are made, because comparing these
 * strings is expensive; one word is made if the sample shows that it
 * distinguishes the strings well enough.  Words never contradict the order.
 *
 * All participants of a sort use one code, since words of different codes
 * cannot be compared.  They learn it from one participant's sample: learning
 * depends on nothing else.
 *
 * Order-preserving arithmetic codes: Gilbert and Moore, "Variable-length
 * binary encodings" (1959).  For index keys: Zhang et al., "Order-preserving
 * key compression for in-memory search trees" (2020), which uses dictionaries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_CODE_H
#define PTSORT_TEXT_CODE_H

#include "compat.h"

#include "lib/stringinfo.h"
#include "text/text_rank.h"

typedef struct TextCode TextCode;

/*
 * text_code_create makes a code for strings of a column whose values have this
 * form.  'ranks' must be ready and outlive the code; NULL means that strings
 * are ordered by their bytes.  The code makes at most 'nwords' words, and uses
 * at most 'limit' bytes while it learns, less later.  With less memory it keeps
 * a smaller sample and builds fewer tables from it (text_model.h).
 *
 * All its memory is in a context of its own, a child of the current one.
 */
extern TextCode *text_code_create(TextForm form, const TextRanks *ranks,
								  int nwords, Size limit);

/*
 * text_code_most_memory returns the most bytes that learning uses of a limit.
 */
extern Size text_code_most_memory(Size limit);

/*
 * text_code_show shows a value that is not null to the sample from which the
 * code will be learned.
 */
extern void text_code_show(TextCode *code, Datum value);

/*
 * text_code_export appends the sample, from which text_code_import makes
 * another process learn.  The latter raises an error if it cannot read it.
 */
extern void text_code_export(const TextCode *code, StringInfo target);
extern void text_code_import(TextCode *code, const char *source, Size length);

/*
 * text_code_learn learns from the sample, and frees it.  Returns how many words
 * the code makes.
 */
extern int	text_code_learn(TextCode *code);

/*
 * text_code_words makes the words of a value that is not null.  Call
 * text_code_learn first.
 */
extern void text_code_words(TextCode *code, Datum value, uint64 *words);

/* text_code_memory returns the bytes that the code uses now. */
extern Size text_code_memory(const TextCode *code);

/*
 * text_code_peak_memory returns the maximum memory used during learning, in
 * bytes.
 */
extern Size text_code_peak_memory(const TextCode *code);

#endif							/* PTSORT_TEXT_CODE_H */
