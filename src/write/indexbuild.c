/*-------------------------------------------------------------------------
 *
 * indexbuild.c
 *	  Index builds and their loads; see indexbuild.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/shared.h"
#include "util.h"
#include "utils/memutils.h"
#include "write/buildreport.h"
#include "write/indexbuild.h"

static const LoadMethod *
method_of(const Team *team)
{
	return ((const IndexBuildKind *) team->kind)->load;
}

/* Returns the bytes of the shared block before the method's parts. */
static Size
head_size(int processes)
{
	return MAXALIGN(add_size(offsetof(LoadShared, rest),
							 mul_size(processes + 1, sizeof(PageChunk))));
}

Size
indexbuild_shared_size(Team *team, int processes, int slices)
{
	const LoadMethod *method = method_of(team);

	return add_size(head_size(processes),
					mul_size(method->by_slice ? slices : processes,
							 method->part_size));
}

/*
 * Reserve the first blocks, but leave the file empty until the load begins.  So
 * if one of the index's functions runs the planner during the scan, the planner
 * raises the same error as in a build by the server.
 */
void
indexbuild_shared_init(Team *team, int processes, int slices)
{
	LoadShared *shared = team->shared;

	memset(shared, 0, indexbuild_shared_size(team, processes, slices));
	pagewrite_init_shared(&shared->file, ((Build *) team)->index, processes,
						  method_of(team)->reserved);
	shared->nslices = slices;
}

void *
load_part(const Load *load, int number)
{
	int			n = load->shared->file.nparticipants;

	Assert(number >= 0 &&
		   number < (load->method->by_slice ? load->shared->nslices : n));
	return (char *) load->shared + head_size(n) +
		number * load->method->part_size;
}

static Load *
begin_load(const Build *build, const LoadMethod *method)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "ptsort load",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Load	   *load = palloc0(method->size);
	PtSortStats stats;

	load->method = method;
	load->shared = build->team.shared;
	load->index = build->index;
	load->participant = build->team.participant;
	if (load->shared->file.nparticipants > 1)
		load->fileset = shared_fileset(build->team.sort_shared);
	load->cxt = cxt;
	sort_stats(build->team.sort, &stats);
	load->all_tuples = stats.tuples;
	pagewrite_begin(&load->writer, &load->shared->file, build->index);
	load->writer.reports = build->team.is_leader;
	method->begin(load, build);
	MemoryContextSwitchTo(old);
	return load;
}

int64
load_end(Load *load)
{
	int64		pages;

	pagewrite_flush(&load->writer);
	load->shared->rest[load->participant] = load->writer.chunk;
	pages = pagewrite_end(&load->writer);
	MemoryContextDelete(load->cxt);
	return pages;
}

/* Load slices.  The leader keeps its load for load_finish. */
void
indexbuild_read(Team *team)
{
	Build	   *build = (Build *) team;
	Load	   *load = begin_load(build, method_of(team));
	int			slice;

	while (!sort_failed(team->sort) && sort_next_slice(team->sort, &slice))
	{
		if (load->fileset != NULL)
			load->list = slicelist_open(load->fileset, slice, true);
		load->method->add_slice(load, team->sort, slice);
		(void) pagewrite_report(&load->writer);
		if (load->list != NULL)
			slicelist_end(load->list);
		load->list = NULL;
	}
	if (team->is_leader)
		build->load = load;
	else
		team->slot->pages = load_end(load);
}

void
load_finish(Build *build)
{
	Load	   *load = build->load;
	PageWriter *writer = &load->writer;
	MemoryContext old = MemoryContextSwitchTo(load->cxt);

	(void) pagewrite_report(writer);	/* for the view: all workers ended */
	if (load->fileset != NULL)
	{
		pagewrite_flush(writer);
		load->shared->rest[0] = writer->chunk;
		writer->chunk.next = writer->chunk.end;
		pagewrite_take_over(writer, load->shared->rest,
							load->shared->file.nparticipants);
	}
	load->method->finish(load, build);
	pagewrite_flush(writer);
	pagewrite_sync(writer);
	MemoryContextSwitchTo(old);
	build->team.slot->pages = load_end(load);
}


void
indexbuild_open(Team *team)
{
	build_open(team);
	team->slices = true;
}

void
indexbuild_start(Build *build, const char *scan)
{
	if (build->team.is_leader && !build->started)
		ereport(buildreport_log_level(),
				(errmsg("ptsort: building index \"%s\": %s%s",
						RelationGetRelationName(build->index),
						buildreport_describe(&build->team, build->source,
											 build->index), scan)));
	build->started = true;
}

void
indexbuild_init(Build *build, const IndexBuildKind *kind,
				const PtParallelRequest *request, const char *source)
{
	build_init(build, &kind->team, request);
	build->source = source;
	build->team.slices = true;
}

IndexBuildResult *
indexbuild_run(const IndexBuildKind *kind, Relation heap, Relation index,
			   IndexInfo *index_info, int workers, const char *source)
{
	PtParallelRequest what = build_request(heap, index, index_info);
	IndexBuildResult *result;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "ptsort build",
												  ALLOCSET_DEFAULT_SIZES);
	Build	   *build;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	MemoryContextSwitchTo(context);
	build = palloc0(sizeof(Build));
	indexbuild_init(build, kind, &what, source);
	build_run(build, workers);
	build_check(build, "load");
	load_finish(build);
	team_finish(&build->team);
	MemoryContextSwitchTo(caller);
	result = buildreport_end(build, false, pt_ms_since(start));
	team_leave(&build->team);
	MemoryContextDelete(context);
	return result;
}
