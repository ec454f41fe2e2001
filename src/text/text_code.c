/*-------------------------------------------------------------------------
 *
 * text_code.c
 *	  Order-preserving compression of strings into sort key words.
 *
 * If nearly all strings of the sample share a prefix, ptsort codes the prefix
 * once.  Coding a string with this prefix starts from the prefix's interval.
 *
 * If the first eight bytes distinguish nearly all strings of the sample, the
 * word consists of these bytes.  Copying bytes is much faster than coding.
 *
 * The weight of a character outside the sample may lie between two weights of
 * the sample.  For a string with this character, the code ends with the upper
 * weight, and the word is a lower bound for strings with the upper weight.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "text/text_code.h"
#include "text/text_symbol.h"
#include "util.h"
#include "utils/formatting.h"
#include "utils/memutils.h"

/*
 * Shares of the memory limit for learning.  A low limit reduces the sample more
 * than the tables, which distinguish more strings than a larger sample would.
 */
#define SAMPLE_LIMIT(limit)		Min((limit) / 2, TEXT_SAMPLE_MEMORY)
#define MODEL_LIMIT(limit)		Min((limit) / 8 * 3, TEXT_MODEL_MEMORY)
#define MAX_WEIGHTS(limit) \
	Min((limit) / 16 / TEXT_SYMBOL_BYTES, TEXT_SYMBOL_WEIGHTS)

/* "Nearly all" strings of the sample means at least this fraction of them. */
#define NEARLY_ALL			0.95

/*
 * One word is enough if at most one in ALIKE_FRACTION pairs of neighbours in
 * the sorted sample agrees in the first half of the first word.  The second
 * half can then distinguish strings that fall between two neighbours.
 */
#define ALIKE_FRACTION		1000

/* The model counts this many characters per word; one in 8 strings, whole. */
#define COUNTED_CHARACTERS	32
#define WHOLE_STRINGS		8

/*
 * CodeInterval: the lower end of an interval, and its size as range * 2^shift.
 * While the shift is not 0, refill() keeps the range above 2^32 for precision.
 */
typedef struct CodeInterval
{
	uint128		low;
	uint64		range;
	int			shift;
	TextContext context;		/* the last symbols coded */
} CodeInterval;

/* TextPrefix: the prefix that nearly all strings have, if any */
typedef struct TextPrefix
{
	int			length;
	char		bytes[TEXT_SAMPLE_BYTES];
	CodeInterval interval;		/* interval of all strings with the prefix */
} TextPrefix;

/*
 * The memo has 2^MEMO_BITS entries for strings of up to MEMO_BYTES; a hash
 * selects one.  After MEMO_TRIED lookups memo_is_useful decides.
 */
#define MEMO_BYTES		(2 * (int) sizeof(uint64))
#define MEMO_BITS		7
#define MEMO_TRIED		1024

/*
 * TextMemoEntry: a string and its words.  Columns with few distinct values are
 * common (states, host names); reusing words is faster than coding.
 */
typedef struct TextMemoEntry
{
	uint64		head;			/* the first 8 bytes, see pt_string_word */
	uint64		tail;			/* the other bytes */
	int64		length;			/* length + 1; 0: unused entry */
	uint64		words[2];
} TextMemoEntry;

typedef struct TextMemo
{
	TextMemoEntry entries[1 << MEMO_BITS];
	int			tried;
	int			found;
} TextMemo;

struct TextCode
{
	MemoryContext context;		/* holds all memory of the code */
	Size		limit;			/* maximum memory while learning, in bytes */
	Size		peak;			/* most bytes used while learning */
	TextForm	form;
	const TextRanks *ranks;		/* order of the strings; NULL: bytewise */
	bool		plain;			/* true if the word is the first 8 bytes */
	int			nwords;
	TextPrefix	prefix;
	TextSymbols *symbols;		/* symbols of the collation's weights; NULL,
								 * as 'model', before learning or if 'plain' */
	TextModel  *model;
	TextSample	sample;
	TextMemo   *memo;			/* words of short strings; NULL at first */
};

