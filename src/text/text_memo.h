/*-------------------------------------------------------------------------
 *
 * text_memo.h
 *	  The words of short strings that come again and again.
 *
 * Columns of few values are common (states, kinds, names of hosts), and to
 * make the words of a string anew takes longer than to find it here.  If most
 * of the first strings looked up were not here, no more are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_MEMO_H
#define PTSORT_TEXT_MEMO_H

#include "postgres.h"

#include "util.h"

/* Strings of more bytes are not kept. */
#define TEXT_MEMO_BYTES		(2 * (int) sizeof(uint64))

/* Strings kept, each where its hash says. */
#define TEXT_MEMO_BITS		7

/* After so many it is seen whether they come again. */
#define TEXT_MEMO_TRIED		1024

/* A string and its words. */
typedef struct TextMemoEntry
{
	uint64		head;			/* its first 8 bytes, see pt_string_word */
	uint64		tail;			/* the others */
	int64		length;			/* and one more; 0: no string is here */
	uint64		words[2];
} TextMemoEntry;

typedef struct TextMemo
{
	TextMemoEntry entries[1 << TEXT_MEMO_BITS];
	int			tried;
	int			found;
} TextMemo;

/*
 * text_memo_is_useful: is it still unknown whether strings repeat, or do they?
 * There is no memo (NULL) before the first.
 */
static inline bool
text_memo_is_useful(const TextMemo *memo)
{
	return memo == NULL || memo->tried < TEXT_MEMO_TRIED ||
		memo->found > TEXT_MEMO_TRIED / 2;
}

/*
 * text_memo_entry returns the entry of a string of at most TEXT_MEMO_BYTES.  If
 * it was not *found, it has no words, and the caller stores them there.
 */
static inline TextMemoEntry *
text_memo_entry(TextMemo *memo, const char *string, int length, bool *found)
{
	int			first = Min(length, (int) sizeof(uint64));
	uint64		head = pt_string_word(string, first);
	uint64		tail = pt_string_word(string + first, length - first);
	uint64		mixed = (head ^ (tail << 29 | tail >> 35)) + (uint64) length;
	uint64		hash = mixed * UINT64CONST(0x9E3779B97F4A7C15);
	TextMemoEntry *entry = &memo->entries[hash >> (64 - TEXT_MEMO_BITS)];

	*found = entry->head == head && entry->tail == tail &&
		entry->length == length + 1;
	if (memo->tried < TEXT_MEMO_TRIED)
	{
		memo->tried++;
		memo->found += *found;
	}
	entry->head = head;
	entry->tail = tail;
	entry->length = length + 1;
	return entry;
}

#endif							/* PTSORT_TEXT_MEMO_H */
