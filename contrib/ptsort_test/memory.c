/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  Makes the n-th allocation fail, as if there were no memory left.
 *
 * A named point arms a process (ptsort_test.fault, actions "palloc" and
 * "malloc").  The process then counts allocations until its transaction ends,
 * or until it passes the point that ends a build or a test (fault.c).  The
 * allocation whose number is ptsort_test.allocation fails; if the setting is 0,
 * none fails.
 *
 * Action palloc: each kind of memory context has a table of functions, through
 * which the server calls the allocator.  This file puts its own functions into
 * the tables.  The tables are constant, so this file first makes their pages
 * writable, in this process only.  This file lets three kinds of allocations
 * succeed: those in critical sections, where every error is a PANIC; those in
 * ErrorContext, which has reserved memory; and those of the server's
 * statistics.  The statistics do not tolerate failures: the server makes an
 * entry while it deletes the files of a file set, so a failure would leave the
 * remaining files behind.  Also, an incomplete entry fails an assertion when
 * the process ends.
 *
 * The arguments of the tables' functions depend on the server's version.
 * Functions without flags return NULL, and their caller raises the error;
 * functions with flags raise the error themselves.  The compiler recognizes
 * the version by the types in the table.
 *
 * Action malloc: shortage.c calls malloc_fails() before it calls the C
 * library.  Only blocks of contexts, new contexts and hash tables come from
 * the C library, so the C library makes few allocations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "faults.h"

#define MAX_TABLES	4

typedef void *(*AllocPlain) (MemoryContext context, Size size);
typedef void *(*AllocFlags) (MemoryContext context, Size size, int flags);
typedef void *(*ReallocContext) (MemoryContext context, void *pointer,
								 Size size);
typedef void *(*ReallocPlain) (void *pointer, Size size);
typedef void *(*ReallocFlags) (void *pointer, Size size, int flags);

/* True if the given method of "methods" has the given type. */
#define HAS_TYPE(method, type) \
	__builtin_types_compatible_p(__typeof__(methods->method), type)

/* A kind of context: its table of functions, and the original table. */
typedef struct Table
{
	MemoryContextMethods *methods;
	MemoryContextMethods original;
} Table;

static Table tables[MAX_TABLES];
static int	ntables = 0;

static int	allocation_setting = 1;
static bool armed = false;
static MemoryKind armed_kind;
static int	counted = 0;

PG_FUNCTION_INFO_V1(ptsort_test_allocations);

/* True if this allocation must fail. */
static bool
fails(MemoryKind kind)
{
	if (!armed || armed_kind != kind || CritSectionCount > 0 ||
		proc_exit_inprogress)
		return false;
	counted++;
	pg_atomic_write_u32(&fault_shared->allocations, counted);
	if (counted != allocation_setting)
		return false;
	armed = false;
	pg_atomic_fetch_add_u32(&fault_shared->failed, 1);
	return true;
}

static bool
palloc_fails(MemoryContext context)
{
	if (context == ErrorContext || strncmp(context->name, "PgStat ", 7) == 0)
		return false;
	return fails(MEMORY_PALLOC);
}

/* Returns the original functions of a kind of context. */
static const MemoryContextMethods *
original(const MemoryContextMethods *methods)
{
	for (int i = 0; i < ntables; i++)
	{
		if (tables[i].methods == methods)
			return &tables[i].original;
	}
	elog(PANIC, "unknown kind of memory context");
}

/* Raises the out-of-memory error that some allocators raise themselves. */
static void *
raise_or_null(MemoryContext context, Size size, int flags)
{
	if ((flags & MCXT_ALLOC_NO_OOM) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed on request of size %zu "
						   "in memory context \"%s\".",
						   size, context->name)));
	return NULL;
}

static void *
alloc_plain(MemoryContext context, Size size)
{
	AllocPlain	next;

	if (palloc_fails(context))
		return NULL;
	next = (AllocPlain) (void *) original(context->methods)->alloc;
	return next(context, size);
}

static void *
alloc_flags(MemoryContext context, Size size, int flags)
{
	AllocFlags	next;

	if (palloc_fails(context))
		return raise_or_null(context, size, flags);
	next = (AllocFlags) (void *) original(context->methods)->alloc;
	return next(context, size, flags);
}

static void *
realloc_context(MemoryContext context, void *pointer, Size size)
{
	ReallocContext next;

	if (palloc_fails(context))
		return NULL;
	next = (ReallocContext) (void *) original(context->methods)->realloc;
	return next(context, pointer, size);
}

