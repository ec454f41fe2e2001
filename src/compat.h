/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the supported server versions (15 to 19).
 *
 * This is the only file of the project that may look at PG_VERSION_NUM (a test
 * in t/ checks this rule).  All other code uses the names of the newest server
 * or, where no single name fits, a helper whose name begins with pt_.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_COMPAT_H
#define PTSORT_COMPAT_H

#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/index.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "pgstat.h"
#include "rewrite/rewriteHandler.h"
#include "storage/buf_internals.h"
#include "storage/bufpage.h"
#include "storage/smgr.h"
#include "storage/sync.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "access/gin.h"
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#if PG_VERSION_NUM >= 190000
#include "access/amapi.h"
#include "access/htup_details.h"
#include "commands/repack.h"
#include "optimizer/pathnode.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"
#else
#include "commands/cluster.h"
#include "optimizer/plancat.h"
#endif

/*
 * utils/pg_locale.h includes ICU's headers if the server was built with ICU.
 * These headers may not be installed, and ptsort does not need them.
 */
#pragma push_macro("USE_ICU")
#undef USE_ICU
#include "utils/pg_locale.h"
#pragma pop_macro("USE_ICU")

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "ptsort supports PostgreSQL 15, 16, 17, 18 and 19"
#endif
#if SIZEOF_DATUM < 8
#error "ptsort needs a 64-bit server"
#endif

/*
 * Names and arguments, by the version that changed them.  A comment is above
 * the older definition.
 */
#if PG_VERSION_NUM < 160000
/*
 * Before 16 the server neither hides the symbols of loadable modules nor marks
 * PGDLLEXPORT symbols as visible.  The Makefile hides ptsort's symbols, so that
 * names such as run_next cannot collide with another extension's.
 */
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

#define RelFileLocator RelFileNode
#define RelFileLocatorEquals RelFileNodeEquals
#define rd_locator	rd_node
#define rlocator	rnode
#define InitBufferTag(tag, locator, fork, block) \
	INIT_BUFFERTAG(*(tag), *(locator), fork, block)

#define pt_owns_table(table, role) pg_class_ownercheck(table, role)

/* Catalog columns with user-defined rules of ICU; 0: no column */
#define PT_COLLATION_RULES	0
#define PT_DATABASE_RULES	0

/* The i-th backend in the snapshot of pgstat_fetch_stat_numbackends() */
#define pt_local_backend_status(i) pgstat_fetch_stat_local_beentry(i)

/* True if a WAL sender streams to a physical replica; 15 cannot tell. */
#define pt_sends_to_replica(sender) true

/* Since 16, smgr requires page buffers that are aligned for direct I/O */
#define pt_palloc_io_pages(cxt, n) \
	((char *) MemoryContextAlloc(cxt, (Size) (n) * BLCKSZ))
#else
#define pt_owns_table(table, role) \
	object_ownercheck(RelationRelationId, table, role)
#define PT_COLLATION_RULES	Anum_pg_collation_collicurules
#define PT_DATABASE_RULES	Anum_pg_database_daticurules
#define pt_local_backend_status(i) pgstat_get_local_beentry_by_index(i)
#define pt_sends_to_replica(sender) \
	((sender)->kind == REPLICATION_KIND_PHYSICAL)
#define pt_palloc_io_pages(cxt, n) \
	((char *) MemoryContextAllocAligned(cxt, (Size) (n) * BLCKSZ, \
										PG_IO_ALIGN_SIZE, 0))
#endif

#if PG_VERSION_NUM < 170000
#define pt_LockHeldByMe(locktag, lockmode) LockHeldByMe(locktag, lockmode)

/* No two processes have the same number. */
#define pt_process_number() MyBackendId

/* The privilege MAINTAIN, and the search path for maintenance */
#define pt_may_maintain(table, role) pt_owns_table(table, role)
#define pt_restrict_search_path() \
	((void) set_config_option("search_path", "pg_catalog, pg_temp", \
							  PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, \
							  true, 0, false))

/* Catalog columns with the ICU locale of a collation and of the database */
#define PT_COLLATION_LOCALE Anum_pg_collation_colliculocale
#define PT_DATABASE_LOCALE	Anum_pg_database_daticulocale

