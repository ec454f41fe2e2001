/*-------------------------------------------------------------------------
 *
 * text_memo.h
 *	  The words of short strings that repeat.
 *
 * Columns of few values are common (states, categories, host names), and
 * making the words of a string again takes longer than finding them here.  If
 * most of the first strings looked up are not found, the memo is not used any
 * more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_MEMO_H
#define PTSORT_TEXT_MEMO_H

#include "postgres.h"

#include "util.h"

/* Maximum length in bytes of a string in the memo. */
#define TEXT_MEMO_BYTES		(2 * (int) sizeof(uint64))

/* Number of entries as a power of two; a hash selects the entry. */
#define TEXT_MEMO_BITS		7

/* Number of lookups after which the memo is judged. */
#define TEXT_MEMO_TRIED		1024

/* A string and its words. */
typedef struct TextMemoEntry
{
	uint64		head;			/* its first 8 bytes, see pt_string_word */
	uint64		tail;			/* its other bytes */
	int64		length;			/* length + 1; 0: unused entry */
	uint64		words[2];
} TextMemoEntry;

typedef struct TextMemo
{
	TextMemoEntry entries[1 << TEXT_MEMO_BITS];
	int			tried;
	int			found;
} TextMemo;

/*
 * text_memo_is_useful returns true if strings repeat, or if that is not known
 * so far.  The memo is NULL before the first lookup.
 */
static inline bool
text_memo_is_useful(const TextMemo *memo)
{
	return memo == NULL || memo->tried < TEXT_MEMO_TRIED ||
		memo->found > TEXT_MEMO_TRIED / 2;
}

/*
 * text_memo_entry returns the entry of a string of at most TEXT_MEMO_BYTES.
 * If *found is false, the caller must store the words in it.
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
