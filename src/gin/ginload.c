/*-------------------------------------------------------------------------
 *
 * ginload.c
 *	  Loads a GIN index from sorted records; see gin.h.
 *
 * Records of a key come in the order of their first TIDs, so all TIDs before a
 * record's first are complete; the others are pending, because records of
 * different participants overlap.
 *
 * If a key lies in several slices, the TIDs that were pending at the end of a
 * slice may belong between the TIDs of the next slice's leaves of the key's
 * posting tree.  They are few: at most those of a record of each participant.
 * The leader inserts them at the end as the server does (ginEntryInsert).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"
#include "gin/gin.h"
#include "utils/memutils.h"

/*
 * Keys
 */

/* Make a record of the current key with n TIDs. */
static GinRecord *
make_record(const GinLoad *load, const uint64 *tids, int n)
{
	Size		before = offsetof(GinRecord, key) + load->key->key_size;
	GinRecord  *record = palloc_extended(before + n * GINTID_MOST,
										 MCXT_ALLOC_HUGE);
	unsigned char *end = (unsigned char *) record + before;

	memcpy(record, load->key, before);
	record->ntids = n;
	if (n > 0)
		record->first = tids[0];
	for (int i = 1; i < n; i++)
		end = gintid_encode(end, tids[i] - tids[i - 1]);
	record->size = end - (unsigned char *) record;
	return record;
}

/* Append a record of the current key with these TIDs to the slice's list. */
static void
append_tids(GinLoad *load, const uint64 *tids, int n)
{
	GinRecord  *record = make_record(load, tids, n);

	slicelist_append_item(load->base.list, ITEM_RECORD, record,
						  record->size);
}

/* Decode a record's TIDs to an array with enough room. */
static int
decode_tids(const GinRecord *record, uint64 *tids)
{
	const unsigned char *at = ginrecord_list(record);

	if (record->ntids == 0)
		return 0;
	tids[0] = record->first;
	for (int i = 1; i < record->ntids; i++)
		tids[i] = tids[i - 1] + gintid_decode(&at);
	return record->ntids;
}

static void
need_pending(GinLoad *load, int n)
{
	if (n <= load->maxpending)
		return;
	load->maxpending = Max(n, 2 * load->maxpending);
	load->pending = repalloc_huge(load->pending,
								  load->maxpending * sizeof(uint64));
	load->merged = repalloc_huge(load->merged,
								 load->maxpending * sizeof(uint64));
}

/* Add the pending TIDs before 'bound' to the posting. */
static void
complete(GinLoad *load, uint64 bound)
{
	int			n = 0;

	while (n < load->npending && load->pending[n] < bound)
		ginposting_add(load, &load->posting, load->pending[n++]);
	load->npending -= n;
	memmove(load->pending, load->pending + n,
			load->npending * sizeof(uint64));
}

/* Merge the n TIDs after the pending ones with these; drop duplicates. */
static void
merge_pending(GinLoad *load, int n)
{
	uint64	   *left = load->pending;
	uint64	   *left_end = left + load->npending;
	uint64	   *right = left_end;
	uint64	   *right_end = right + n;
	uint64	   *to = load->merged;

	while (left < left_end || right < right_end)
	{
		uint64		next;

		if (right == right_end || (left < left_end && *left <= *right))
			next = *left++;
		else
			next = *right++;
		if (to == load->merged || to[-1] != next)
			*to++ = next;
	}
	load->npending = to - load->merged;
	to = load->pending;
	load->pending = load->merged;
	load->merged = to;
}

/* Add a record of the current key. */
static void
add_tids(GinLoad *load, const GinRecord *record)
{
	int			n;

	if (record->ntids == 0)
		return;
	complete(load, record->first);
	need_pending(load, load->npending + record->ntids);
	n = decode_tids(record, load->pending + load->npending);
	if (load->npending == 0)
		load->npending = n;
	else
		merge_pending(load, n);
}

/* Hand the current key over to the leader. */
static void
hand_over(GinLoad *load)
{
	GinPosting *posting = &load->posting;
	uint64	   *tids = NULL;
	int			n;

	append_tids(load, NULL, 0);
	for (int i = 0; i < posting->nlinks; i++)
		slicelist_append_item(load->base.list, ITEM_DATA_LEAF,
							  &posting->links[i], sizeof(PostingItem));
	if (posting->leaf.block != InvalidBlockNumber)
		slicelist_append_item(load->base.list, ITEM_NEXT_DATA_LEAF,
							  &posting->leaf.block, sizeof(BlockNumber));
	n = ginposting_tids(posting, &tids);
	append_tids(load, tids, n);
	load->part.entries -= n;	/* the leader counts them */
	append_tids(load, load->pending, load->npending);
	if (posting->leaf.page != NULL)
		pagewrite_release_buffer(&load->base.writer, posting->leaf.page);
	posting->leaf.page = NULL;
	ginposting_reset(posting);
}