static void *
realloc_plain(void *pointer, Size size)
{
	MemoryContext context = GetMemoryChunkContext(pointer);
	ReallocPlain next;

	if (palloc_fails(context))
		return NULL;
	next = (ReallocPlain) (void *) original(context->methods)->realloc;
	return next(pointer, size);
}

static void *
realloc_flags(void *pointer, Size size, int flags)
{
	MemoryContext context = GetMemoryChunkContext(pointer);
	ReallocFlags next;

	if (palloc_fails(context))
		return raise_or_null(context, size, flags);
	next = (ReallocFlags) (void *) original(context->methods)->realloc;
	return next(pointer, size, flags);
}

static void
make_writable(void *address, Size size)
{
	uintptr_t	page = sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) address & ~(page - 1);

	if (mprotect((void *) start, (uintptr_t) address + size - start,
				 PROT_READ | PROT_WRITE) != 0)
		elog(ERROR, "could not make memory writable: %m");
}

/*
 * Puts this file's functions into the table of the context's kind, and deletes
 * the context.
 */
static void
wrap(MemoryContext context)
{
	MemoryContextMethods *methods = unconstify(MemoryContextMethods *,
											   context->methods);
	void	   *alloc = HAS_TYPE(alloc, AllocFlags) ? (void *) alloc_flags :
		(void *) alloc_plain;
	void	   *realloc =
		HAS_TYPE(realloc, ReallocFlags) ? (void *) realloc_flags :
		HAS_TYPE(realloc, ReallocPlain) ? (void *) realloc_plain :
		(void *) realloc_context;

	StaticAssertStmt(HAS_TYPE(alloc, AllocFlags) || HAS_TYPE(alloc, AllocPlain),
					 "unknown arguments of alloc");
	StaticAssertStmt(HAS_TYPE(realloc, ReallocFlags) ||
					 HAS_TYPE(realloc, ReallocPlain) ||
					 HAS_TYPE(realloc, ReallocContext),
					 "unknown arguments of realloc");
	make_writable(methods, sizeof(*methods));
	tables[ntables].methods = methods;
	tables[ntables].original = *methods;
	ntables++;
	memcpy(&methods->alloc, &alloc, sizeof(alloc));
	memcpy(&methods->realloc, &realloc, sizeof(realloc));
	MemoryContextDelete(context);
}

static void
wrap_all(void)
{
	if (ntables > 0)
		return;
	wrap(AllocSetContextCreate(CurrentMemoryContext, "kind 1",
							   ALLOCSET_SMALL_SIZES));
	wrap(GenerationContextCreate(CurrentMemoryContext, "kind 2",
								 ALLOCSET_SMALL_SIZES));
	wrap(SlabContextCreate(CurrentMemoryContext, "kind 3",
						   SLAB_DEFAULT_BLOCK_SIZE, 64));
}

/* memory_arm starts to count allocations, and makes one of them fail. */
void
memory_arm(MemoryKind kind)
{
	wrap_all();
	counted = 0;
	armed_kind = kind;
	armed = true;
}

/* memory_disarm stops the counting; no later allocation fails. */
void
memory_disarm(void)
{
	armed = false;
}

/* XactCallback: disarms the process at the end of the transaction. */
static void
end_of_transaction(XactEvent event, void *arg)
{
	memory_disarm();
}

/* shortage.c calls this function before each malloc. */
static bool
malloc_fails(size_t size)
{
	return fails(MEMORY_MALLOC);
}

/*
 * A variable of the library made from shortage.c; its address is NULL unless
 * that library is preloaded.
 */
extern bool (*ptsort_shortage_malloc) (size_t size) __attribute__((weak));

/* memory_init defines the setting. */
void
memory_init(void)
{
	DefineCustomIntVariable("ptsort_test.allocation",
							"Sets which allocation after a named point fails.",
							"If 0, the process only counts allocations.",
							&allocation_setting, 1, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterXactCallback(end_of_transaction, NULL);
	if (&ptsort_shortage_malloc != NULL)
		ptsort_shortage_malloc = malloc_fails;
}

/*
 * ptsort_test_allocations returns the number of allocations that an armed
 * process counted.
 */
Datum
ptsort_test_allocations(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) pg_atomic_read_u32(&fault_shared->allocations));
}
