#ifndef PTSORT_PARALLEL_H
#define PTSORT_PARALLEL_H 
#ifdef __cplusplus
extern "C"
{
#endif
#include "ptsort.h"
#include "nodes/execnodes.h"
#include "utils/snapshot.h"
typedef struct PtParallel
{
 Relation table;
 Relation index;
 IndexInfo *index_info;
 const void *arg;
 Size arg_size;
 bool is_leader;
 int participants;
 int participant;
 void *shared;
 PtSort *stream;
 void *local;
} PtParallel;
typedef struct PtParallelOps
{
 PtSort *(*begin) (PtParallel *parallel, const PtSortOptions *options);
 void (*put) (PtParallel *parallel, PtSort *sort,
      TupleTableSlot *slot);
 void (*put_index) (PtParallel *parallel, PtSort *sort,
         ItemPointer tid, Datum *values, bool *isnull,
         bool alive);
 void (*fill) (PtParallel *parallel, PtSort *sort);
 void (*read_slices) (PtParallel *parallel, PtSort *sort);
 Size (*shared_size) (PtParallel *parallel, int processes,
        int slices);
 void (*shared_init) (PtParallel *parallel, int processes,
        int slices);
} PtParallelOps;
typedef struct PtParallelRequest
{
 const char *library;
 const char *ops_function;
 const void *arg;
 Size arg_size;
 Relation table;
 Snapshot snapshot;
 Relation index;
 IndexInfo *index_info;
 bool progress;
 int64 budget;
 int workers;
} PtParallelRequest;
typedef const PtParallelOps *(*PtParallelGetOps) (void);
typedef struct PtParallelStats
{
 double fill_ms;
 double read_ms;
 int64 wal_bytes;
 PtSortStats sort;
} PtParallelStats;
typedef struct PtParallelResult
{
 double rows;
 int64 tuples;
 int participants;
 int workers_planned;
 int workers_launched;
 PtParallelStats stats[FLEXIBLE_ARRAY_MEMBER];
} PtParallelResult;
static inline PtParallel *
ptsort_parallel(const PtParallelRequest *request)
{
 return ptsort_api()->parallel(request);
}
static inline PtParallelResult *
ptsort_parallel_end(PtParallel *parallel)
{
 return ptsort_api()->parallel_end(parallel);
}
#ifdef __cplusplus
}
#endif
#endif
