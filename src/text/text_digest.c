/*-------------------------------------------------------------------------
 *
 * text_digest.c
 *	  Digests of collations by what they mean.
 *
 * A digest is the hash of an image of the collation.  Collations with the same
 * image order all strings alike; different images prove nothing.  This comment
 * argues for each kind of image why it determines the order.
 *
 * Bytes.  A collation that orders strings by their bytes (text_rank_bytewise)
 * has the same image in every provider and encoding.
 *
 * The C library.  The server compares two strings by strcoll(), and two strings
 * that strcoll() finds equal by their bytes.  strcoll() reads the tables that
 * text_table.h describes, nothing else.  It uses them in two steps.
 *
 * First, strcoll() divides each string into elements.  At each byte it takes
 * the first element of the byte's list that matches.  Some elements never are
 * the first match: an earlier element in the list is a prefix of them, or the
 * same.  Without these elements, of two elements that match at the same place
 * the longer one precedes in the list (the shorter one is its prefix).  So the
 * first match is the longest one, and the order of the list has no meaning.
 * Every byte begins an element, even if the locale does not define it.  The
 * image contains the bytes of all elements that can match, in ascending order,
 * so two collations with the same image divide all strings alike.
 *
 * Second, each pass reads the elements' weights, and compares what it reads.
 * Which elements a pass reads, in which order and how often, depends on the
 * elements' directions and on whether an element has weights at all.  Both are
 * in the image, for each element and pass.  (The two oddities of strcoll() in
 * text_pass.c read nothing else.)
 *
 * A pass compares weights byte by byte.  The image requires that all weights
 * of all passes are encoded like characters in UTF-8, so that no weight is a
 * prefix of another.  Then two lists of weights first differ in a byte of the
 * first weights that differ, and these bytes have the order of the weights'
 * numbers.  One list of bytes is a prefix of another exactly if its list of
 * weights is.  So only the order of the numbers matters.  The image contains,
 * instead of a number, its rank among the numbers of all elements in the same
 * pass.  Weights that no element has do not count.  If two collations have the
 * same image, equal ranks map the numbers of one collation to those of the
 * other, the map preserves the order, and each comparison of a pass has the
 * same result in both collations.
 *
 * Whether a pass compares positions is the same for all elements (the proof of
 * text_table.h requires this).  Such a pass compares the numbers of elements
 * without weights, then an element's list of weights with another's; the image
 * determines both.  The image also contains the number of passes.
 *
 * All this assumes that strcoll() itself works alike: a release of the C
 * library could change the oddities, or read more than these tables.  Therefore
 * a collation has a digest only if the provider agrees with the comparison in
 * text_pass.c on many pairs: those of text_rank.c, and strings made of the
 * collation's own elements, of all kinds that a pass distinguishes.
 *
 * ICU.  The tables of ICU's later levels are not accessible.  ICU states a
 * version for each collation, and promises that collators with the same version
 * and attributes order strings alike.  The server relies on the same promise
 * when it warns of changed versions.  The attributes follow from the name of
 * the locale.  So the image consists of the version, the name, the rules that
 * the user added, whether the collation is deterministic, and the encoding, by
 * which ICU's characters follow from bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/pg_prng.h"
#include "common/sha2.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "text/text_icu.h"
#include "text/text_rank.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* Length of a digest in bytes: the first half of a SHA-256. */
#define DIGEST_BYTES	(PG_SHA256_DIGEST_LENGTH / 2)

/*
 * Images begin with one of these names.  Any change of any image's contents
 * requires a new number, because ptsort ships digests of released C libraries
 * (contrib/collations).  The digest of "C" depends on nothing but this number;
 * by it, the SQL functions find out whether other digests have this format.
 */
#define IMAGE_FORMAT	"ptsort 1"
#define BYTES_IMAGE		IMAGE_FORMAT " bytes"
#define LIBC_IMAGE		IMAGE_FORMAT " libc"
#define ICU_IMAGE		IMAGE_FORMAT " icu"

/* Add a number to the image, which is the same in all byte orders. */
static void
image_put(StringInfo image, uint32 number)
{
	CHECK_FOR_INTERRUPTS();
	pq_sendint32(image, number);
}

static void
image_put_bytes(StringInfo image, const void *bytes, int length)
{
	image_put(image, length);
	appendBinaryStringInfo(image, bytes, length);
}

/* Add a string, or NULL, to the image. */
static void
image_put_string(StringInfo image, const char *string)
{
	image_put(image, string != NULL);
	if (string != NULL)
		image_put_bytes(image, string, strlen(string));
}