typedef struct SplitedPageLayout SplitPageLayout;

/*
 * The stream of heap scans reads ahead and returns pinned buffers.  It goes on
 * after the block that pt_heap_scan_position() returns.
 */
#define PT_HEAP_SCAN_HAS_STREAM 0
#define pt_heap_scan_position(scan) ((scan)->rs_cblock)

/* For old_snapshot_threshold */
#define pt_test_for_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#else
#define pt_LockHeldByMe(locktag, lockmode) \
	LockHeldByMe(locktag, lockmode, false)
#define pt_process_number() MyProcNumber
#define pt_may_maintain(table, role) \
	(pg_class_aclcheck(table, role, ACL_MAINTAIN) == ACLCHECK_OK)
#define pt_restrict_search_path() RestrictSearchPath()
#define PT_COLLATION_LOCALE Anum_pg_collation_colllocale
#define PT_DATABASE_LOCALE	Anum_pg_database_datlocale
#define PT_HEAP_SCAN_HAS_STREAM 1
#define pt_heap_scan_position(scan) ((scan)->rs_prefetch_block)
#define pt_test_for_old_snapshot(snapshot, rel, page) ((void) 0)

/* smgrwritev() can write neighbouring blocks with one system call. */
#define PT_SMGR_WRITES_VECTORS
#endif

#if PG_VERSION_NUM < 180000
/* Generated columns that are virtual, names and versions of libraries */
#define pt_expand_generated(expression, table) (expression)
#define PT_MODULE_MAGIC(title, number) PG_MODULE_MAGIC

/* True if a collation orders strings by their bytes. */
#define pt_collate_is_c(collation) lc_collate_is_c(collation)

/* Largest leaf tuple of a btree page (_bt_check_third_page) */
#define pt_bt_max_item_size(page) BTMaxItemSize(page)
#define pt_bt_max_item_size_no_tid(page) BTMaxItemSizeNoHeapTid(page)

/* A changed column of a descriptor needs a new compact form. */
#define populate_compact_attribute(desc, i) ((void) 0)

/* The arguments of an ExecutorRun hook, and how to pass them on */
#define PT_RUN_ARGUMENTS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, \
	bool execute_once
#define PT_PASS_RUN_ARGUMENTS	queryDesc, direction, count, execute_once

/* Put pt_noreturn before the declaration of a function that never returns. */
#define pt_noreturn pg_attribute_noreturn()

/* An index scan without statistics of its own or an order by operators */
#define pt_index_beginscan(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, nkeys, 0)

/* Phases of a GIN build, which have no names before 18 */
#define PT_GIN_SORTS	0
#define PT_GIN_MERGES	0
#else
#define pt_expand_generated(expression, table) \
	expand_generated_columns_in_expr(expression, table, 1)
#define PT_MODULE_MAGIC(title, number) \
	PG_MODULE_MAGIC_EXT(.name = title, .version = number)
#define pt_collate_is_c(collation) \
	(pg_newlocale_from_collation(collation)->collate_is_c)
#define pt_bt_max_item_size(page) BTMaxItemSize
#define pt_bt_max_item_size_no_tid(page) BTMaxItemSizeNoHeapTid
#define PT_RUN_ARGUMENTS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define PT_PASS_RUN_ARGUMENTS	queryDesc, direction, count
#define pt_noreturn pg_noreturn
#define pt_index_beginscan(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0 PT_NO_SCAN_FLAGS)
#define PT_GIN_SORTS	PROGRESS_GIN_PHASE_PERFORMSORT_2
#define PT_GIN_MERGES	PROGRESS_GIN_PHASE_MERGE_2

/* sortnode.c has a function for explain_per_node_hook. */
#define PT_EXPLAIN_NODES
#endif

#if PG_VERSION_NUM < 190000
#define CHECKPOINT_FAST CHECKPOINT_IMMEDIATE
#define PageSetChecksum(page, block) PageSetChecksumInplace(page, block)

/* True if a buffer has the contents of its page. */
#define pt_buffer_is_valid(descriptor) \
	((pg_atomic_read_u32(&(descriptor)->state) & BM_VALID) != 0)

