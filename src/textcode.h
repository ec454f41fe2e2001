/*-------------------------------------------------------------------------
 *
 * textcode.h
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * What makes two keys different can lie deep in them: URLs share hosts, paths
 * share directories, names share first names.  A word of the first eight bytes
 * is the same for thousands of them.  So strings are compressed before they are
 * cut off: a code is learned from the first strings that are put, in which what
 * is frequent in its place costs next to nothing.
 *
 * The code is an arithmetic code without its last step.  All strings together
 * are the interval from 0 to 2^128; each class of character (collation.h) gets a
 * part of the interval of the string before it, in the order of the classes and
 * of a size that grows with how frequent it is behind the two classes before it.
 * The word is the lower end of the interval of the string, or of as much of it
 * as there are bits for.  So the words are in the order of the classes.
 *
 * Arithmetic codes that keep an order: Gilbert and Moore, "Variable-length
 * binary encodings" (1959).  For keys of indexes: Zhang et al., "Order-preserving
 * key compression for in-memory search trees" (2020), who use dictionaries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXTCODE_H
#define PTSORT_TEXTCODE_H

#include "compat.h"

#include "collation.h"

typedef struct TextCode TextCode;

/* Strings that are learned from: so many at most, and half of it at least. */
#define TEXTCODE_SAMPLE		8000

/*
 * textcode_create makes a code of strings of a column, which form and ssup
 * describe (see collation_create).  It knows nothing: it gives 0 for every string
 * and keeps a sample of what it is shown for textcode_learn.
 *
 * All it has lies in a memory context of its own.  textcode_limit says how many
 * bytes that may be while it learns, of which it uses as many as it returns;
 * what it has learned is less.  With few it keeps a smaller sample, and makes
 * fewer tables (textmodel.h) of it.
 */
extern TextCode *textcode_create(SortSupport ssup, TextForm form,
								 bool bytewise, int nwords);
extern Size textcode_limit(TextCode *code, Size limit);
extern void textcode_words(TextCode *code, Datum value, uint64 *words);
extern void textcode_learn(TextCode *code);
extern bool textcode_is_right(const TextCode *code);
extern void textcode_export(const TextCode *code, StringInfo target);
extern void textcode_import(TextCode *code, const char *source, Size length);

/* textcode_memory returns the bytes it has now. */
extern Size textcode_memory(const TextCode *code);

/* textcode_peak_memory returns the most that it had while it learned. */
extern Size textcode_peak_memory(const TextCode *code);

#endif							/* PTSORT_TEXTCODE_H */
