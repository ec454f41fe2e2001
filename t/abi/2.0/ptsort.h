#ifndef PTSORT_H
#define PTSORT_H 
#ifdef __cplusplus
extern "C"
{
#endif
#include "postgres.h"
#include "access/htup.h"
#include "access/itup.h"
#include "access/parallel.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "storage/dsm.h"
#include "utils/relcache.h"
#define PTSORT_API_VERSION 2
#define PTSORT_MIN_BUDGET (1024 * 1024)
#define PTSORT_MAX_PROCESSES 1025
typedef struct PtSort PtSort;
typedef struct PtSortShared PtSortShared;
struct PtParallel;
struct PtParallelRequest;
struct PtParallelResult;
struct PtSortVariant;
typedef enum PtSortRole
{
 PTSORT_SERIAL,
 PTSORT_WORKER,
 PTSORT_LEADER,
 PTSORT_SLICE_LEADER,
 PTSORT_SLICE
} PtSortRole;
typedef struct PtSortOptions
{
 PtSortRole role;
 int64 budget;
 bool random_access;
 PtSortShared *shared;
 int participant;
 int participants;
 ParallelContext *workers;
 int64 expected_tuples;
 int64 bound;
 bool stable;
} PtSortOptions;
typedef enum PtSortMethod
{
 PTSORT_STILL_IN_PROGRESS,
 PTSORT_TOP_N,
 PTSORT_IN_MEMORY,
 PTSORT_EXTERNAL_SORT,
 PTSORT_EXTERNAL_MERGE
} PtSortMethod;
typedef struct PtSortStats
{
 int64 tuples;
 int64 runs;
 int64 run_bytes;
 int64 comparisons;
 int64 peak_memory;
 int64 temp_bytes;
 double sort_ms;
 double run_ms;
 PtSortMethod method;
} PtSortStats;
typedef struct PtSortApi
{
 uint32 version;
 uint32 size;
 Size (*shared_estimate) (int processes);
 void (*shared_init) (PtSortShared *shared, int processes,
        dsm_segment *segment);
 void (*shared_attach) (PtSortShared *shared, dsm_segment *segment);
 int (*shared_slices) (int processes);
 PtSort *(*begin_index) (Relation heap, Relation index, bool unique,
        bool nulls_not_distinct,
        const PtSortOptions *options);
 void (*put_index) (PtSort *sort, ItemPointer tid,
         const Datum *values, const bool *isnull,
         bool alive);
 IndexTuple (*get_index) (PtSort *sort, bool forward);
 PtSort *(*begin_heap) (TupleDesc desc, Relation index,
          const PtSortOptions *options);
 void (*put_heap) (PtSort *sort, HeapTuple tuple);
 HeapTuple (*get_heap) (PtSort *sort, bool forward);
 PtSort *(*begin_datum) (Oid type, Oid lt_operator, Oid collation,
        bool nulls_first,
        const PtSortOptions *options);
 void (*put_datum) (PtSort *sort, Datum value, bool isnull);
 bool (*get_datum) (PtSort *sort, bool forward, Datum *value,
         bool *isnull);
 PtSort *(*begin_tuple) (TupleDesc desc, int nkeys,
        const AttrNumber *attnums,
        const Oid *lt_operators,
        const Oid *collations,
        const bool *nulls_first,
        const PtSortOptions *options);
 void (*put_tuple) (PtSort *sort, MinimalTuple tuple);
 void (*put_slot) (PtSort *sort, TupleTableSlot *slot);
 MinimalTuple (*get_tuple) (PtSort *sort, bool forward);
 bool (*get_slot) (PtSort *sort, bool forward, TupleTableSlot *slot);
 void (*perform) (PtSort *sort);
 bool (*next_slice) (PtSort *sort, int *slice);
 int64 (*slice_start) (PtSort *sort);
 void (*rescan) (PtSort *sort);
 void (*mark) (PtSort *sort);
 void (*restore) (PtSort *sort);
 void (*reset) (PtSort *sort);
 void (*end) (PtSort *sort);
 void (*stats) (PtSort *sort, PtSortStats *stats);
 PtSort *(*begin) (const struct PtSortVariant *variant, void *state,
        int nwords, MemoryContext context,
        const PtSortOptions *options);
 void (*put) (PtSort *sort, const void *tuple, Size size,
      const uint64 *words);
 void *(*reserve) (PtSort *sort, Size size);
 void (*commit) (PtSort *sort, const uint64 *words);
 const void *(*get) (PtSort *sort, bool forward, Size *size);
 const uint64 *(*get_entries) (PtSort *sort, int *n);
 struct PtParallel *(*parallel) (const struct PtParallelRequest *request);
 struct PtParallelResult *(*parallel_end) (struct PtParallel *parallel);
} PtSortApi;
typedef const PtSortApi *(*PtSortGetApi) (uint32 version, uint32 size);
static inline const PtSortApi *
ptsort_api(void)
{
 static const PtSortApi *api = NULL;
 if (unlikely(api == NULL))
 {
  PtSortGetApi get = (PtSortGetApi)
   load_external_function("$libdir/ptsort", "ptsort_get_api",
           true, NULL);
  api = get(PTSORT_API_VERSION, sizeof(PtSortApi));
 }
 return api;
}
#define ptsort_shared_estimate (ptsort_api()->shared_estimate)
#define ptsort_shared_init (ptsort_api()->shared_init)
#define ptsort_shared_attach (ptsort_api()->shared_attach)
#define ptsort_shared_slices (ptsort_api()->shared_slices)
#define ptsort_begin_index (ptsort_api()->begin_index)
#define ptsort_put_index (ptsort_api()->put_index)
#define ptsort_get_index (ptsort_api()->get_index)
#define ptsort_begin_heap (ptsort_api()->begin_heap)
#define ptsort_put_heap (ptsort_api()->put_heap)
#define ptsort_get_heap (ptsort_api()->get_heap)
#define ptsort_begin_datum (ptsort_api()->begin_datum)
#define ptsort_put_datum (ptsort_api()->put_datum)
#define ptsort_get_datum (ptsort_api()->get_datum)
#define ptsort_begin_tuple (ptsort_api()->begin_tuple)
#define ptsort_put_tuple (ptsort_api()->put_tuple)
#define ptsort_put_slot (ptsort_api()->put_slot)
#define ptsort_get_tuple (ptsort_api()->get_tuple)
#define ptsort_get_slot (ptsort_api()->get_slot)
#define ptsort_perform (ptsort_api()->perform)
#define ptsort_next_slice (ptsort_api()->next_slice)
#define ptsort_slice_start (ptsort_api()->slice_start)
#define ptsort_rescan (ptsort_api()->rescan)
#define ptsort_mark (ptsort_api()->mark)
#define ptsort_restore (ptsort_api()->restore)
#define ptsort_reset (ptsort_api()->reset)
#define ptsort_end (ptsort_api()->end)
#define ptsort_stats (ptsort_api()->stats)
static inline const char *
ptsort_method_name(PtSortMethod method)
{
 switch (method)
 {
  case PTSORT_STILL_IN_PROGRESS:
   return "still in progress";
  case PTSORT_TOP_N:
   return "top-N sort";
  case PTSORT_IN_MEMORY:
   return "in-memory sort";
  case PTSORT_EXTERNAL_SORT:
   return "external sort";
  case PTSORT_EXTERNAL_MERGE:
   return "external merge";
 }
 return "unknown";
}
static inline bool
ptsort_method_on_disk(PtSortMethod method)
{
 return method == PTSORT_EXTERNAL_SORT || method == PTSORT_EXTERNAL_MERGE;
}
static inline const char *
ptsort_method_space(PtSortMethod method)
{
 return ptsort_method_on_disk(method) ? "Disk" : "Memory";
}
#ifdef __cplusplus
}
#endif
#endif