/*
 * Flags of scans, a range of blocks of parallel scans, and the buffer of the
 * visibility map for pruning
 */
#define pt_table_beginscan_parallel(rel, scan) \
	table_beginscan_parallel(rel, scan)
#define pt_parallelscan_startblock_init(rel, worker, scan) \
	table_block_parallelscan_startblock_init(rel, worker, scan)
#define pt_heap_page_prune_opt(scan, buffer) \
	heap_page_prune_opt((scan)->rs_base.rs_rd, buffer)
#define pt_index_fetch_begin(rel) table_index_fetch_begin(rel)

/* The planner's hook for each table; in 19 also for other relations */
#define pt_table_hook		get_relation_info_hook

/* Functions of the type oid8 */
#define F_BTOID8CMP			InvalidOid
#define F_BTOID8SORTSUPPORT InvalidOid

/* Callers must finalize a new tuple descriptor before its use. */
#define TupleDescFinalize(desc) ((void) (desc))

/* Only 19 sets bits of the visibility map outside of VACUUM. */
#define PT_READS_SET_VISIBILITY false

/* Flags of table_beginscan_tidrange() and index_beginscan() */
#define PT_NO_SCAN_FLAGS
#else
#define PT_NO_SCAN_FLAGS	, 0
#define PT_READS_SET_VISIBILITY true
#define pt_buffer_is_valid(descriptor) \
	((pg_atomic_read_u64(&(descriptor)->state) & BM_VALID) != 0)
#define pt_table_beginscan_parallel(rel, scan) \
	table_beginscan_parallel(rel, scan, SO_NONE)
#define pt_parallelscan_startblock_init(rel, worker, scan) \
	table_block_parallelscan_startblock_init(rel, worker, scan, \
											 InvalidBlockNumber, \
											 InvalidBlockNumber)
#define pt_heap_page_prune_opt(scan, buffer) \
	heap_page_prune_opt((scan)->rs_base.rs_rd, buffer, &(scan)->rs_vmbuffer, \
						false)
#define pt_index_fetch_begin(rel) table_index_fetch_begin(rel, SO_NONE)
#define pt_table_hook		build_simple_rel_hook
#endif

static inline void
pt_add_permission_info(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	(void) addRTEPermissionInfo(&query->rteperminfos, rte);
#endif
}

static inline void
pt_sortsupport_from_index(Relation index, bool reverse, SortSupport ssup)
{
#if PG_VERSION_NUM >= 180000
	PrepareSortSupportFromIndexRel(index, reverse, ssup);
#else
	PrepareSortSupportFromIndexRel(index, reverse ? BTGreaterStrategyNumber :
								   BTLessStrategyNumber, ssup);
#endif
}

/*
 * pt_ordering_op_opfamily sets the operator family and input type of a "less"
 * or "greater" operator.  It returns false for other operators.  Since 18
 * get_ordering_op_properties() sets a CompareType, not a strategy number.
 */
static inline bool
pt_ordering_op_opfamily(Oid operator_, Oid *opfamily, Oid *opcintype)
{
#if PG_VERSION_NUM >= 180000
	CompareType comparison;
#else
	int16		comparison;
#endif

	return get_ordering_op_properties(operator_, opfamily, opcintype,
									  &comparison);
}

/*
 * pt_collate_provider returns the provider of a collation.  Before 18 the
 * default collation may have no pg_locale_t if its provider is libc.  Since 19
 * pg_locale_t does not have the provider, so this function reads it from the
 * catalogs.
 */
