/*-------------------------------------------------------------------------
 *
 * text_code.c
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * In addition to text_code.h:
 *
 * A prefix that nearly all strings of the sample share is compared instead of
 * coded.  Strings with the prefix get seven eighths of the interval, those
 * below and those above it one sixteenth each.
 *
 * A bytewise word is the string's first eight bytes themselves if these
 * distinguish nearly all strings of the sample.  That is much faster.
 *
 * The weight of a character that was not in the sample may be between two that
 * were.  The character is coded as the upper one, and the code ends there:
 * that is the lower bound of all strings that continue like this one.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "miscadmin.h"
#include "ptsort_variant.h"
#include "text/text_code.h"
#include "text/text_count.h"
#include "text/text_memo.h"
#include "text/text_model.h"
#include "text/text_sample.h"
#include "text/text_symbol.h"
#include "util.h"
#include "utils/memutils.h"

/*
 * Memory for learning, and how a smaller limit is divided: the tables of the
 * model get the larger share relative to their need, because they distinguish
 * more strings than a larger sample would.
 *
 * The sample's share also holds the sample's words when one_word_is_enough
 * compares them, and after learning the table of characters, which then gets
 * no more than a few characters per weight.  Counting the weights uses the
 * model's share.
 */
#define SAMPLE_MEMORY \
	(TEXT_SAMPLE_STRINGS * \
	 (sizeof(int) + TEXT_SAMPLE_BYTES + sizeof(CodedWords)))
#define CHARACTERS_MEMORY	(512 * 1024)
#define WEIGHTS_MEMORY		(180 * 1024)
#define SAMPLE_LIMIT(limit)		Min((limit) / 16 * 7, SAMPLE_MEMORY)
#define WEIGHTS_LIMIT(limit)	Min((limit) / 16, WEIGHTS_MEMORY)
#define MODEL_LIMIT(limit)		Min((limit) / 8 * 3, TEXT_MODEL_MEMORY)
#define CHARACTERS_LIMIT(limit) Min((limit) / 8, CHARACTERS_MEMORY)
#define CHARACTERS_LATER(limit) Min((limit) / 16 * 7, CHARACTERS_MEMORY)
#define CHARACTERS_OF_WEIGHT	192 /* bytes: eight characters, including the
									 * copy made during growth */
#define WEIGHT_BYTES	(sizeof(uint32) + sizeof(uint16))	/* with symbols */

/* Minimum fraction of the sample that has the prefix. */
#define PREFIX_FRACTION		0.95

/* Minimum ratio of distinct plain words to strings in the sample. */
#define PLAIN_FRACTION		0.98

/*
 * Conditions for learning when there are few tuples.  Bytewise strings: fewer
 * than FEW_WORDS of the sample's strings have distinct first bytes.  Other
 * strings: at least LEAST_TUPLES tuples, and less than WIDE_FRACTION of the
 * bytes belong to characters that are not ASCII, since those scripts have too
 * many characters for a sample to contain them all.
 */
#define FEW_WORDS			0.5
#define LEAST_TUPLES		20000
#define WIDE_FRACTION		0.25

/*
 * One word is enough if at most one in ALIKE_FRACTION pairs of neighbours in
 * the sample agree in their first ALIKE_BITS bits: then the remaining bits of
 * the word can distinguish strings that fall between two neighbours of the
 * sample.
 */
#define ALIKE_BITS			32
#define ALIKE_FRACTION		1000

/* Characters per word that are counted for the model; words hold few more. */
#define COUNTED_CHARACTERS	32

/*
 * How a string compares to the prefix, and the ends of each case's part of the
 * interval.
 */
enum
{
	BELOW_PREFIX,
	HAS_PREFIX,
	ABOVE_PREFIX
};
static const uint16 prefix_parts[] = {
	0, TEXT_MODEL_TOTAL / 16, TEXT_MODEL_TOTAL / 16 * 15, TEXT_MODEL_TOTAL
};

