#ifndef PTSORT_VARIANT_H
#define PTSORT_VARIANT_H 
#ifdef __cplusplus
extern "C"
{
#endif
#include "ptsort.h"
#define PTSORT_MAX_WORDS 2
typedef struct PtSortVariant
{
 const char *name;
 bool inline_image;
 Size (*size) (const void *tuple, void *state);
 int (*compare) (const void *a, const void *b, void *state);
 bool (*same_slice) (const void *a, const void *b, void *state);
} PtSortVariant;
static inline PtSort *
ptsort_begin(const PtSortVariant *variant, void *state, int nwords,
    MemoryContext context, const PtSortOptions *options)
{
 return ptsort_api()->begin(variant, state, nwords, context, options);
}
static inline void
ptsort_put(PtSort *sort, const void *tuple, Size size, const uint64 *words)
{
 ptsort_api()->put(sort, tuple, size, words);
}
static inline void *
ptsort_reserve(PtSort *sort, Size size)
{
 return ptsort_api()->reserve(sort, size);
}
static inline void
ptsort_commit(PtSort *sort, const uint64 *words)
{
 ptsort_api()->commit(sort, words);
}
static inline const void *
ptsort_get(PtSort *sort, bool forward, Size *size)
{
 return ptsort_api()->get(sort, forward, size);
}
static inline const uint64 *
ptsort_get_entries(PtSort *sort, int *n)
{
 return ptsort_api()->get_entries(sort, n);
}
#ifdef __cplusplus
}
#endif
#endif
