/*-------------------------------------------------------------------------
 *
 * text_code.h
 *	  Order-preserving compression of strings into sort key words.
 *
 * Two keys may differ only after many bytes: URLs share hosts, paths share
 * directories.  For most collations of the C library the server has no
 * abbreviated keys at all.  So ptsort compresses strings before it truncates
 * them.  It learns a code from the first strings of a sort, and predictable
 * characters then take almost no bits.
 *
 * The code is an arithmetic code without the last step, which would choose the
 * shortest number in an interval.  The interval of all strings is 0 to 2^64, or
 * 0 to 2^128 for two words.  The code divides the interval of a string among
 * the strings that extend this string by one character.  The parts have the
 * order of the characters' primary weights (text_symbol.h).  The size of a part
 * is proportional to the frequency of its character's weight after the two
 * preceding weights (text_model.h).  The words are the lower end of the
 * string's interval, or of the interval of the string's longest prefix that
 * fits into the words.  So words sort like the sequences of weights.
 *
 * In bytewise collations strings sort like their weights, and the code makes
 * one word.  In other collations the weights come from the collation's tables
 * (text_rank.h).  Comparing strings in these collations is expensive, so the
 * code makes two words, or one if the sample shows that one word distinguishes
 * the strings well enough.  Words never contradict the order of the strings.
 *
 * All participants of a sort learn the same code, from one participant's sample
 * and memory limit; learning depends on nothing else.
 *
 * Order-preserving arithmetic codes: Gilbert and Moore, "Variable-length
 * binary encodings" (1959).  Zhang et al. use dictionaries for index keys:
 * "Order-preserving key compression for in-memory search trees" (2020).
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
 * text_code_create makes a code for a column whose values have the form 'form'.
 * 'ranks' must be ready and outlive the code; NULL means order by bytes.  The
 * code makes at most 'nwords' words.  It uses at most 'limit' bytes while it
 * learns, fewer later, all in a child of the current context.  With a lower
 * limit, it keeps a smaller sample and builds fewer tables (text_model.h).
 */
extern TextCode *text_code_create(TextForm form, const TextRanks *ranks,
								  int nwords, Size limit);

/* Bytes: the most that learning uses under a limit, the most used, used now */
extern Size text_code_most_memory(Size limit);
extern Size text_code_peak_memory(const TextCode *code);
extern Size text_code_memory(const TextCode *code);

/*
 * text_code_show offers a non-null value to the sample.  text_code_learn
 * learns the code from this sample.
 */
extern void text_code_show(TextCode *code, Datum value);

/*
 * text_code_export writes the sample to an empty string.  text_code_import
 * reads a sample from another process, and raises an error if it is not valid.
 */
extern void text_code_export(TextCode *code, StringInfo target);
extern void text_code_import(TextCode *code, const char *source, Size length);

/*
 * text_code_learn learns the code from the sample and frees the sample.
 * Returns the number of words that the code makes.
 */
extern int	text_code_learn(TextCode *code);

/* text_code_words makes the words of a non-null value after learning. */
extern void text_code_words(TextCode *code, Datum value, uint64 *words);

#endif							/* PTSORT_TEXT_CODE_H */