/* The prefix, as exported to other processes. */
typedef struct TextPrefix
{
	int			nweights;		/* 0: there is no prefix */
	int			length;
	char		bytes[TEXT_SAMPLE_BYTES];
	CharWeight	weights[TEXT_SAMPLE_BYTES];
} TextPrefix;

/* How words are made. */
typedef enum TextCodeMode
{
	LEARNING,					/* words are 0 */
	PLAIN,						/* words are the first bytes */
	CODED
} TextCodeMode;

/* The words of a string of the sample. */
typedef struct CodedWords
{
	uint64		words[PTSORT_MAX_WORDS];
} CodedWords;

struct TextCode
{
	MemoryContext context;		/* holds all memory of the code */
	Size		limit;			/* maximum memory while learning, in bytes */
	Size		peak;			/* maximum memory used while learning, in
								 * bytes */
	Collation  *collation;
	TextForm	form;			/* form of the values */
	TextSymbols *symbols;		/* symbols of the collation's weights */
	int			nwords;
	bool		bytewise;		/* true if the collation orders by bytes */
	TextCodeMode mode;
	TextPrefix	prefix;
	TextModel  *model;			/* set if mode is CODED */
	TextSample	sample;
	TextMemo   *memo;			/* words of short strings; NULL until one is
								 * coded */
};

TextCode *
text_code_create(TextForm form, const TextRanks *ranks, int nwords)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort text code",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TextCode   *code = palloc0(sizeof(TextCode));

	code->context = context;
	code->collation = text_collation_create(form, ranks);
	code->symbols = text_symbol_create(code->collation);
	code->form = form;
	code->bytewise = ranks == NULL;
	code->nwords = nwords;
	text_sample_init(&code->sample, code->bytewise, sizeof(CodedWords));
	MemoryContextSwitchTo(old);
	text_code_limit(code, PG_INT32_MAX);
	return code;
}

void
text_code_limit(TextCode *code, Size limit)
{
	code->limit = limit;
	code->sample.limit = SAMPLE_LIMIT(limit);
	text_collation_limit(code->collation, CHARACTERS_LIMIT(limit));
	text_collation_limit_weights(code->collation,
								 WEIGHTS_LIMIT(limit) / WEIGHT_BYTES);
}

Size
text_code_most_memory(Size limit)
{
	StaticAssertStmt(WEIGHTS_MEMORY / WEIGHT_BYTES *
					 TEXT_SYMBOL_LEARNING_BYTES <= TEXT_MODEL_MEMORY,
					 "the part of the model is too small for counting weights");
	return SAMPLE_LIMIT(limit) + MODEL_LIMIT(limit) + CHARACTERS_LIMIT(limit) +
		WEIGHTS_LIMIT(limit) + sizeof(TextSymbols);
}

Size
text_code_memory(const TextCode *code)
{
	return MemoryContextMemAllocated(code->context, true);
}

Size
text_code_growth(const TextCode *code)
{
	return text_collation_growth(code->collation);
}

Size
text_code_peak_memory(const TextCode *code)
{
	return code->peak;
}

/*
 * Update the peak with the code's current memory plus 'more' bytes that the
 * caller is about to use.
 */
static void
note_peak(TextCode *code, Size more)
{
	Size		memory = text_code_memory(code) + more;

	code->peak = Max(code->peak, memory);
}


/*
 * Coding
 */

/*
 * CodeInterval: the lower end, and the size as range * 2^shift.  While bits
 * are left the range is kept above 2^32, so that it can be divided precisely.
 */
typedef struct CodeInterval
{
	uint128		low;
	uint64		range;
	int			shift;
} CodeInterval;

/*
 * Give the range more bits if any are left.  Returns false if the range cannot
 * be divided any more.
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

/* The weight of the character at *string, which is advanced past it. */
static inline CharWeight
next_weight(const TextCode *code, const char **string, const char *end)
{
	return text_collation_next(code->collation, code->symbols->byte_weights,
							   string, end);
}

/*
 * Narrow the interval to one of its parts.  Returns false if that part cannot
 * be divided any more.
 */
