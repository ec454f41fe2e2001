/*-------------------------------------------------------------------------
 *
 * text_code.h
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * What makes two keys different can lie deep in them: URLs share hosts, paths
 * share directories, names share first names.  A word of the first eight bytes
 * is the same for thousands of them.  So strings are compressed before they
 * are cut off: a code is learned from the first strings that are put, in which
 * what is frequent in its place costs next to nothing.
 *
 * The code is an arithmetic code without its last step.  All strings together
 * are the interval from 0 to 2^128; each class of character (text_collation.h)
 * gets a part of the interval of the string before it, in the order of the
 * classes and of a size that grows with how frequent it is behind the two
 * classes before it.  The word is the lower end of the interval of the string,
 * or of as much of it as there are bits for.  So the words are in the order of
 * the classes.
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

#include "key/text_collation.h"

typedef struct TextCode TextCode;

/* Strings that are learned from: so many at most, and half of it at least. */
#define TEXT_CODE_SAMPLE		8000

/*
 * text_code_create makes a code of strings of a column, which form and ssup
 * describe (see text_collation_create).  It knows nothing: it gives 0 for
 * every string and keeps a sample of what it is shown for text_code_learn.
 *
 * All it has lies in a memory context of its own.  text_code_limit says how
 * many bytes that may be while it learns, of which it uses as many as it
 * returns; what it has learned is less.  With few it keeps a smaller sample,
 * and makes fewer tables (text_model.h) of it.
 */
extern TextCode *text_code_create(SortSupport ssup, TextForm form,
								  bool bytewise, int nwords);
extern Size text_code_limit(TextCode *code, Size limit);
extern void text_code_words(TextCode *code, Datum value, uint64 *words);
extern void text_code_learn(TextCode *code);
extern bool text_code_is_right(const TextCode *code);
extern void text_code_export(const TextCode *code, StringInfo target);
extern void text_code_import(TextCode *code, const char *source, Size length);

/* text_code_memory returns the bytes it has now. */
extern Size text_code_memory(const TextCode *code);

/* text_code_peak_memory returns the most that it had while it learned. */
extern Size text_code_peak_memory(const TextCode *code);

#endif							/* PTSORT_TEXT_CODE_H */