TextCode *
text_code_create(TextForm form, const TextRanks *ranks, int nwords,
				 Size limit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort text code",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TextCode   *code = palloc0(sizeof(TextCode));

	code->context = context;
	code->limit = limit;
	code->form = form;
	code->ranks = ranks;
	code->nwords = nwords;
	code->sample.limit = SAMPLE_LIMIT(limit);
	code->sample.room = ALLOCSET_SMALL_INITSIZE;
	code->sample.data = palloc(code->sample.room);
	MemoryContextSwitchTo(old);
	return code;
}

Size
text_code_most_memory(Size limit)
{
	Size		tables = MODEL_LIMIT(limit) +
		MAX_WEIGHTS(limit) * TEXT_SYMBOL_BYTES + sizeof(TextSymbols) +
		TEXT_SEVERAL_BYTES;

	/* the copy of the sample for other participants precedes the tables */
	return SAMPLE_LIMIT(limit) + Max(tables, SAMPLE_LIMIT(limit));
}

Size
text_code_memory(const TextCode *code)
{
	return MemoryContextMemAllocated(code->context, true);
}

Size
text_code_peak_memory(const TextCode *code)
{
	return code->peak;
}

static void
note_peak(TextCode *code, Size more)
{
	Size		memory = text_code_memory(code) + more;

	code->peak = Max(code->peak, memory);
}

/* Returns the bytes of any value.  Sets *copy to a copy to free, or to NULL. */
static inline const char *
read_value(const TextCode *code, Datum value, int *length, void **copy)
{
	struct varlena *text;

	*copy = NULL;
	if (likely(code->form != TEXT_LOWERED && text_is_plain(code->form, value)))
		return text_string(code->form, value, length);
	text = PG_DETOAST_DATUM_PACKED(value);
	if (code->form != TEXT_LOWERED)
	{
		*copy = text;
		return text_string(code->form, PointerGetDatum(text), length);
	}
	/* the C string that citext_cmp() compares */
	*copy = str_tolower(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text),
						DEFAULT_COLLATION_OID);
	if ((Pointer) text != DatumGetPointer(value))
		pfree(text);
	*length = strlen(*copy);
	return *copy;
}


/*
 * Coding
 */

/*
 * Multiply a range below 2^32 by 2^32 and lower the shift by 32, unless the
 * shift is 0.  Returns false if the range is too small to divide.
 */
static inline bool
refill(CodeInterval *interval)
{
	if (interval->range >> 32 == 0 && interval->shift > 0)
	{
		interval->range <<= 32;
		interval->shift -= 32;
	}
	return interval->range >> (TEXT_MODEL_BITS + 1) != 0;
}

/* Narrow the interval by a symbol.  Returns false if no further symbol fits. */
static inline bool
code_symbol(const TextModel *model, CodeInterval *interval, int symbol)
{
	const uint16 *parts = text_model_parts(model, &interval->context);
	uint64		step = interval->range >> TEXT_MODEL_BITS;
	uint64		from = step * parts[symbol];

	text_model_step(&interval->context, symbol);
	interval->low += (uint128) from << interval->shift;
	interval->range = step * parts[symbol + 1] - from;
	return refill(interval);
}

/* The only symbol of a cached character of two or three bytes, or NO_SYMBOL */
static inline int
find_wide(const TextSymbols *symbols, const char *string, const char *end,
		  int *length)
{
	int			pair = text_symbol_wide(symbols, string, end, length);

	if (pair == 0)
		return IGNORABLE_SYMBOL;
	return pair < 0 || (pair & 0xFF) != 0 ? NO_SYMBOL : pair >> 8;
}

/*
 * Narrow the interval by characters that have one symbol and up to three bytes
 * each, until the shift must change.  Coding spends nearly all its time in this
 * loop, so the loop does nothing else, and the shift is a constant.  Returns a
 * pointer to the first character not coded.
 */