static inline bool
narrow(CodeInterval *interval, const uint16 *parts, int symbol)
{
	uint64		step = interval->range >> TEXT_MODEL_BITS;
	uint64		from = step * parts[symbol];

	interval->low += (uint128) from << interval->shift;
	interval->range = step * parts[symbol + 1] - from;
	return refill(interval);
}

/*
 * Compare a string to the prefix by weights, since different characters may
 * have the same weight.  *string is advanced past the prefix.
 */
static int
compare_prefix(TextCode *code, const char **string, const char *end)
{
	const TextPrefix *prefix = &code->prefix;

	for (int i = 0; i < prefix->nweights;)
	{
		CharWeight	weight;

		if (*string == end)
			return BELOW_PREFIX;
		weight = next_weight(code, string, end);
		if (weight == WEIGHT_IGNORABLE)
			continue;
		if ((weight & ~WEIGHT_ABOVE) != prefix->weights[i])
			return (weight & ~WEIGHT_ABOVE) < prefix->weights[i] ?
				BELOW_PREFIX : ABOVE_PREFIX;
		if (weight & WEIGHT_ABOVE)
			return BELOW_PREFIX;
		i++;
	}
	return HAS_PREFIX;
}

/*
 * Narrow the interval to that of all strings that compare to the prefix like
 * this one, and skip the prefix if the string has it.
 */
static void
code_prefix(TextCode *code, CodeInterval *interval, const char **string,
			const char *end)
{
	const TextPrefix *prefix = &code->prefix;
	const char *at = *string;
	int			place = HAS_PREFIX;
	int			cmp;

	if (prefix->nweights == 0)
		return;
	cmp = memcmp(at, prefix->bytes, Min(end - at, prefix->length));
	if (cmp == 0 && end - at >= prefix->length)
		at += prefix->length;
	else if (code->bytewise)
		place = cmp > 0 ? ABOVE_PREFIX : BELOW_PREFIX;
	else
		place = compare_prefix(code, &at, end);
	(void) narrow(interval, prefix_parts, place);
	if (place == HAS_PREFIX)
		*string = at;
	else
		text_collation_begin(code->collation);
}

/* Narrow the interval by a symbol.  Returns false if no more can be coded. */
static inline bool
code_symbol(const TextModel *model, CodeInterval *interval,
			TextContext *context, int symbol)
{
	const uint16 *parts = text_model_parts(model, context);

	text_model_step(context, symbol);
	return narrow(interval, parts, symbol);
}

/*
 * The symbol of a character of two or three bytes: NO_SYMBOL unless the tables
 * have it and it is a single symbol.
 */
static inline int
find_wide(const TextSymbols *symbols, const char *string, const char *end,
		  int *length)
{
	int			pair = text_pair(string, end);

	*length = 2;
	if (pair >= 0)
		return symbols->doubles[pair];
	*length = 3;
	pair = text_symbol_triple(symbols, string, end);
	if (pair == 0)
		return IGNORABLE_SYMBOL;
	return pair < 0 || (pair & 0xFF) != 0 ? NO_SYMBOL : pair >> 8;
}

/*
 * Narrow the interval by characters that have one symbol and up to three
 * bytes, until the shift must change.  Nearly all time is spent here, so the
 * loop does nothing else, and the shift is a constant.  Returns a pointer to
 * the first character not coded.
 */
static pg_attribute_always_inline const char *
code_bytes(const TextCode *code, CodeInterval *interval, TextContext *context,
		   const char *string, const char *end, int shift)
{
	const TextModel model = *code->model;	/* a copy, so that it stays in
											 * registers */
	const TextSymbols *symbols = code->symbols;
	TextContext here = *context;
	uint64		range = interval->range;
	uint64		offset = 0;		/* from the interval's lower end */

	/* refill() is needed if the range has no more bits than this */
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
		if (symbol & OPEN_SYMBOL)
		{
			if (string + 1 == end || text_symbol_may_continue(symbols, string))
				break;
			symbol &= ~OPEN_SYMBOL;
		}
		parts = text_model_parts(&model, &here);
		step = range >> TEXT_MODEL_BITS;
		from = step * parts[symbol];
		text_model_step(&here, symbol);
		offset += from;
		range = step * parts[symbol + 1] - from;
	}
	*context = here;
	interval->low += (uint128) offset << shift;
	interval->range = range;
	return string;
}

