/*-------------------------------------------------------------------------
 *
 * gincollect.c
 *	  Collects the TIDs of keys in a hash table; see gin.h.
 *
 * The server's build compares each occurrence of a key with others, through
 * fmgr.  This table compares bytes: keys with equal bytes are equal in every
 * operator class.  Equal keys with different bytes stay apart until the load
 * merges the records that compare equal.
 *
 * A key's TIDs are encoded as they come (ginrecord.h), in a buffer that grows.
 * When the largest buffer is full, the key's record goes to the sort, and the
 * buffer is empty again.  So a frequent key needs a constant amount of memory.
 * When the table is full, all records go to the sort.  Full-text engines index
 * in this way, too (Lucene's BytesRefHash).
 *
 * The table is small enough for the processor's cache: a larger table would
 * find more repetitions of rare keys, but each would cost a cache miss.
 *
 * Rows come in the order of the pages, so a key's TIDs mostly ascend.  But a
 * row of a HOT chain comes late in its page: a TID that precedes the last one
 * begins another record.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/pg_prng.h"
#include "debug.h"
#include "gin/gin.h"
#include "utils/memutils.h"

/* Sizes of a key's buffer, in bytes */
static const uint8 buffer_sizes[] = {0, 16, 40, 120};

#define LARGEST_BUFFER	(lengthof(buffer_sizes) - 1)

/* Keys of more bytes go to the sort at once. */
#define MOST_BYTES		BLCKSZ

#define ARENA_UNIT		MAXIMUM_ALIGNOF

/* CollectedKey: a key and its TIDs.  Addresses are in ARENA_UNITs. */
typedef struct CollectedKey
{
	uint64		first;			/* the first TID */
	uint64		last;			/* the last TID */
	uint32		key_size;		/* as in a GinRecord */
	uint32		buffer;			/* address of the buffer */
	uint8		size;			/* of the buffer, index of buffer_sizes */
	uint8		used;			/* bytes of the buffer */
	uint8		ntids;
	uint8		column;
	GinNullCategory category;
	char		unused[3];
	char		key[FLEXIBLE_ARRAY_MEMBER];
} CollectedKey;

StaticAssertDecl(offsetof(CollectedKey, key) % ARENA_UNIT == 0,
				 "the key of a CollectedKey is not aligned");

/* Slot: a place of the hash table */
typedef struct Slot
{
	uint32		hash;
	uint32		address;		/* of the CollectedKey; 0: none */
} Slot;

struct GinCollector
{
	PtSort	   *sort;
	GinState   *gin;
	MemoryContext context;
	MemoryContext row;			/* reset for each row */
	uint64		seed;
	Slot	   *slots;
	uint32		mask;			/* number of slots - 1 */
	uint32		nkeys;
	char	   *arena;
	uint32		used;			/* ARENA_UNITs */
	uint32		size;			/* ARENA_UNITs */
};

/* KeyBytes: a key as the operator class extracted it */
typedef struct KeyBytes
{
	int			column;
	GinNullCategory category;
	uint32		header;			/* bytes that precede the key in a record */
	uint32		size;
	const char *bytes;
	Datum		value;			/* storage for 'bytes' of by-value types */
	uint32		hash;
} KeyBytes;

GinCollector *
gincollect_begin(PtSort *sort)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort GIN keys",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GinCollector *self = palloc0(sizeof(GinCollector));
	GinOrder   *order = variant_gin_order_of(sort);
	uint32		nslots = pg_prevpower2_32(order->room_size /
										  sizeof(CollectedKey));

	self->sort = sort;
	self->gin = &order->gin;
	self->context = context;
	self->row = AllocSetContextCreate(context, "ptsort GIN row",
									  ALLOCSET_DEFAULT_SIZES);
	self->seed = pg_prng_uint64(&pg_global_prng_state);
	self->mask = nslots - 1;
	self->slots = (Slot *) order->room;
	memset(self->slots, 0, nslots * sizeof(Slot));
	self->arena = (char *) (self->slots + nslots);
	self->size = (order->room_size - nslots * sizeof(Slot)) / ARENA_UNIT;
	self->used = 1;				/* address 0 means none */
	MemoryContextSwitchTo(old);
	return self;
}

static inline void *
at(const GinCollector *self, uint32 address)
{
	return self->arena + (Size) address * ARENA_UNIT;
}

/* Returns the address of 'bytes' bytes, or 0 if the arena is full. */
static uint32
allocate(GinCollector *self, Size bytes)
{
	uint32		address = self->used;
	uint32		units = MAXALIGN(bytes) / ARENA_UNIT;

	if (units > self->size - self->used)
		return 0;
	self->used += units;
	return address;
}