/* Begin the image: a bytea, whose header image_digest sets. */
static void
image_begin(StringInfo image, const char *name)
{
	initStringInfo(image);
	appendStringInfoSpaces(image, VARHDRSZ);
	image_put_string(image, name);
}

static char *
image_digest(StringInfo image)
{
	StringInfoData result;
	bytea	   *hash;

	SET_VARSIZE(image->data, image->len);
	hash = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea,
											   PointerGetDatum(image->data)));
	initStringInfo(&result);
	for (int i = 0; i < DIGEST_BYTES; i++)
		appendStringInfo(&result, "%02x", (uint8) VARDATA_ANY(hash)[i]);
	return result.data;
}


/*
 * The elements of a collation of the C library
 */

/* Element: a collating element; its bytes are in ElementList.bytes. */
typedef struct Element
{
	int			at;
	int			length;
	int			order;			/* its place among all elements of the lists */
	int32		index;
} Element;

typedef struct ElementList
{
	const CollateTables *tables;
	StringInfoData bytes;
	Element    *elements;
	int			n;
	int			room;
} ElementList;

/* A TextTableVisitor that adds an element to the list. */
static bool
add_element(void *arg, const unsigned char *bytes, int n, int32 index)
{
	ElementList *list = arg;
	Element    *element;

	if (list->n == list->room)
	{
		list->room *= 2;
		list->elements = repalloc_huge(list->elements,
									   list->room * sizeof(Element));
	}
	element = &list->elements[list->n];
	element->at = list->bytes.len;
	element->length = n;
	element->order = list->n++;
	element->index = index;
	appendBinaryStringInfo(&list->bytes, (const char *) bytes, n);
	return true;
}