/*
 * Narrow the interval by any character.  Returns false if no more can be
 * coded.
 */
static pg_noinline bool
code_character(TextCode *code, CodeInterval *interval, TextContext *context,
			   const char **string, const char *end)
{
	SymbolPair	pair = text_symbol_next(code->symbols, string, end);

	if (pair.first == IGNORABLE_SYMBOL)
		return true;
	return code_symbol(code->model, interval, context, pair.first) &&
		(pair.second == 0 ||
		 code_symbol(code->model, interval, context, pair.second)) &&
		!pair.above;
}

/*
 * Narrow the interval to that of the string, until it ends or no more can be
 * coded.
 */
static inline void
code_string(TextCode *code, CodeInterval *interval, const char *string,
			const char *end)
{
	const TextSymbols *symbols = code->symbols;
	TextContext context = {TEXT_MODEL_END, TEXT_MODEL_END};

	for (;;)
	{
		if (interval->shift == 64)
			string = code_bytes(code, interval, &context, string, end, 64);
		else if (interval->shift == 32)
			string = code_bytes(code, interval, &context, string, end, 32);
		else
			string = code_bytes(code, interval, &context, string, end, 0);
		if (!refill(interval))
			return;
		if (string == end)
			break;
		if (!text_symbol_is_known(symbols->bytes[(unsigned char) *string]) &&
			!code_character(code, interval, &context, &string, end))
			return;
	}
	(void) code_symbol(code->model, interval, &context, TEXT_MODEL_END);
}

static void
code_words(TextCode *code, const char *string, int length, uint64 *words)
{
	const char *end = string + length;
	CodeInterval interval = {
		.range = PG_UINT64_MAX,
		.shift = 64 * (code->nwords - 1)
	};

	text_collation_begin(code->collation);
	code_prefix(code, &interval, &string, end);
	code_string(code, &interval, string, end);
	if (code->nwords > 1)
		*words++ = (uint64) (interval.low >> 64);
	*words = (uint64) interval.low;
}

/*
 * code_words for short strings, which often repeat: the memo keeps their
 * words.
 */
static inline void
memo_words(TextCode *code, const char *string, int length, uint64 *words)
{
	TextMemoEntry *entry;
	bool		found;

	if (unlikely(code->memo == NULL))
		code->memo = MemoryContextAllocZero(code->context, sizeof(TextMemo));
	entry = text_memo_entry(code->memo, string, length, &found);
	if (!found)
		code_words(code, string, length, entry->words);
	for (int i = 0; i < code->nwords; i++)
		words[i] = entry->words[i];
}

void
text_code_words(TextCode *code, Datum value, uint64 *words)
{
	const char *stored = DatumGetPointer(value);
	Datum		plain = value;
	const char *string;
	int			length;

	/* fast path: nearly all strings have short headers */
	if (code->form == TEXT_VARLENA && VARATT_IS_SHORT(stored) &&
		!VARATT_IS_EXTERNAL(stored))
	{
		string = VARDATA_SHORT(stored);
		length = VARSIZE_SHORT(stored) - VARHDRSZ_SHORT;
	}
	else
	{
		plain = text_collation_plain(code->collation, value);
		string = text_collation_string(code->collation, plain, &length);
	}
	if (likely(code->mode == CODED))
	{
		if (length <= TEXT_MEMO_BYTES && text_memo_is_useful(code->memo))
			memo_words(code, string, length, words);
		else
			code_words(code, string, length, words);
	}
	else if (code->mode == PLAIN)
		*words = pt_string_word(string, length);
	else
	{
		if (code->mode == LEARNING)
			text_sample_show(&code->sample, string, length);
		for (int i = 0; i < code->nwords; i++)
			words[i] = 0;
	}
	if (unlikely(plain != value))
		pfree(DatumGetPointer(plain));
}