/* Reserve a record; the caller copies the key and the list. */
static GinRecord *
begin_record(GinCollector *self, int column, GinNullCategory category,
			 uint32 key_size, uint64 first, int ntids, Size list_size)
{
	Size		size = offsetof(GinRecord, key) + key_size + list_size;
	GinRecord  *record = variant_reserve_gin(self->sort, size);

	record->size = size;
	record->key_size = key_size;
	record->first = first;
	record->ntids = ntids;
	record->column = column;
	record->category = category;
	record->unused = 0;
	return record;
}

/* Put the key's TIDs into the sort; keep the key, without TIDs. */
static void
put_record(GinCollector *self, CollectedKey *key)
{
	GinRecord  *record = begin_record(self, key->column, key->category,
									  key->key_size, key->first, key->ntids,
									  key->used);

	memcpy(record->key, key->key, key->key_size);
	memcpy(record->key + key->key_size, at(self, key->buffer), key->used);
	variant_commit_gin(self->sort, record);
	key->ntids = 0;
	key->used = 0;
}

/* Put all keys into the sort, and empty the table. */
static void
put_all(GinCollector *self)
{
	for (uint32 i = 0; i <= self->mask; i++)
	{
		uint32		ahead = (i + ENTRIES_AHEAD) & self->mask;
		CollectedKey *key;

		pt_prefetch(at(self, self->slots[ahead].address));
		if (self->slots[i].address == 0)
			continue;
		key = at(self, self->slots[i].address);
		if (key->ntids > 0)
			put_record(self, key);
	}
	memset(self->slots, 0, (self->mask + 1) * sizeof(Slot));
	self->used = 1;
	self->nkeys = 0;
	CHECK_FOR_INTERRUPTS();
}

/* Let the buffer grow; returns false if it cannot. */
static bool
grow(GinCollector *self, CollectedKey *key)
{
	uint32		buffer;

	if (key->size == LARGEST_BUFFER)
		return false;
	buffer = allocate(self, buffer_sizes[key->size + 1]);
	if (buffer == 0)
		return false;
	memcpy(at(self, buffer), at(self, key->buffer), key->used);
	key->buffer = buffer;
	key->size++;
	return true;
}

static void
add_tid(GinCollector *self, CollectedKey *key, uint64 tid)
{
	if (tid == key->last)
		return;					/* the row has the key twice */
	if (key->ntids > 0 && tid < key->last)
		put_record(self, key);
	while (key->ntids > 0 && key->used + GINTID_MOST > buffer_sizes[key->size])
		if (!grow(self, key))
			put_record(self, key);
	if (key->ntids == 0)
		key->first = tid;
	else
	{
		unsigned char *list = at(self, key->buffer);

		key->used = gintid_encode(list + key->used, tid - key->last) - list;
	}
	key->last = tid;
	key->ntids++;
}


static inline uint64
mix(uint64 hash, uint64 word)
{
	hash = (hash ^ word) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 29;
}

static uint32
hash_key(const GinCollector *self, const KeyBytes *key)
{
	uint64		hash = mix(self->seed, (uint64) key->column << 32 |
						   (uint64) (uint8) key->category << 40 | key->size);
	uint32		i = 0;
	uint64		word;

	for (; i + sizeof(word) <= key->size; i += sizeof(word))
	{
		memcpy(&word, key->bytes + i, sizeof(word));
		hash = mix(hash, word);
	}
	if (i < key->size)
		hash = mix(hash, pt_string_word(key->bytes + i, key->size - i));
	return (uint32) (mix(hash, 0) >> 32);
}

static bool
is_same(const CollectedKey *key, const KeyBytes *bytes)
{
	if (key->key_size != bytes->header + bytes->size ||
		key->column != bytes->column || key->category != bytes->category)
		return false;
	if (bytes->size == sizeof(uint64))	/* integers: no call of memcmp() */
		return memcmp(key->key + bytes->header, bytes->bytes,
					  sizeof(uint64)) == 0;
	return memcmp(key->key + bytes->header, bytes->bytes, bytes->size) == 0;
}

/* Copy the key to a record or to the table. */
static void
copy_key(char *target, const KeyBytes *bytes)
{
	if (bytes->header > 0)
		SET_VARSIZE(target, bytes->header + bytes->size);
	memcpy(target + bytes->header, bytes->bytes, bytes->size);
}

