/*-------------------------------------------------------------------------
 *
 * text_code.h
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * What makes two keys different may come late in them: URLs share hosts, paths
 * share directories, names share first names.  The first eight bytes, of the
 * string or of its sort key, are the same for thousands of them, and for most
 * collations of the C library the server has no abbreviated keys at all.  So
 * strings are compressed before they are cut off: a code is learned from the
 * first strings of a sort, in which predictable characters take next to no
 * bits.  Two words then hold 40 to 60 characters of a URL, where the plain
 * weights of some 20 would fit.
 *
 * The code is an arithmetic code without its last step, the choice of the
 * shortest number in an interval.  All strings together are the interval from
 * 0 to 2^64, or 2^128 if there are two words.  The interval of a string is
 * divided among the strings that continue it by one character: in the order of
 * the characters' primary weights (text_collation.h), in proportion to how
 * frequent each weight is after the two before it (text_model.h).  The words
 * are the lower end of the interval of the string, or of as much of it as
 * there are bits for.  So they are in the order of the sequences of weights.
 *
 * In bytewise collations the order of the weights is that of the strings, and
 * one word is made.  In others the tables of the collation prove the weights
 * (text_rank.h), and two are made, unless the sample shows that one tells
 * strings apart: comparing these is expensive.  Words never contradict the
 * order.
 *
 * All participants of a sort use the code that one of them has learned, since
 * words of different codes cannot be compared.
 *
 * Arithmetic codes that keep an order: Gilbert and Moore, "Variable-length
 * binary encodings" (1959).  For keys of indexes: Zhang et al.,
 * "Order-preserving key compression for in-memory search trees" (2020), who
 * use dictionaries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_CODE_H
#define PTSORT_TEXT_CODE_H

#include "compat.h"

#include "text/text_collation.h"

typedef struct TextCode TextCode;

/*
 * text_code_create makes a code for strings of a column whose values have this
 * form; 'ranks', which are ready and live as long, are NULL if their order is
 * that of their bytes.  It has learned nothing, makes words of 0, and keeps a
 * sample of the strings that it is asked about.
 *
 * All its memory is in a context of its own, a child of the current one.
 */
extern TextCode *text_code_create(TextForm form, const TextRanks *ranks,
								  int nwords);

/*
 * text_code_limit says how many bytes the code may use while it learns.  With
 * less memory it keeps a smaller sample and makes fewer tables of it
 * (text_model.h).  After learning it uses less.
 */
extern void text_code_limit(TextCode *code, Size limit);

/* text_code_most_memory returns how many of these it will use at most. */
extern Size text_code_most_memory(Size limit);

/* text_code_words makes the words of a value that is not null. */
extern void text_code_words(TextCode *code, Datum value, uint64 *words);

/*
 * text_code_pays tells whether it is worth while to learn, if there are no more
 * than so many tuples, and the operator class offers other words.
 */
extern bool text_code_pays(const TextCode *code, int64 tuples);

/*
 * text_code_may_pay tells, before there is a code, whether text_code_pays might
 * say so.
 */
extern bool text_code_may_pay(bool bytewise, int64 tuples);

/* text_code_free frees the code. */
extern void text_code_free(TextCode *code);

/* text_code_learn learns from the strings asked about so far. */
extern void text_code_learn(TextCode *code);

/*
 * text_code_nwords returns how many words the code makes: after learning maybe
 * fewer than before.
 */
extern int	text_code_nwords(const TextCode *code);

/*
 * text_code_export appends what text_code_import of another process reads, for
 * a code of the same column.  An import that cannot be read is an error.
 */
extern void text_code_export(const TextCode *code, StringInfo target);
extern void text_code_import(TextCode *code, const char *source, Size length);

/*
 * text_code_memory returns the bytes that the code uses now, text_code_growth
 * how many more it may come to use after learning.
 */
extern Size text_code_memory(const TextCode *code);
extern Size text_code_growth(const TextCode *code);

/* text_code_peak_memory returns the most that it used while it learned. */
extern Size text_code_peak_memory(const TextCode *code);

#endif							/* PTSORT_TEXT_CODE_H */