/*
 * Learning
 */

/*
 * Set the prefix: the sample's common prefix without its last character, whose
 * weight might depend on the character that follows.
 */
static void
learn_prefix(TextCode *code)
{
	TextPrefix *prefix = &code->prefix;
	int			length = text_sample_prefix(&code->sample, PREFIX_FRACTION,
											prefix->bytes);
	const char *at = prefix->bytes;
	const char *end = at + text_sample_clip(&code->sample, at, length, length);
	int			nweights = 0;

	text_collation_begin(code->collation);
	while (at < end)
	{
		CharWeight	weight = next_weight(code, &at, end);

		if ((at == end && !code->bytewise) || nweights == TEXT_SAMPLE_BYTES ||
			(weight != WEIGHT_IGNORABLE && (weight & WEIGHT_ABOVE)))
			break;
		if (weight != WEIGHT_IGNORABLE)
			prefix->weights[nweights++] = weight;
		if (text_collation_ends(code->collation, at))
		{
			prefix->length = at - prefix->bytes;
			prefix->nweights = nweights;
		}
	}
	/* coding a short prefix takes no more bits */
	if (prefix->nweights < 2)
		prefix->nweights = 0;
}

/*
 * Learn the weights of the sample's characters, and of printable ASCII,
 * because the code of a string ends at the first character that was not
 * learned.
 */
