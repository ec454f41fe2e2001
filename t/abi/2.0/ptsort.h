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
#include "storage/sharedfileset.h"
#include "utils/relcache.h"
#define PTSORT_API_VERSION 2
#define PTSORT_MIN_BUDGET (1024 * 1024)
#define PTSORT_MAX_PROCESSES 1025
typedef struct PtSort PtSort;
typedef struct PtSortShared PtSortShared;
struct PtBuildRequest;
struct PtBuildResult;
struct PtParallel;
struct PtParallelRequest;
struct PtParallelResult;
struct PtSortKey;
struct PtSortVariant;
struct SortSupportData;
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
 SharedFileSet *(*shared_fileset) (PtSortShared *shared);
 bool (*shared_stats) (PtSortShared *shared, int participant,
         PtSortStats *stats);
 PtSort *(*begin_index) (Relation heap, Relation index, bool unique,
        bool nulls_not_distinct,
        const PtSortOptions *options);
 void (*put_index) (PtSort *sort, ItemPointer tid,
         const Datum *values, const bool *isnull,
         bool alive);
 IndexTuple (*get_index) (PtSort *sort, bool forward);
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
 void (*end) (PtSort *sort);
 void (*stats) (PtSort *sort, PtSortStats *stats);
 struct PtSortKey *(*key_columns) (int ncolumns, const Oid *lt_operators,
           const Oid *collations,
           const bool *nulls_first);
 int (*key_nwords) (const struct PtSortKey *key);
 void (*key_words) (struct PtSortKey *key, const Datum *values,
         const bool *isnull, uint64 *words);
 struct SortSupportData *(*key_support) (struct PtSortKey *key);
 PtSort *(*begin) (const struct PtSortVariant *variant, void *state,
        int nwords, MemoryContext context,
        const PtSortOptions *options);
 void *(*state) (PtSort *sort, const struct PtSortVariant *variant);
 void (*put) (PtSort *sort, const void *tuple, Size size,
      const uint64 *words);
 const void *(*get) (PtSort *sort, bool forward, Size *size);
 const uint64 *(*get_entries) (PtSort *sort, int *n);
 struct PtBuildResult *(*build) (const struct PtBuildRequest *request);
 void *(*reserve) (PtSort *sort, Size size);
 void (*commit) (PtSort *sort, const uint64 *words);
 struct PtParallel *(*parallel) (const struct PtParallelRequest *request);
 struct PtParallelResult *(*parallel_end) (struct PtParallel *parallel);
 void (*parallel_worker) (dsm_segment *segment, shm_toc *toc);
 void (*reset) (PtSort *sort);
 PtSort *(*begin_heap) (TupleDesc desc, Relation index,
          const PtSortOptions *options);
 void (*put_heap) (PtSort *sort, HeapTuple tuple);
 HeapTuple (*get_heap) (PtSort *sort, bool forward);
} PtSortApi;
typedef const PtSortApi *(*PtSortGetApi) (uint32 version, uint32 size);
#ifndef PTSORT_INTERNAL
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
#else
extern const PtSortApi ptsort_api_table;
#define ptsort_api() (&ptsort_api_table)
#endif
static inline Size
ptsort_shared_estimate(int processes)
{
 return ptsort_api()->shared_estimate(processes);
}
static inline void
ptsort_shared_init(PtSortShared *shared, int processes, dsm_segment *segment)
{
 ptsort_api()->shared_init(shared, processes, segment);
}
static inline void
ptsort_shared_attach(PtSortShared *shared, dsm_segment *segment)
{
 ptsort_api()->shared_attach(shared, segment);
}
static inline int
ptsort_shared_slices(int processes)
{
 return ptsort_api()->shared_slices(processes);
}
static inline SharedFileSet *
ptsort_shared_fileset(PtSortShared *shared)
{
 return ptsort_api()->shared_fileset(shared);
}
static inline bool
ptsort_shared_stats(PtSortShared *shared, int participant, PtSortStats *stats)
{
 return ptsort_api()->shared_stats(shared, participant, stats);
}
static inline PtSort *
ptsort_begin_index(Relation heap, Relation index, bool unique,
       bool nulls_not_distinct, const PtSortOptions *options)
{
 return ptsort_api()->begin_index(heap, index, unique, nulls_not_distinct,
          options);
}
static inline void
ptsort_put_index(PtSort *sort, ItemPointer tid, const Datum *values,
     const bool *isnull, bool alive)
{
 ptsort_api()->put_index(sort, tid, values, isnull, alive);
}
static inline IndexTuple
ptsort_get_index(PtSort *sort, bool forward)
{
 return ptsort_api()->get_index(sort, forward);
}
static inline PtSort *
ptsort_begin_heap(TupleDesc desc, Relation index, const PtSortOptions *options)
{
 return ptsort_api()->begin_heap(desc, index, options);
}
static inline void
ptsort_put_heap(PtSort *sort, HeapTuple tuple)
{
 ptsort_api()->put_heap(sort, tuple);
}
static inline HeapTuple
ptsort_get_heap(PtSort *sort, bool forward)
{
 return ptsort_api()->get_heap(sort, forward);
}
static inline PtSort *
ptsort_begin_datum(Oid type, Oid lt_operator, Oid collation, bool nulls_first,
       const PtSortOptions *options)
{
 return ptsort_api()->begin_datum(type, lt_operator, collation, nulls_first,
          options);
}
static inline void
ptsort_put_datum(PtSort *sort, Datum value, bool isnull)
{
 ptsort_api()->put_datum(sort, value, isnull);
}
static inline bool
ptsort_get_datum(PtSort *sort, bool forward, Datum *value, bool *isnull)
{
 return ptsort_api()->get_datum(sort, forward, value, isnull);
}
static inline PtSort *
ptsort_begin_tuple(TupleDesc desc, int nkeys, const AttrNumber *attnums,
       const Oid *lt_operators, const Oid *collations,
       const bool *nulls_first, const PtSortOptions *options)
{
 return ptsort_api()->begin_tuple(desc, nkeys, attnums, lt_operators,
          collations, nulls_first, options);
}
static inline void
ptsort_put_tuple(PtSort *sort, MinimalTuple tuple)
{
 ptsort_api()->put_tuple(sort, tuple);
}
static inline void
ptsort_put_slot(PtSort *sort, TupleTableSlot *slot)
{
 ptsort_api()->put_slot(sort, slot);
}
static inline MinimalTuple
ptsort_get_tuple(PtSort *sort, bool forward)
{
 return ptsort_api()->get_tuple(sort, forward);
}
static inline bool
ptsort_get_slot(PtSort *sort, bool forward, TupleTableSlot *slot)
{
 return ptsort_api()->get_slot(sort, forward, slot);
}
static inline void
ptsort_perform(PtSort *sort)
{
 ptsort_api()->perform(sort);
}
static inline bool
ptsort_next_slice(PtSort *sort, int *slice)
{
 return ptsort_api()->next_slice(sort, slice);
}
static inline int64
ptsort_slice_start(PtSort *sort)
{
 return ptsort_api()->slice_start(sort);
}
static inline void
ptsort_rescan(PtSort *sort)
{
 ptsort_api()->rescan(sort);
}
static inline void
ptsort_mark(PtSort *sort)
{
 ptsort_api()->mark(sort);
}
static inline void
ptsort_restore(PtSort *sort)
{
 ptsort_api()->restore(sort);
}
static inline void
ptsort_end(PtSort *sort)
{
 ptsort_api()->end(sort);
}
static inline void
ptsort_stats(PtSort *sort, PtSortStats *stats)
{
 ptsort_api()->stats(sort, stats);
}
static inline void
ptsort_reset(PtSort *sort)
{
 ptsort_api()->reset(sort);
}
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