/* Orders elements by their bytes, then by their order in the lists. */
static int
compare_elements(const void *a, const void *b, void *arg)
{
	const Element *x = a;
	const Element *y = b;
	const char *bytes = arg;
	int			cmp = memcmp(bytes + x->at, bytes + y->at,
							 Min(x->length, y->length));

	if (cmp != 0)
		return cmp;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool
is_prefix(const ElementList *list, const Element *prefix,
		  const Element *element)
{
	return prefix->length <= element->length &&
		memcmp(list->bytes.data + prefix->at, list->bytes.data + element->at,
			   prefix->length) == 0;
}

/*
 * Remove elements that strcoll() never finds, because an element that is their
 * prefix precedes them.  The list must be sorted.
 */
static void
remove_hidden(ElementList *list)
{
	Element    *prefixes = palloc(PG_UINT8_MAX * 2 * sizeof(Element));
	int			depth = 0;
	int			n = 0;

	for (int i = 0; i < list->n; i++)
	{
		Element		element = list->elements[i];
		int			first = element.order;

		while (depth > 0 && !is_prefix(list, &prefixes[depth - 1], &element))
			depth--;
		for (int j = 0; j < depth; j++)
			first = Min(first, prefixes[j].order);
		if (first < element.order)
			continue;
		prefixes[depth++] = element;
		list->elements[n++] = element;
	}
	list->n = n;
}

/* Returns the elements that strcoll() finds, ordered by their bytes. */
static ElementList *
list_elements(const CollateTables *tables)
{
	ElementList *list = palloc0(sizeof(ElementList));

	list->tables = tables;
	list->room = KEPT_CHARACTERS;
	list->elements = palloc(list->room * sizeof(Element));
	initStringInfo(&list->bytes);
	if (!text_table_walk(tables, add_element, list))
		return NULL;
	qsort_arg(list->elements, list->n, sizeof(Element), compare_elements,
			  list->bytes.data);
	remove_hidden(list);
	return list;
}


/*
 * The image of a collation of the C library
 */

static CollateWeights
element_weights(const ElementList *list, int i, int pass)
{
	CollateWeights weights;

	weights.at = text_table_weight(list->tables, list->elements[i].index,
								   pass, &weights.length);
	return weights;
}

/*
 * Returns the rank of each weight in a pass, indexed by the weight's number;
 * NULL if a weight is not well-formed.
 */
static uint32 *
rank_weights(const ElementList *list, int pass)
{
	int			room = KEPT_CHARACTERS;
	uint32	   *ranks = palloc0(room * sizeof(uint32));
	uint32		rank = 0;

	for (int i = 0; i < list->n; i++)
	{
		CollateWeights weights = element_weights(list, i, pass);

		while (weights.length > 0)
		{
			int32		number = text_table_number(&weights);

			if (number < 0)
				return NULL;
			for (; number >= room; room *= 2)
			{
				ranks = repalloc(ranks, 2 * room * sizeof(uint32));
				memset(ranks + room, 0, room * sizeof(uint32));
			}
			ranks[number] = 1;
		}
	}
	for (int number = 0; number < room; number++)
		ranks[number] = rank += ranks[number];
	return ranks;
}

/* Put a pass into the image.  Returns false if a weight is not well-formed. */
static bool
put_pass(StringInfo image, const ElementList *list, int pass)
{
	const CollateTables *tables = list->tables;
	uint32	   *ranks = rank_weights(list, pass);

	if (ranks == NULL)
		return false;
	image_put(image, tables->rules[pass] & RULE_POSITION);
	for (int i = 0; i < list->n; i++)
	{
		CollateWeights weights = element_weights(list, i, pass);
		int			rule = text_table_rule(tables, list->elements[i].index,
										   pass);

		image_put(image, rule & RULE_BACKWARD);
		while (weights.length > 0)
			image_put(image, ranks[text_table_number(&weights)]);
		/* ranks are greater than 0, so this ends the list of ranks */
		image_put(image, 0);
	}
	pfree(ranks);
	return true;
}

/* Returns the digest of a list of elements; NULL if a pass is not proved. */
static char *
digest_elements(const ElementList *list)
{
	StringInfoData image;

	image_begin(&image, LIBC_IMAGE);
	image_put(&image, list->tables->npasses);
	image_put(&image, list->n);
	for (int i = 0; i < list->n; i++)
		image_put_bytes(&image, list->bytes.data + list->elements[i].at,
						list->elements[i].length);
	for (int pass = 0; pass < (int) list->tables->npasses; pass++)
		if (!put_pass(&image, list, pass))
			return NULL;
	return image_digest(&image);
}


/*
 * Testing the model of strcoll() on strings of a collation's elements
 */

/*
 * TRIAL_SIZE limits the elements of a string, the elements of each kind that
 * strings are made of, and the bytes of these elements.
 */
#define TRIAL_SIZE		16
#define TRIAL_KINDS		(2 * TRIAL_SIZE)
#define TRIAL_PAIRS		(64 * TRIAL_SIZE)

/* TrialKind: some elements that have weights, and go backward, alike. */
typedef struct TrialKind
{
	uint64		signature;
	uint32		found;			/* number of elements of this kind */
	const Element *choices[TRIAL_SIZE];
} TrialKind;

typedef struct Trial
{
	const ElementList *list;
	pg_prng_state state;
	int			nkinds;
	TrialKind	kinds[TRIAL_KINDS];
} Trial;

static uint64
signature_of(const ElementList *list, int i)
{
	uint64		signature = list->elements[i].length > 1;

	for (int pass = 0; pass < (int) list->tables->npasses; pass++)
	{
		int			rule = text_table_rule(list->tables,
										   list->elements[i].index, pass);

		signature = signature << 1 | (rule & RULE_BACKWARD) / RULE_BACKWARD;
		signature = signature << 1 |
			(element_weights(list, i, pass).length > 0);
	}
	return signature;
}

/* Choose elements of all kinds, each element of a kind with equal chances. */
static void
choose_elements(Trial *trial)
{
	const ElementList *list = trial->list;

	for (int i = 0; i < list->n; i++)
	{
		uint64		signature = signature_of(list, i);
		TrialKind  *kind = trial->kinds;
		uint32		place;

		if (list->elements[i].length > TRIAL_SIZE)
			continue;
		while (kind < trial->kinds + trial->nkinds &&
			   kind->signature != signature)
			kind++;
		if (kind == trial->kinds + TRIAL_KINDS)
			continue;
		if (kind == trial->kinds + trial->nkinds)
		{
			kind->signature = signature;
			trial->nkinds++;
		}
		place = kind->found < TRIAL_SIZE ? kind->found :
			pg_prng_uint32(&trial->state) % (kind->found + 1);
		if (place < TRIAL_SIZE)
			kind->choices[place] = &list->elements[i];
		kind->found++;
	}
}

static const Element *
any_element(Trial *trial)
{
	const TrialKind *kind =
		&trial->kinds[pg_prng_uint32(&trial->state) % trial->nkinds];

	return kind->choices[pg_prng_uint32(&trial->state) %
						 Min(kind->found, TRIAL_SIZE)];
}

static void
append_element(const Trial *trial, StringInfo string, const Element *element)
{
	appendBinaryStringInfo(string, trial->list->bytes.data + element->at,
						   element->length);
}

/*
 * Make a string of elements, and a variant.  At three in 'part' places, the
 * variant has one more element, another one, or none.
 */
static void
make_pair(Trial *trial, int part, StringInfo string, StringInfo variant)
{
	int			n = pg_prng_uint32(&trial->state) % (TRIAL_SIZE + 1);

	resetStringInfo(string);
	resetStringInfo(variant);
	for (int i = 0; i < n; i++)
	{
		const Element *element = any_element(trial);
		uint32		number = pg_prng_uint32(&trial->state) % part;

		append_element(trial, string, element);
		if (number < 2)
			append_element(trial, variant, any_element(trial));
		if (number != 1 && number != 2)
			append_element(trial, variant, element);
	}
}

static bool
agrees_on_elements(const TextRanks *ranks, const ElementList *list,
				   Oid collation)
{
	Trial	   *trial = palloc0(sizeof(Trial));
	StringInfoData a;
	StringInfoData b;

	initStringInfo(&a);
	initStringInfo(&b);
	trial->list = list;
	pg_prng_seed(&trial->state, 1);
	choose_elements(trial);
	for (int i = 0; i < TRIAL_PAIRS; i++)
	{
		int			truth;
		int			cmp;

		make_pair(trial, i % 4 == 0 ? 3 : 16, &a, &b);
		truth = varstr_cmp(a.data, a.len, b.data, b.len, collation);
		if (!text_rank_compare(ranks, 0, a.data, a.len, b.data, b.len, &cmp))
			cmp = 0;
		if ((cmp > 0) != (truth > 0) || (cmp < 0) != (truth < 0))
			return false;
	}
	return true;
}


/*
 * Digests of the providers
 */

static char *
digest_libc(Oid collation)
{
	TextRanks  *ranks = text_rank_find(collation);
	const CollateTables *tables = NULL;
	ElementList *list;

	if (ranks != NULL && text_rank_is_ready(ranks, true))
		tables = text_rank_tables(ranks);
	if (tables == NULL)
		return NULL;
	list = list_elements(tables);
	if (list == NULL || !agrees_on_elements(ranks, list, collation))
		return NULL;
	return digest_elements(list);
}

static char *
digest_icu(Oid collation)
{
	char	   *rules;
	char	   *locale = text_icu_locale(collation, &rules);
	char	   *version = locale == NULL ? NULL :
		get_collation_actual_version(COLLPROVIDER_ICU, locale);
	StringInfoData image;

	if (version == NULL)
		return NULL;
	image_begin(&image, ICU_IMAGE);
	image_put_string(&image, GetDatabaseEncodingName());
	image_put_string(&image, locale);
	image_put_string(&image, version);
	image_put_string(&image, rules);
	image_put(&image, get_collation_isdeterministic(collation));
	return image_digest(&image);
}

/* True if the C library has the locale that a catalog column names. */
static bool
has_locale(HeapTuple tuple, AttrNumber column)
{
	bool		isnull;
	Datum		name = SysCacheGetAttr(COLLOID, tuple, column, &isnull);
	locale_t	locale = isnull ? (locale_t) 0 :
		newlocale(LC_ALL_MASK, TextDatumGetCString(name), (locale_t) 0);

	if (locale == (locale_t) 0)
		return false;
	freelocale(locale);
	return true;
}

/* True if the server can use the collation without an error. */
static bool
is_usable(Oid collation)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Form_pg_collation form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_collation) GETSTRUCT(tuple);
	result = form->collencoding < 0 ||
		form->collencoding == GetDatabaseEncoding();
	if (result && form->collprovider == COLLPROVIDER_LIBC)
		result = has_locale(tuple, Anum_pg_collation_collcollate) &&
			has_locale(tuple, Anum_pg_collation_collctype);
	ReleaseSysCache(tuple);
	return result;
}

char *
text_digest(Oid collation)
{
	MemoryContext context;
	MemoryContext old;
	StringInfoData image;
	char	   *digest = NULL;

	if (!is_usable(collation))
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "ptsort digest",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	if (text_rank_bytewise(collation))
	{
		image_begin(&image, BYTES_IMAGE);
		digest = image_digest(&image);
	}
	else if (pt_collate_is_libc(collation))
		digest = digest_libc(collation);
	else if (pt_collate_is_icu(collation))
		digest = digest_icu(collation);
	MemoryContextSwitchTo(old);
	if (digest != NULL)
		digest = pstrdup(digest);
	MemoryContextDelete(context);
	return digest;
}