/* Add a key to the table, at this slot.  Returns NULL if the table is full. */
static CollectedKey *
add_key(GinCollector *self, Slot *slot, const KeyBytes *bytes)
{
	uint32		key_size = bytes->header + bytes->size;
	uint32		address = allocate(self, offsetof(CollectedKey, key) +
								   key_size);
	CollectedKey *key = at(self, address);

	if (address == 0 || self->nkeys > self->mask / 4 * 3)
		return NULL;
	self->nkeys++;
	memset(key, 0, offsetof(CollectedKey, key));
	key->key_size = key_size;
	key->column = bytes->column;
	key->category = bytes->category;
	copy_key(key->key, bytes);
	slot->hash = bytes->hash;
	slot->address = address;
	return key;
}

/* Put a key that is too long for the table, with one TID. */
static void
put_long_key(GinCollector *self, const KeyBytes *bytes, uint64 tid)
{
	GinRecord  *record = begin_record(self, bytes->column, bytes->category,
									  bytes->header + bytes->size, tid, 1, 0);

	copy_key(record->key, bytes);
	variant_commit_gin(self->sort, record);
}

static void
collect(GinCollector *self, const KeyBytes *bytes, uint64 tid)
{
	uint32		i = bytes->hash & self->mask;
	CollectedKey *key = NULL;

	for (; self->slots[i].address != 0; i = (i + 1) & self->mask)
	{
		if (self->slots[i].hash != bytes->hash)
			continue;
		key = at(self, self->slots[i].address);
		if (is_same(key, bytes))
			break;
		key = NULL;
	}
	if (key == NULL)
	{
		if (bytes->size > MOST_BYTES)
		{
			put_long_key(self, bytes, tid);
			return;
		}
		key = add_key(self, &self->slots[i], bytes);
	}
	if (key == NULL)
	{
		put_all(self);
		key = add_key(self, &self->slots[bytes->hash & self->mask], bytes);
	}
	add_tid(self, key, tid);
}

/* Describe a key that is not null.  Allocates memory if it must detoast. */
static void
set_bytes(KeyBytes *bytes, Datum value, Form_pg_attribute att)
{
	if (att->attbyval)
	{
		bytes->value = value;
		bytes->bytes = (const char *) &bytes->value;
		bytes->size = sizeof(Datum);
		return;
	}
	bytes->bytes = DatumGetPointer(value);
	if (att->attlen == -1)
	{
		struct varlena *plain = pg_detoast_datum_packed((struct varlena *)
														bytes->bytes);

		bytes->header = VARHDRSZ;
		bytes->size = VARSIZE_ANY_EXHDR(plain);
		bytes->bytes = VARDATA_ANY(plain);
	}
	else
		bytes->size = att->attlen > 0 ? att->attlen :
			strlen(bytes->bytes) + 1;
}

/* Collect the only placeholder of an item without keys. */
static void
collect_placeholder(GinCollector *self, int column, GinNullCategory category,
					uint64 tid)
{
	KeyBytes	bytes = {.column = column,.category = category};

	bytes.bytes = "";
	bytes.hash = hash_key(self, &bytes);
	collect(self, &bytes, tid);
}

/*
 * Extract and collect the keys of an item, as ginExtractEntries() does; but
 * that function also sorts them, by comparisons.
 */
static void
collect_item(GinCollector *self, int column, Datum item, uint64 tid)
{
	GinState   *gin = self->gin;
	Form_pg_attribute att = TupleDescAttr(gin->origTupdesc, column - 1);
	int32		n = 0;
	bool	   *nulls = NULL;
	Datum	   *values = (Datum *)
		DatumGetPointer(FunctionCall3Coll(&gin->extractValueFn[column - 1],
										  gin->supportCollation[column - 1],
										  item, PointerGetDatum(&n),
										  PointerGetDatum(&nulls)));

	if (values == NULL || n <= 0)
	{
		collect_placeholder(self, column, GIN_CAT_EMPTY_ITEM, tid);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		KeyBytes	key = {.column = column,.bytes = ""};

		if (nulls != NULL && nulls[i])
			key.category = GIN_CAT_NULL_KEY;
		else
			set_bytes(&key, values[i], att);
		key.hash = hash_key(self, &key);
		collect(self, &key, tid);
	}
}

void
gincollect_row(GinCollector *self, ItemPointer tid, Datum *values,
			   bool *isnull)
{
	MemoryContext old = MemoryContextSwitchTo(self->row);

	for (int i = 0; i < self->gin->origTupdesc->natts; i++)
	{
		if (isnull[i])
			collect_placeholder(self, i + 1, GIN_CAT_NULL_ITEM,
								gintid_of(tid));
		else
			collect_item(self, i + 1, values[i], gintid_of(tid));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(self->row);
}

void
gincollect_end(GinCollector *self)
{
	fault_point("gincollect: end");
	put_all(self);
	variant_gin_end_room(self->sort);
	MemoryContextDelete(self->context);
}