static inline char
pt_collate_provider(Oid collation)
{
#if PG_VERSION_NUM >= 190000
	bool		database = collation == DEFAULT_COLLATION_OID;
	HeapTuple	tuple = database ?
		SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId)) :
		SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	char		provider;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider = database ?
		((Form_pg_database) GETSTRUCT(tuple))->datlocprovider :
		((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	ReleaseSysCache(tuple);
	return provider;
#else
	pg_locale_t locale = pg_newlocale_from_collation(collation);

	return locale == (pg_locale_t) 0 ? COLLPROVIDER_LIBC : locale->provider;
#endif
}

#define pt_collate_is_libc(collation) \
	(pt_collate_provider(collation) == COLLPROVIDER_LIBC)
#define pt_collate_is_icu(collation) \
	(pt_collate_provider(collation) == COLLPROVIDER_ICU)

/*
 * pt_libc_locale returns the C library's locale for a libc collation.  It
 * returns 0 for the locale set by setlocale(): before 18 the server opens no
 * locale for the database's own collation.
 */
static inline locale_t
pt_libc_locale(Oid collation)
{
	pg_locale_t locale = pg_newlocale_from_collation(collation);

#if PG_VERSION_NUM >= 190000
	return locale->lt;
#else
	return locale == (pg_locale_t) 0 ? (locale_t) 0 : locale->info.lt;
#endif
}

/* Since 17 an extension can name its wait events. */
static inline uint32
pt_wait_event_pause(void)
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("PtsortPause");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/*
 * pt_smgrregistersync requests that the checkpointer fsync all segments of the
 * main fork, which has 'nblocks' blocks.  Returns false if the checkpointer's
 * queue is full; then the caller must fsync these segments.  (Since 17
 * smgrregistersync() fsyncs them itself in this case.  Before 17 a request is
 * for a single segment.)
 */
static inline bool
pt_smgrregistersync(Relation rel, BlockNumber nblocks)
{
#if PG_VERSION_NUM >= 170000
	smgrregistersync(RelationGetSmgr(rel), MAIN_FORKNUM);
#else
	for (BlockNumber seg = 0; seg * (BlockNumber) RELSEG_SIZE < nblocks; seg++)
	{
		FileTag		tag;

		memset(&tag, 0, sizeof(tag));	/* the tag is a hash key */
		tag.handler = SYNC_HANDLER_MD;
		tag.forknum = MAIN_FORKNUM;
		tag.rlocator = rel->rd_locator;
		tag.segno = seg;
		if (!RegisterSyncRequest(&tag, SYNC_REQUEST, false))
			return false;
	}
#endif
	return true;
}

/*
 * True if another storage manager than the server's own (md.c) stores a
 * relation.  Then ptsort must not open its files by their paths.
 */
#define pt_is_elsewhere(rel) \
	(RELKIND_HAS_STORAGE((rel)->rd_rel->relkind) && \
	 RelationGetSmgr(rel)->smgr_which != 0)

/* Stores the first segment's path in 'path', a buffer of MAXPGPATH bytes. */
static inline void
pt_relation_path(Relation rel, char *path)
{
#if PG_VERSION_NUM >= 180000
	strlcpy(path,
			relpathbackend(rel->rd_locator, rel->rd_backend,
						   MAIN_FORKNUM).str, MAXPGPATH);
#else
	char	   *name = relpathbackend(rel->rd_locator, rel->rd_backend,
									  MAIN_FORKNUM);

	strlcpy(path, name, MAXPGPATH);
	pfree(name);
#endif
}

/* pt_page_is_verified returns true if a page is valid, and reports nothing. */
static inline bool
pt_page_is_verified(char *page, BlockNumber block)
{
#if PG_VERSION_NUM >= 180000
	bool		checksum_failed;

	return PageIsVerified((PageData *) page, block, 0, &checksum_failed);
#else
	return PageIsVerifiedExtended(page, block, 0);
#endif
}

/* Count n blocks of a table as read, as ReadBuffer() does in a bulk read. */
static inline void
pt_count_blocks_read(Relation rel, int n)
{
	for (int i = 0; i < n; i++)
		pgstat_count_buffer_read(rel);
	pgBufferUsage.shared_blks_read += n;
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, n,
					   (uint64) n * BLCKSZ);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, n);
#endif
}

/*
 * 19 replaced CLUSTER and VACUUM FULL by REPACK.  REPACK (CONCURRENTLY) copies
 * the rows that a snapshot sees.
 */
#if PG_VERSION_NUM >= 190000
#define PT_COPY_SNAPSHOT_ARGUMENT	Snapshot snapshot,
#define PT_PASS_COPY_SNAPSHOT	snapshot,
#define PT_COPY_SNAPSHOT	snapshot
#else
#define PT_COPY_SNAPSHOT_ARGUMENT
#define PT_PASS_COPY_SNAPSHOT
#define PT_COPY_SNAPSHOT	NULL
#define T_RepackStmt		T_ClusterStmt
#define PROGRESS_REPACK_PHASE PROGRESS_CLUSTER_PHASE
#define PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP \
	PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP
#define PROGRESS_REPACK_PHASE_SORT_TUPLES PROGRESS_CLUSTER_PHASE_SORT_TUPLES
#define PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP \
	PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP
#define PROGRESS_REPACK_TOTAL_HEAP_BLKS PROGRESS_CLUSTER_TOTAL_HEAP_BLKS
#define PROGRESS_REPACK_HEAP_BLKS_SCANNED PROGRESS_CLUSTER_HEAP_BLKS_SCANNED
#define PROGRESS_REPACK_HEAP_TUPLES_SCANNED \
	PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED
#define PROGRESS_REPACK_HEAP_TUPLES_INSERTED \
	PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN
#endif
#define PT_COPY_ARGUMENTS \
	Relation old_heap, Relation new_heap, Relation index, bool use_sort, \
	TransactionId oldest_xmin, PT_COPY_SNAPSHOT_ARGUMENT \
	TransactionId *xid_cutoff, MultiXactId *multi_cutoff, \
	double *num_tuples, double *tups_vacuumed, double *tups_recently_dead
#define PT_PASS_COPY_ARGUMENTS \
	old_heap, new_heap, index, use_sort, oldest_xmin, PT_PASS_COPY_SNAPSHOT \
	xid_cutoff, multi_cutoff, num_tuples, tups_vacuumed, tups_recently_dead

static inline void
pt_call_table_hook(PlannerInfo *root, RangeTblEntry *rte, RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 190000
	build_simple_rel_hook(root, rel, rte);
#else
	get_relation_info_hook(root, rte->relid, rte->inh, rel);
#endif
}

/*
 * pt_build_index_info is BuildIndexInfo() without exclusion constraints.  In 19
 * REPACK (CONCURRENTLY) builds the index of a constraint before the constraint
 * is in the catalogs, so that BuildIndexInfo() would fail in workers.
 */
static inline IndexInfo *
pt_build_index_info(Relation index)
{
#if PG_VERSION_NUM >= 190000
	Form_pg_index form = index->rd_index;
	IndexInfo  *info;

	if (!form->indisexclusion)
		return BuildIndexInfo(index);
	info = makeIndexInfo(form->indnatts, form->indnkeyatts,
						 index->rd_rel->relam,
						 RelationGetIndexExpressions(index),
						 RelationGetIndexPredicate(index),
						 form->indisunique, form->indnullsnotdistinct,
						 form->indisready, false,
						 index->rd_indam->amsummarizing, false);
	for (int i = 0; i < form->indnatts; i++)
		info->ii_IndexAttrNumbers[i] = form->indkey.values[i];
	return info;
#else
	return BuildIndexInfo(index);
#endif
}

/* Returns the table of a CLUSTER or REPACK statement, or NULL: all tables. */
static inline RangeVar *
pt_repack_table(Node *statement)
{
#if PG_VERSION_NUM >= 190000
	VacuumRelation *relation = ((RepackStmt *) statement)->relation;

	return relation == NULL ? NULL : relation->relation;
#else
	return ((ClusterStmt *) statement)->relation;
#endif
}

/*
 * pt_repack_order returns true if the statement copies a table in the order of
 * an index.  *name is the name of that index, or NULL: the one by which the
 * table is clustered.
 */
static inline bool
pt_repack_order(Node *statement, const char **name)
{
#if PG_VERSION_NUM >= 190000
	RepackStmt *repack = (RepackStmt *) statement;

	*name = repack->indexname;
	return repack->usingindex || repack->command == REPACK_COMMAND_CLUSTER;
#else
	*name = ((ClusterStmt *) statement)->indexname;
	return true;
#endif
}

/* Put pg_fallthrough before a case label that the code above falls into. */
#ifndef pg_fallthrough
#define pg_fallthrough __attribute__((fallthrough))
#endif

#endif							/* PTSORT_COMPAT_H */