/* Make the leaf tuple of the current key. */
static void
finish_key(GinLoad *load)
{
	complete(load, PG_UINT64_MAX);
	load->part.keys++;
	gin_level_add(load, load->leaf,
				  ginposting_tuple(load, &load->posting, load->key));
}

static void
end_key(GinLoad *load, bool is_last)
{
	MemoryContext old;

	if (!load->has_key)
		return;
	old = MemoryContextSwitchTo(load->temp);
	if (load->base.list != NULL && (load->is_first || is_last))
		hand_over(load);
	else
		finish_key(load);
	MemoryContextSwitchTo(old);
	MemoryContextReset(load->temp);
	load->has_key = false;
	load->is_first = false;
	load->npending = 0;
}

/* Make the record's key the current key. */
static void
begin_key(GinLoad *load, const GinRecord *record)
{
	Size		size = offsetof(GinRecord, key) + record->key_size;

	if (size > load->key_room)
	{
		load->key_room = 2 * size;
		load->key = repalloc_huge(load->key, load->key_room);
	}
	memcpy(load->key, record, size);
	load->has_key = true;
}

/* Add a record of the current or the next key. */
static void
add(GinLoad *load, const GinRecord *record)
{
	if (!load->has_key ||
		variant_gin_compare_keys(load->order, load->key, record) != 0)
	{
		end_key(load, false);
		begin_key(load, record);
	}
	add_tids(load, record);
}


/*
 * The lists, in the leader
 */

/*
 * Keep the pending TIDs for the end: a complete leaf follows, which may lack
 * them.
 */
static void
postpone_pending(GinLoad *load)
{
	MemoryContext old = MemoryContextSwitchTo(load->base.cxt);

	load->part.entries += load->npending;
	if (load->npending > 0)
		load->late = lappend(load->late,
							 make_record(load, load->pending,
										 load->npending));
	load->npending = 0;
	MemoryContextSwitchTo(old);
}

/* Take an item that is not about the TIDs of a key. */
static void
take_tuple(GinLoad *load, ItemKind kind, void *data)
{
	GinLevel   *leaf = load->leaf;

	end_key(load, false);
	if (kind == ITEM_NEXT_LEAF)
		leaf->chain.block = *(BlockNumber *) data;
	else if (kind == ITEM_TUPLE)
		gin_level_add(load, leaf, data);
	else
	{
		if (leaf->chain.page != NULL)
			gin_level_end_page(load, leaf, GinGetDownlink((IndexTuple) data));
		else
			gin_check_block(load, &leaf->chain);
		leaf->chain.block = InvalidBlockNumber;
		gin_level_add_downlink(load, leaf, data);
	}
}

static void
take_list(GinLoad *load, int slice)
{
	SliceList  *list;
	ItemKind	kind;
	void	   *data;

	fault_point("ginload: open list");
	list = slicelist_open(load->base.fileset, slice, false);
	while ((kind = slicelist_next(list, &data)) != 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (kind == ITEM_RECORD)
			add(load, data);
		else if (kind == ITEM_DATA_LEAF)
		{
			postpone_pending(load);
			ginposting_adopt(load, &load->posting, data);
		}
		else if (kind == ITEM_NEXT_DATA_LEAF)
			load->posting.leaf.block = *(BlockNumber *) data;
		else
			take_tuple(load, kind, data);
	}
	slicelist_close(list);
}


/* LoadMethod.begin */
static void
begin(Load *base, const Build *build)
{
	GinLoad    *load = (GinLoad *) base;

	load->order = variant_gin_order(build->index);
	load->gin = &load->order->gin;
	/* a reset keeps the first block, which suffices for a list and a tuple */
	load->temp = AllocSetContextCreate(base->cxt, "ptsort GIN key", 4 * BLCKSZ,
									   4 * BLCKSZ, ALLOCSET_DEFAULT_MAXSIZE);
	load->leaf = gin_level_create(load, true);
	load->key_room = load->maxpending = BLCKSZ;
	load->key = palloc(load->key_room);
	load->pending = palloc(load->maxpending * sizeof(uint64));
	load->merged = palloc(load->maxpending * sizeof(uint64));
	ginposting_init(&load->posting);
}