static pg_attribute_always_inline const char *
code_bytes(const TextCode *code, CodeInterval *interval, const char *string,
		   const char *end, int shift)
{
	const TextModel model = *code->model;	/* a copy that the compiler can
											 * keep in registers */
	const TextSymbols *symbols = code->symbols;
	TextContext here = interval->context;
	uint64		range = interval->range;
	uint64		offset = 0;		/* (range's start - interval->low) >> shift */

	/* if the range has at most this number of bits, refill() must extend it */
	const int	spent = shift > 0 ? 32 : TEXT_MODEL_BITS + 1;

	for (; string < end && range >> spent != 0; string++)
	{
		int			symbol = symbols->bytes[(unsigned char) *string];
		const uint16 *parts;
		uint64		step;
		uint64		from;

		if (symbol == NO_SYMBOL)
		{
			int			length;

			symbol = find_wide(symbols, string, end, &length);
			if (symbol == NO_SYMBOL)
				break;
			string += length - 1;
		}
		if (symbol == IGNORABLE_SYMBOL)
			continue;
		symbol = text_symbol_close(symbols, symbol, string, end);
		if (symbol & OPEN_SYMBOL)
			break;
		parts = text_model_parts(&model, &here);
		step = range >> TEXT_MODEL_BITS;
		from = step * parts[symbol];
		text_model_step(&here, symbol);
		offset += from;
		range = step * parts[symbol + 1] - from;
	}
	interval->context = here;
	interval->low += (uint128) offset << shift;
	interval->range = range;
	return string;
}

/* Narrow the interval by any character.  Returns false if no symbol fits. */
static pg_noinline bool
code_character(TextCode *code, CodeInterval *interval, const char **string,
			   const char *end)
{
	const TextSeveral *several = text_symbol_several(code->symbols, string,
													 end);
	uint32		pair;

	for (int i = 0; several && i < lengthof(several->symbols); i++)
		if (several->symbols[i] != 0 &&
			!code_symbol(code->model, interval, several->symbols[i]))
			return false;
	if (several)
		return true;
	pair = text_symbol_next(code->symbols, string, end);
	if (pair == 0)
		return true;
	return code_symbol(code->model, interval, pair >> 8 & 0xFF) &&
		((pair & 0xFF) == 0 ||
		 code_symbol(code->model, interval, pair & 0xFF)) &&
		(pair & PAIR_ABOVE) == 0;
}

/* Narrow the interval by a string.  Returns false if no further symbol fits. */
static inline bool
code_string(TextCode *code, CodeInterval *interval, const char *string,
			const char *end)
{
	const TextSymbols *symbols = code->symbols;

	for (;;)
	{
		if (interval->shift == 64)
			string = code_bytes(code, interval, string, end, 64);
		else if (interval->shift == 32)
			string = code_bytes(code, interval, string, end, 32);
		else
			string = code_bytes(code, interval, string, end, 0);
		if (!refill(interval))
			return false;
		if (string == end)
			return true;
		if (!text_symbol_is_known(symbols->bytes[(unsigned char) *string]) &&
			!code_character(code, interval, &string, end))
			return false;
	}
}

/* Returns the interval of all strings. */
static inline CodeInterval
all_strings(const TextCode *code)
{
	CodeInterval all = {
		.range = PG_UINT64_MAX,
		.shift = 64 * (code->nwords - 1),
		.context = {TEXT_MODEL_END, TEXT_MODEL_END}
	};

	return all;
}

static void
code_words(TextCode *code, const char *string, int length, uint64 *words)
{
	const TextPrefix *prefix = &code->prefix;
	const char *end = string + length;
	CodeInterval interval;

	code->symbols->taken = 0;
	if (length >= prefix->length &&
		memcmp(string, prefix->bytes, prefix->length) == 0)
	{
		interval = prefix->interval;
		string += prefix->length;
	}
	else
		interval = all_strings(code);
	if (code_string(code, &interval, string, end))
		(void) code_symbol(code->model, &interval, TEXT_MODEL_END);
	if (code->nwords > 1)
		*words++ = (uint64) (interval.low >> 64);
	*words = (uint64) interval.low;
}

/* True if strings repeat, or if there were too few lookups to tell. */
static inline bool
memo_is_useful(const TextMemo *memo)
{
	return memo == NULL || memo->tried < MEMO_TRIED ||
		memo->found > MEMO_TRIED / 2;
}

