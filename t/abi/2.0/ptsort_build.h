#ifndef PTSORT_BUILD_H
#define PTSORT_BUILD_H 
#ifdef __cplusplus
extern "C"
{
#endif
#include "ptsort.h"
#include "nodes/execnodes.h"
typedef struct PtBuild
{
 Relation heap;
 Relation index;
 IndexInfo *index_info;
 const void *arg;
 Size arg_size;
 bool is_leader;
 int participants;
 int participant;
 void *shared;
 void *local;
} PtBuild;
typedef struct PtBuildOps
{
 PtSort *(*begin) (PtBuild *build, const PtSortOptions *options);
 void (*put) (PtBuild *build, PtSort *sort, ItemPointer tid,
      Datum *values, bool *isnull, bool alive);
 void (*load) (PtBuild *build, PtSort *sort);
 Size (*shared_size) (PtBuild *build, int processes, int slices);
 void (*shared_init) (PtBuild *build, int processes, int slices);
 void (*load_slices) (PtBuild *build, PtSort *sort);
 void (*finish) (PtBuild *build);
} PtBuildOps;
typedef struct PtBuildRequest
{
 Relation heap;
 Relation index;
 IndexInfo *index_info;
 int workers;
 int64 budget;
 const char *library;
 const char *ops_function;
 const void *arg;
 Size arg_size;
 bool progress;
} PtBuildRequest;
typedef const PtBuildOps *(*PtBuildGetOps) (void);
typedef struct PtBuildStats
{
 double scan_ms;
 double load_ms;
 int64 wal_bytes;
 PtSortStats sort;
} PtBuildStats;
typedef struct PtBuildResult
{
 double heap_tuples;
 double index_tuples;
 int participants;
 int workers_planned;
 int workers_launched;
 PtBuildStats stats[FLEXIBLE_ARRAY_MEMBER];
} PtBuildResult;
static inline PtBuildResult *
ptsort_build(const PtBuildRequest *request)
{
 return ptsort_api()->build(request);
}
#ifdef __cplusplus
}
#endif
#endif