/* Append the tuples of the unfinished leaf to the slice's list. */
static void
append_rest(GinLoad *load)
{
	GinChain   *chain = &load->leaf->chain;

	if (chain->block != InvalidBlockNumber)
		slicelist_append_item(load->base.list, ITEM_NEXT_LEAF, &chain->block,
							  sizeof(BlockNumber));
	chain->block = InvalidBlockNumber;
	if (chain->page == NULL)
		return;
	for (OffsetNumber n = FirstOffsetNumber;
		 n <= PageGetMaxOffsetNumber(chain->page); n++)
	{
		ItemId		id = PageGetItemId(chain->page, n);

		slicelist_append_item(load->base.list, ITEM_TUPLE,
							  PageGetItem(chain->page, id),
							  ItemIdGetLength(id));
	}
	pagewrite_release_buffer(&load->base.writer, chain->page);
	chain->page = NULL;
}

/* LoadMethod.add_slice */
static void
add_slice(Load *base, PtSort *sort, int slice)
{
	GinLoad    *load = (GinLoad *) base;
	const GinRecord *record;

	fault_point("ginload: begin slice");
	load->is_first = true;
	while ((record = variant_get_gin(sort)) != NULL)
	{
		load_count(base);
		add(load, record);
	}
	if (base->list == NULL)
		return;
	append_rest(load);
	end_key(load, true);
	fault_point("ginload: end slice");
	*(GinPart *) load_part(base, base->participant) = load->part;
}


/*
 * The end, in the leader
 */

static void
make_deleted(Page page)
{
	/* without a transaction ID, the page can be recycled at once */
	GinInitPage(page, GIN_DELETED, BLCKSZ);
}

/*
 * Write the metapage, like GinInitMetabuffer() and ginUpdateStats().  The
 * server counts entries, not records, as the index's tuples.
 */
static void
write_metapage(GinLoad *load, Build *build)
{
	LoadShared *shared = load->base.shared;
	Page		page = pagewrite_get_buffer(&load->base.writer);
	GinMetaPageData *meta = GinPageGetMeta(page);

	GinInitPage(page, GIN_META, BLCKSZ);
	meta->head = meta->tail = InvalidBlockNumber;
	meta->ginVersion = GIN_CURRENT_VERSION;
	meta->nTotalPages = (BlockNumber)
		pg_atomic_read_u64(&shared->file.nblocks);
	*(GinPart *) load_part(&load->base, 0) = load->part;
	build->index_tuples = 0;
	for (int i = 0; i < shared->file.nparticipants; i++)
	{
		const GinPart *part = load_part(&load->base, i);

		meta->nEntryPages += part->entry_pages;
		meta->nDataPages += part->data_pages;
		meta->nEntries += part->keys;
		build->index_tuples += part->entries;
	}
	((PageHeader) page)->pd_lower = (char *) (meta + 1) - (char *) page;
	pagewrite_page(&load->base.writer, page, GIN_METAPAGE_BLKNO);
}

/*
 * Insert the TIDs that were pending between slices.  No page is free for reuse
 * yet, so posting trees that grow take blocks at the end of the file.
 */
static void
insert_late(GinLoad *load)
{
	PageWriter *writer = &load->base.writer;
	BlockNumber before;
	ListCell   *lc;

	if (load->late == NIL)
		return;
	fault_point("ginload: late TIDs");
	pagewrite_flush(writer);
	before = RelationGetNumberOfBlocks(load->base.index);
	foreach(lc, load->late)
	{
		const GinRecord *record = lfirst(lc);
		ItemPointer items = palloc_extended(record->ntids *
											sizeof(ItemPointerData),
											MCXT_ALLOC_HUGE);
		Form_pg_attribute att = TupleDescAttr(load->gin->origTupdesc,
											  record->column - 1);

		CHECK_FOR_INTERRUPTS();
		need_pending(load, record->ntids);
		(void) decode_tids(record, load->pending);
		for (int i = 0; i < record->ntids; i++)
			gintid_get(load->pending[i], &items[i]);
		ginEntryInsert(load->gin, record->column, ginrecord_key(record, att),
					   record->category, items, record->ntids, NULL);
		pfree(items);
	}
	writer->eof = RelationGetNumberOfBlocks(load->base.index);
	pg_atomic_write_u64(&writer->shared->nblocks, writer->eof);
	load->part.data_pages += writer->eof - before;
}

/* LoadMethod.finish */
static void
finish(Load *base, Build *build)
{
	GinLoad    *load = (GinLoad *) base;

	for (int i = 0; base->fileset != NULL && i < base->shared->nslices; i++)
		take_list(load, i);
	end_key(load, true);
	gin_write_root(load);
	insert_late(load);
	pagewrite_retire_spare(&base->writer, make_deleted);
	write_metapage(load, build);
}

const LoadMethod ginload = {
	.size = sizeof(GinLoad),
	.reserved = GIN_ROOT_BLKNO + 1,
	.part_size = sizeof(GinPart),
	.begin = begin,
	.add_slice = add_slice,
	.finish = finish
};
