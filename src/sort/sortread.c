/*-------------------------------------------------------------------------
 *
 * sortread.c
 *	  Reading the result of a sort: get, slices, random access.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/shared.h"
#include "sort/tuplesort.h"
#include "util.h"

/* Raise an error with this message unless random access is possible now. */
static void
need_random_access(PtSort *sort, const char *message)
{
	if (!sort->options.random_access)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_internal("%s", _(message)),
				 errdetail("The sort was begun without random access."),
				 errhint("Set PtSortOptions.random_access.")));
	if (sort->phase != PHASE_MEMORY && sort->phase != PHASE_RUN)
		sort_wrong_phase(sort, message);
}

static const void *
get_from_memory(PtSort *sort, bool forward, Size *size)
{
	SortPosition *position = &sort->position;
	const void *tuple;

	if (forward)
	{
		if (position->before >= sort->memsort->count)
		{
			position->at_end = true;
			return NULL;
		}
		memsort_prefetch(sort->memsort, position->before,
						 sort->memsort->first_read);
		position->before++;
	}
	else
	{
		if (!position->at_end && position->before > 0)
			position->before--;
		position->at_end = false;
		if (position->before == 0)
			return NULL;
	}
	tuple = memsort_tuple(sort->memsort,
						  memsort_entry(sort->memsort, position->before - 1));
	*size = order_size(&sort->order, tuple);
	return tuple;
}

static const void *
get_from_run(PtSort *sort, bool forward, Size *size)
{
	RunReader  *reader = &sort->reader;
	bool		found;

	if (reader->run == NULL)
		return NULL;
	if (forward)
	{
		found = run_next(reader);
		sort->position.at_end = !found;
	}
	else
	{
		found = run_previous(reader, !sort->position.at_end);
		sort->position.at_end = false;
	}
	*size = reader->size;
	return found ? reader->tuple : NULL;
}

/* Begin merging a slice, with the readers of the slice before, if any. */
static void
merge_slice(PtSort *sort, int slice)
{
	PtSortShared *shared = sort->options.shared;
	const int64 *starts = shared_slice(shared, slice);
	const int64 *ends = shared_slice(shared, slice + 1);
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	for (int r = 0; r < sort->nruns; r++)
	{
		if (starts[r] < 0 || starts[r] > ends[r] ||
			ends[r] > run_end(sort->runs[r]))
			elog(ERROR, "slice %d is not within its runs", slice);
	}
	if (sort->merge == NULL)
		sort->merge = sort_create_merge(sort, sort->runs, sort->nruns,
										MERGE_FINAL);
	merge_restart(sort->merge, starts, ends);
	sort->slice_start = *shared_slice_start(shared, slice);
	sort->phase = PHASE_MERGING;
	MemoryContextSwitchTo(old);
}

static const void *
get_from_merge(PtSort *sort, Size *size)
{
	RunReader  *reader;

	if (sort->options.bound > 0 && sort->returned >= sort->options.bound)
		return NULL;
	reader = merge_next(sort->merge);
	if (unlikely(reader == NULL))
		return NULL;
	*size = reader->size;
	return reader->tuple;
}

const void *
sort_get(PtSort *sort, bool forward, Size *size)
{
	const void *result = NULL;
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (unlikely(!forward))
		need_random_access(sort, "cannot read sort backward");
	switch (sort->phase)
	{
		case PHASE_MEMORY:
			result = get_from_memory(sort, forward, size);
			break;
		case PHASE_RUN:
			result = get_from_run(sort, forward, size);
			break;
		case PHASE_MERGING:
			result = get_from_merge(sort, size);
			break;
		default:
			sort_wrong_phase(sort, "cannot get tuple from sort");
	}
	if (likely(result != NULL))
		sort->returned++;
	MemoryContextSwitchTo(old);
	return result;
}

/* Maximum number of entries in a batch, so that a batch fits in cache. */
#define BATCH_ENTRIES	512

static const uint64 *
entries_from_memory(PtSort *sort, int *n)
{
	SortPosition *position = &sort->position;
	const uint64 *result = memsort_entry(sort->memsort, position->before);

	*n = (int) Min(sort->memsort->count - position->before, BATCH_ENTRIES);
	position->before += *n;
	position->at_end = *n == 0;
	return result;
}