static void
learn_weights(TextCode *code)
{
	const char *string;
	Size		at = 0;
	int			length;

	for (char c = ' '; c < 0x7F; c++)
		text_collation_learn_string(code->collation, &c, 1);
	while ((string = text_sample_next(&code->sample, &at, &length)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		text_collation_learn_string(code->collation, string, length);
	}
	text_collation_end_learning(code->collation);
}

/* True if the first bytes distinguish nearly all strings of the sample. */
static bool
plain_is_enough(TextCode *code)
{
	int			n = code->sample.nstrings;

	return code->bytewise && code->nwords == 1 && n > 0 &&
		text_sample_count_words(&code->sample) >= PLAIN_FRACTION * n;
}

bool
text_code_may_pay(bool bytewise, int64 tuples)
{
	return bytewise || tuples >= LEAST_TUPLES;
}

bool
text_code_pays(const TextCode *code, int64 tuples)
{
	if (code->bytewise)
		return text_sample_count_words(&code->sample) <
			FEW_WORDS * code->sample.nstrings;
	return text_code_may_pay(false, tuples) &&
		text_sample_wide_fraction(&code->sample) < WIDE_FRACTION;
}

void
text_code_free(TextCode *code)
{
	MemoryContextDelete(code->context);
}

static void
learn_model(TextCode *code)
{
	const TextPrefix *prefix = &code->prefix;
	TextToCount what = {
		.sample = &code->sample,
		.collation = code->collation,
		.symbols = code->symbols,
		.prefix = prefix->bytes,
		.prefix_length = prefix->nweights > 0 ? prefix->length : 0,
		.most = COUNTED_CHARACTERS * code->nwords
	};
	TextCounts *counts = text_count(&what, MODEL_LIMIT(code->limit));

	note_peak(code, 0);
	code->model = text_model_end(counts);
}

/* Let the table of characters use the memory that learning no longer needs. */
static void
limit_characters(TextCode *code)
{
	Size		need = text_collation_nweights(code->collation) *
		CHARACTERS_OF_WEIGHT;

	text_collation_limit(code->collation,
						 Min(CHARACTERS_LATER(code->limit), need));
}

static inline int
compare_coded(const CodedWords *a, const CodedWords *b)
{
	for (int i = 0; i < PTSORT_MAX_WORDS; i++)
	{
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	return 0;
}

#define ST_SORT sort_coded
#define ST_ELEMENT_TYPE CodedWords
#define ST_COMPARE(a, b) compare_coded(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * True if the first of two words distinguishes nearly all strings of the
 * sample that both words together distinguish.
 */
static bool
one_word_is_enough(TextCode *code)
{
	const int	n = code->sample.nstrings;
	CodedWords *coded = palloc0(Max(n, 1) * sizeof(CodedWords));
	Size		at = 0;
	int			alike = 0;

	for (int i = 0; i < n; i++)
	{
		int			length;
		const char *string = text_sample_next(&code->sample, &at, &length);

		code_words(code, string, length, coded[i].words);
	}
	note_peak(code, 0);
	sort_coded(coded, n);
	for (int i = 1; i < n; i++)
	{
		uint64		differs = coded[i].words[0] ^ coded[i - 1].words[0];

		alike += compare_coded(&coded[i - 1], &coded[i]) != 0 &&
			differs >> (64 - ALIKE_BITS) == 0;
	}
	pfree(coded);
	return alike <= n / ALIKE_FRACTION;
}

void
text_code_learn(TextCode *code)
{
	MemoryContext old = MemoryContextSwitchTo(code->context);

	fault_point("textcode: learn");
	note_peak(code, 0);
	if (plain_is_enough(code))
		code->mode = PLAIN;
	else
	{
		learn_weights(code);
		learn_prefix(code);
		note_peak(code, text_collation_nweights(code->collation) *
				  (TEXT_SYMBOL_LEARNING_BYTES + sizeof(uint16)));
		text_symbol_learn(code->symbols, &code->sample);
		learn_model(code);
		code->mode = CODED;
		if (code->nwords > 1 && one_word_is_enough(code))
			code->nwords = 1;
	}
	text_sample_free(&code->sample);
	limit_characters(code);
	MemoryContextSwitchTo(old);
}

int
text_code_nwords(const TextCode *code)
{
	return code->nwords;
}

/* The header of an export. */
typedef struct CodeHeader
{
	TextCodeMode mode;
	int			nwords;
} CodeHeader;

void
text_code_export(const TextCode *code, StringInfo target)
{
	CodeHeader	header;

	memset(&header, 0, sizeof(header));
	header.mode = code->mode;
	header.nwords = code->nwords;
	appendBinaryStringInfo(target, (const char *) &header, sizeof(header));
	if (code->mode != CODED)
		return;
	appendBinaryStringInfo(target, (const char *) &code->prefix,
						   sizeof(TextPrefix));
	text_collation_export(code->collation, target);
	text_symbol_export(code->symbols, target);
	text_model_export(code->model, target);
}

/* Read an export.  Returns false if it does not fit this code. */
static bool
import_code(TextCode *code, const char *source, const char *end)
{
	CodeHeader	header;

	if (end - source < (ptrdiff_t) sizeof(header))
		return false;
	memcpy(&header, source, sizeof(header));
	source += sizeof(header);
	code->mode = header.mode;
	if (header.nwords < 1 || header.nwords > code->nwords)
		return false;
	code->nwords = header.nwords;
	if (code->mode == PLAIN)
		return source == end && code->bytewise && code->nwords == 1;
	if (code->mode != CODED || end - source < (ptrdiff_t) sizeof(TextPrefix))
		return false;
	memcpy(&code->prefix, source, sizeof(TextPrefix));
	source += sizeof(TextPrefix);
	if (code->prefix.length < 0 || code->prefix.length > TEXT_SAMPLE_BYTES ||
		code->prefix.nweights < 0 || code->prefix.nweights > TEXT_SAMPLE_BYTES)
		return false;
	source = text_collation_import(code->collation, source, end);
	if (source != NULL)
		source = text_symbol_import(code->symbols, source, end);
	if (source == NULL)
		return false;
	code->model = text_model_import(code->symbols->nsymbols, source, end);
	return code->model != NULL;
}

void
text_code_import(TextCode *code, const char *source, Size length)
{
	MemoryContext old = MemoryContextSwitchTo(code->context);

	code->peak = text_code_memory(code) + length;
	text_sample_free(&code->sample);
	if (!import_code(code, source, source + length))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read sort keys learned by another participant")));
	limit_characters(code);
	MemoryContextSwitchTo(old);
}