/* Returns a string's entry; the caller stores its words unless *found. */
static inline TextMemoEntry *
memo_entry(TextMemo *memo, const char *string, int length, bool *found)
{
	int			first = Min(length, (int) sizeof(uint64));
	uint64		head = pt_string_word(string, first);
	uint64		tail = pt_string_word(string + first, length - first);
	uint64		mixed = (head ^ (tail << 29 | tail >> 35)) + (uint64) length;
	uint64		hash = mixed * UINT64CONST(0x9E3779B97F4A7C15);
	TextMemoEntry *entry = &memo->entries[hash >> (64 - MEMO_BITS)];

	*found = entry->head == head && entry->tail == tail &&
		entry->length == length + 1;
	if (memo->tried < MEMO_TRIED)
	{
		memo->tried++;
		memo->found += *found;
	}
	entry->head = head;
	entry->tail = tail;
	entry->length = length + 1;
	return entry;
}

/* Copy a short string's words from the memo.  Make missing words first. */
static inline void
memo_words(TextCode *code, const char *string, int length, uint64 *words)
{
	TextMemoEntry *entry;
	bool		found;

	if (unlikely(code->memo == NULL))
		code->memo = MemoryContextAllocZero(code->context, sizeof(TextMemo));
	entry = memo_entry(code->memo, string, length, &found);
	if (!found)
		code_words(code, string, length, entry->words);
	for (int i = 0; i < code->nwords; i++)
		words[i] = entry->words[i];
}

void
text_code_words(TextCode *code, Datum value, uint64 *words)
{
	void	   *copy;
	int			length;
	const char *string = read_value(code, value, &length, &copy);

	if (unlikely(code->plain))
		*words = pt_string_word(string, length);
	else if (length <= MEMO_BYTES && memo_is_useful(code->memo))
		memo_words(code, string, length, words);
	else
		code_words(code, string, length, words);
	if (unlikely(copy != NULL))
		pfree(copy);
}


/*
 * The sample
 */

void
text_code_show(TextCode *code, Datum value)
{
	void	   *copy;
	int			length;
	const char *string = read_value(code, value, &length, &copy);

	text_sample_show(&code->sample, string, length);
	if (copy != NULL)
		pfree(copy);
}

/* An export consists of the limit and the sample; learning depends on both. */
void
text_code_export(TextCode *code, StringInfo target)
{
	/* exactly the room needed; enlargeStringInfo may allocate twice as much */
	target->maxlen = sizeof(Size) + code->sample.bytes + 1;
	target->data = palloc(target->maxlen);
	note_peak(code, target->maxlen);
	appendBinaryStringInfo(target, (const char *) &code->limit, sizeof(Size));
	appendBinaryStringInfo(target, code->sample.data, code->sample.bytes);
}

void
text_code_import(TextCode *code, const char *source, Size length)
{
	bool		valid = length >= sizeof(Size);

	if (valid)
	{
		memcpy(&code->limit, source, sizeof(Size));
		code->sample.limit = SAMPLE_LIMIT(code->limit);
		valid = text_sample_import(&code->sample, source + sizeof(Size),
								   length - sizeof(Size));
	}
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read sort keys learned by another participant")));
	code->peak = text_code_memory(code) + length;
}


/*
 * Learning
 */

/* Choose a prefix that ends where the next character changes no symbol. */
static void
learn_prefix(TextCode *code)
{
	TextPrefix *prefix = &code->prefix;
	const char *string;
	int			length = text_sample_prefix(&code->sample, NEARLY_ALL,
											&string);
	const char *at = string;

	code->symbols->taken = 0;
	while (at < string + length)
	{
		unsigned char first = *at;

		(void) text_symbol_next(code->symbols, &at, string + length);
		/* the prefix must not end within an element, such as c'h in Breton */
		if (text_symbol_is_known(code->symbols->bytes[first]) &&
			(code->ranks == NULL ||
			 !text_rank_continues(code->ranks, first, first)))
			prefix->length = at - string;
	}
	memcpy(prefix->bytes, string, prefix->length);
}

/* Find the interval of the prefix. */
static void
code_prefix(TextCode *code)
{
	TextPrefix *prefix = &code->prefix;

	code->symbols->taken = 0;
	prefix->interval = all_strings(code);
	if (!code_string(code, &prefix->interval, prefix->bytes,
					 prefix->bytes + prefix->length))
	{
		prefix->length = 0;
		prefix->interval = all_strings(code);
	}
}