/* Returns copies of the merge's next entries, valid until the next call. */
static const uint64 *
entries_from_merge(PtSort *sort, int *n)
{
	int			max = BATCH_ENTRIES;
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	if (sort->batch == NULL)
		sort->batch = palloc(BATCH_ENTRIES * sizeof(uint64) *
							 (sort->order.nwords + 1));
	if (sort->options.bound > 0)
		max = (int) Min(sort->options.bound - sort->returned, max);
	*n = max > 0 ? merge_next_entries(sort->merge, sort->batch, max) : 0;
	MemoryContextSwitchTo(old);
	return sort->batch;
}

const uint64 *
sort_get_entries(PtSort *sort, int *n)
{
	const uint64 *result;

	if (!sort->order.inline_image)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot read entries of a sort whose images are not inline")));
	if (sort->batch_left > 0)
	{
		*n = sort->batch_left;
		sort->batch_left = 0;
		return sort->batch_next;
	}
	if (sort->phase == PHASE_RUN)
	{
		result = sort_get_entry(sort, true);
		*n = result != NULL ? 1 : 0;
		return result;
	}
	if (sort->phase == PHASE_MEMORY)
		result = entries_from_memory(sort, n);
	else if (sort->phase == PHASE_MERGING)
		result = entries_from_merge(sort, n);
	else
		sort_wrong_phase(sort, "cannot get entries from sort");
	sort->returned += *n;
	return *n > 0 ? result : NULL;
}

/* Reads entries from a merge in batches, and returns one entry per call. */
const uint64 *
sort_get_entry(PtSort *sort, bool forward)
{
	const uint64 *entry;
	Size		size;

	if (sort->phase != PHASE_MERGING || !forward)
	{
		/* the image is the last word of its entry, in memory and in runs */
		entry = sort_get(sort, forward, &size);
		return entry ? entry - sort->order.nwords : NULL;
	}
	if (sort->batch_left == 0)
	{
		sort->batch_next = sort_get_entries(sort, &sort->batch_left);
		if (sort->batch_next == NULL)
			return NULL;
	}
	entry = sort->batch_next;
	sort->batch_next += sort->order.nwords + 1;
	sort->batch_left--;
	return entry;
}

void
sort_rescan(PtSort *sort)
{
	need_random_access(sort, "cannot rescan sort");
	memset(&sort->position, 0, sizeof(SortPosition));
	sort->mark = sort->position;
	if (sort->reader.run)
		run_limit(&sort->reader, 0, sort->reader.to);
}

void
sort_mark(PtSort *sort)
{
	need_random_access(sort, "cannot mark position in sort");
	sort->mark = sort->position;
	if (sort->reader.run)
		sort->mark.before = run_tell(&sort->reader);
}

void
sort_restore(PtSort *sort)
{
	need_random_access(sort, "cannot restore position in sort");
	sort->position = sort->mark;
	if (sort->reader.run)
		run_limit(&sort->reader, sort->mark.before, sort->reader.to);
}

int64
sort_slice_start(PtSort *sort)
{
	if (sort->phase != PHASE_MEMORY && sort->phase != PHASE_MERGING &&
		sort->phase != PHASE_RUN)
		sort_wrong_phase(sort, "cannot tell start of slice");
	return sort->slice_start;
}

/* A serial sort has one slice: all tuples that sort_get returns. */
static bool
next_serial_slice(PtSort *sort, int *slice)
{
	if (sort->phase == PHASE_PUTTING || sort->phase == PHASE_FAILED)
		sort_wrong_phase(sort, "cannot get slice of sort");
	*slice = sort->slice_taken ? -1 : 0;
	sort->slice_taken = true;
	return *slice == 0;
}

bool
sort_next_slice(PtSort *sort, int *slice)
{
	if (sort->options.role == PTSORT_SERIAL)
		return next_serial_slice(sort, slice);
	if (sort->options.role == PTSORT_LEADER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot get slice of sort"),
				 errdetail("A sort of role PTSORT_LEADER has no slices."),
				 errhint("Use role PTSORT_SLICE_LEADER.")));
	if (sort->phase != PHASE_SLICES && sort->phase != PHASE_MERGING)
		sort_wrong_phase(sort, "cannot get slice of sort");
	/* the caller may leave a slice before its end */
	sort->returned -= sort->batch_left;
	sort->batch_left = 0;
	sort->phase = PHASE_SLICES;
	*slice = shared_claim_slice(sort->options.shared);
	if (*slice >= 0)
		merge_slice(sort, *slice);
	else if (sort->merge)
	{
		sort_note_memory(sort);
		merge_free(sort->merge);
		sort->merge = NULL;
	}
	return *slice >= 0;
}