/* Count the symbols of a string, or of its start, for the model. */
static void
count_string(TextCode *code, TextCounts *counts, const char *string,
			 int length, bool whole)
{
	const char *end = string + length;
	int			most = whole ? length :
		code->prefix.length + COUNTED_CHARACTERS * code->nwords;

	code->symbols->taken = 0;
	text_model_count(counts, -1);
	for (int n = 0; string < end && n < most; n++)
	{
		uint32		pair = text_symbol_next(code->symbols, &string, end);

		if (pair == 0 || (pair & PAIR_ABOVE))
			continue;
		text_model_count(counts, pair >> 8);
		if ((pair & 0xFF) != 0)
			text_model_count(counts, pair & 0xFF);
	}
	if (string == end)
		text_model_count(counts, TEXT_MODEL_END);
}

/* Count the symbols in one of every 'part' groups of WHOLE_STRINGS strings. */
static void
count_sample(TextCode *code, TextCounts *counts, int part)
{
	const char *string;
	Size		at = 0;
	int			length;

	for (int n = 0;
		 (string = text_sample_next(&code->sample, &at, &length)) != NULL; n++)
		if (n / WHOLE_STRINGS % part == 0)
			count_string(code, counts, string, length,
						 n % WHOLE_STRINGS == 0);
}

static void
learn_model(TextCode *code)
{
	TextCounts *counts = text_model_begin(code->symbols->nsymbols,
										  MODEL_LIMIT(code->limit));

	count_sample(code, counts, TEXT_MODEL_PART);
	text_model_choose(counts);
	count_sample(code, counts, 1);
	note_peak(code, 0);
	code->model = text_model_end(counts);
	code_prefix(code);
}

static int
compare_words(const void *a, const void *b)
{
	const uint64 *x = ((const SampleWords *) a)->words;
	const uint64 *y = ((const SampleWords *) b)->words;

	for (int i = 0; i < PTSORT_MAX_WORDS; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/*
 * Sort the sample by its words or, before there is a code, by its first bytes.
 * Returns the number of neighbours that differ.  Sets *alike to the number of
 * these that agree in the first half of the first word.
 */
static int
count_different(TextCode *code, int *alike)
{
	const int	n = code->sample.nstrings;
	SampleWords *words = palloc0(Max(n, 1) * sizeof(SampleWords));
	Size		at = 0;
	int			different = 0;

	for (int i = 0; i < n; i++)
	{
		int			length;
		const char *string = text_sample_next(&code->sample, &at, &length);

		if (code->model)
			code_words(code, string, length, words[i].words);
		else
			words[i].words[0] = pt_string_word(string, length);
	}
	note_peak(code, 0);
	qsort(words, n, sizeof(SampleWords), compare_words);
	*alike = 0;
	for (int i = 1; i < n; i++)
	{
		uint64		differs = words[i].words[0] ^ words[i - 1].words[0];

		if (compare_words(&words[i - 1], &words[i]) == 0)
			continue;
		different++;
		*alike += differs >> 32 == 0;
	}
	pfree(words);
	return different;
}

int
text_code_learn(TextCode *code)
{
	MemoryContext old = MemoryContextSwitchTo(code->context);
	const int	n = code->sample.nstrings;
	int			alike = 0;

	fault_point("textcode: learn");
	note_peak(code, 0);
	code->plain = code->ranks == NULL && n > 0 &&
		count_different(code, &alike) >= NEARLY_ALL * n - 1;
	if (!code->plain)
	{
		code->symbols = text_symbol_learn(code->ranks,
										  MAX_WEIGHTS(code->limit),
										  &code->sample);
		note_peak(code, code->symbols->nweights * TEXT_SYMBOL_LEARNING_BYTES);
		learn_prefix(code);
		learn_model(code);
		if (code->nwords > 1)
			(void) count_different(code, &alike);
		if (code->nwords > 1 && alike <= n / ALIKE_FRACTION)
		{
			code->nwords = 1;
			code_prefix(code);
		}
	}
	pfree(code->sample.data);
	code->sample.data = NULL;
	MemoryContextSwitchTo(old);
	return code->nwords;
}
