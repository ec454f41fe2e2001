/*-------------------------------------------------------------------------
 *
 * check.h
 *	  Checks indexes: what the files of this folder share.
 *
 * The participants of a check divide the index by ranges of blocks.  Each page
 * is checked by the participant that reads it: the page itself, and its links
 * to other pages.  What this means depends on the access method (CheckMethod).
 *
 * A check locks the index and the table in AccessShareLock mode, so other
 * transactions change pages during the check.  It works on copies of pages.
 * What it reports follows from three rules, which nbtree, GiST and GIN obey:
 *
 * - A page that a process may read under a buffer lock is sound by itself.  So
 *	 a fault that one copy shows is a fault.
 * - If page P is the same before and after a moment at which another page Q was
 *	 copied, then P had this content at that moment.  A server changes the links
 *	 and keys of neighbours, and of parent and child, while it holds the locks
 *	 of all pages that the change concerns.  So a contradiction between P and Q
 *	 is a fault.  If P changed, the check repeats the comparison
 *	 (checkcompare.c).
 *	 After CHECK_PATIENCE changes, it counts the comparison as undecided.
 * - A split moves tuples to a page to the right, which may be a page that the
 *	 check has read already.  So a check does not conclude from a page that it
 *	 did not find something elsewhere.
 *
 * On a standby, replay may change neighbours one after the other.  So the check
 * repeats a comparison that found a fault before it reports the fault.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_CHECK_H
#define PTSORT_CHECK_H

#include "compat.h"

#include "access/nbtree.h"
#include "key/key.h"
#include "owner.h"
#include "team/pageread.h"
#include "team/team.h"
#include "util.h"

typedef enum CheckKind
{
	CHECK_BAD_PAGE,				/* page or tuple is damaged or unreadable */
	CHECK_OUT_OF_ORDER,			/* tuple precedes an earlier tuple or key */
	CHECK_BROKEN_LINK,			/* links, levels, downlinks, metapage */
	CHECK_DUPLICATE,			/* two rows with equal keys, unique index; row
								 * that conflicts, exclusion constraint */
	CHECK_NO_ROW,				/* entry without a row */
	CHECK_NO_ENTRY,				/* row without an entry */
	NUM_CHECK_KINDS
} CheckKind;

/* CheckFinding: the number of faults of a kind, and the first of them. */
typedef struct CheckFinding
{
	int64		count;
	BlockNumber block;
	OffsetNumber offset;		/* 0: the fault concerns the whole page */
	char		message[2 * NAMEDATALEN];
} CheckFinding;

/* CheckReport: what one participant found; in shared memory. */
typedef struct CheckReport
{
	int64		pages;
	int64		tuples;			/* heap TIDs in leaf pages */
	int64		undecided;		/* comparisons that CHECK_PATIENCE ended */
	int			participants;	/* set in the sum of all reports */
	CheckFinding findings[NUM_CHECK_KINDS];
} CheckReport;

static inline int64
check_problems(const CheckReport *report)
{
	int64		n = 0;

	for (int i = 0; i < NUM_CHECK_KINDS; i++)
		n += report->findings[i].count;
	return n;
}

/*
 * CheckTree: the size of the index and, of a btree, the metapage's content and
 * the edges of the tree at the start of the check, as the leader read them.  A
 * page above the leaves has two children at least, so a tree of at most 2^32
 * blocks has at most 32 levels.
 */
#define CHECK_MAX_LEVELS	((int) (BITS_PER_BYTE * sizeof(BlockNumber)))
typedef struct CheckTree
{
	BlockNumber nblocks;
	BlockNumber root;			/* P_NONE: the tree is empty */
	uint32		level;			/* level of the root */
	bool		heapkeyspace;	/* see nbtree.h */
	bool		allequalimage;	/* see nbtree.h */
	bool		sound;			/* false: the metapage is broken */
	BlockNumber leftmost[CHECK_MAX_LEVELS]; /* by level */
	BlockNumber rightmost[CHECK_MAX_LEVELS];
} CheckTree;

typedef struct CheckColumn
{
	int16		length;			/* attlen */
	bool		byval;
	uint8		alignment;		/* in bytes */
} CheckColumn;

/*
 * CheckPage: a copy of a page and, after CheckMethod.tuples, its tuples: NULL
 * if they are damaged.  In a btree, the value of key column c of the tuple at
 * 'offset' is values[offset * nkeys + c].  The page's memory is larger than a
 * page, so that functions of data types that trust a damaged value read this
 * memory, not another object's.
 */
typedef struct CheckPage
{
	BlockNumber block;
	char	   *page;			/* 'own', or a copy of self->ahead */
	char	   *own;
	bool		is_leaf;
	OffsetNumber first;			/* first tuple that is no high key */
	int			last;			/* last offset number, 0 if none */
	IndexTuple	tuples[MaxIndexTuplesPerPage + 1];
	uint8		nkeys[MaxIndexTuplesPerPage + 1];	/* columns not truncated */
	bool		same[MaxIndexTuplesPerPage + 1];	/* next tuple: equal keys */
	Datum	   *values;
	bool	   *isnull;
} CheckPage;

/* CheckSuspect: an entry that seems to have no row; see checkrows.c. */
typedef struct CheckSuspect
{
	uint64		tid;			/* pt_tid_word() */
	uint64		hash;
	bool		is_double;		/* there are two such entries */
	bool		has_other_row;	/* the TID is that of a row with other keys */
	bool		reported;
	BlockNumber block;			/* where it was seen first */
} CheckSuspect;

/* CheckSuspects: those that one participant found; in shared memory. */
#define MAX_SUSPECTS	(MaxHeapTuplesPerPage * 4)
typedef struct CheckSuspects
{
	int			n;
	int64		dropped;		/* there was no room for these */
	CheckSuspect each[MAX_SUSPECTS];
} CheckSuspects;

/* CheckIndex: one participant's check. */
typedef struct CheckIndex CheckIndex;
typedef void (*CheckStep) (CheckIndex *self);

/*
 * CheckMethod: how to check the indexes of an access method.  Each function but
 * 'begin' and 'page' is optional.
 */
typedef struct CheckMethod
{
	Oid			am;
	Size		special;		/* of a page's special area, in bytes */
	BlockNumber first;			/* first block after the metapage, if any */

	/*
	 * In each process, before anything else: set what depends on the method,
	 * down to 'state'.
	 */
	void		(*begin) (CheckIndex *self);

	/* bytes of self->shared, zeroed, for an index of this size */
	Size		(*shared_size) (BlockNumber nblocks);

	/* In the leader, before the pages: check the metapage, fill self->tree. */
	void		(*begin_pages) (CheckIndex *self, CheckTree *tree);

	/*
	 * Find the tuples of a page that a copy holds, but only those with offset
	 * numbers up to 'most'.  Returns false if the page has none because it is
	 * not in use, or because it is damaged.  If 'quiet' is false, it also
	 * reports all damage.
	 */
	bool		(*tuples) (CheckIndex *self, CheckPage *page, int most,
						   bool quiet);

	/* Check the copy self->here, whose tuples are known. */
	void		(*page) (CheckIndex *self);

	/* The child of a downlink, or InvalidBlockNumber if it is damaged */
	BlockNumber (*child) (const CheckPage *page, OffsetNumber offset);

	/* In the leader, after all processes: look again at what seems wrong. */
	void		(*end) (CheckIndex *self);

	/*
	 * For checkrows.c.  'many' is true if a row has many entries.  'put_row'
	 * puts the values of a row's entries into the sort (checkrows_put).
	 * 'form' forms the entry of a row.  'find' returns true if the index has
	 * this entry, with the same values of all columns and the same TID; if
	 * there are equal values with other hashes, it adds these to self->equal.
	 */
	bool		many;
	void		(*put_row) (CheckIndex *self, uint64 tid, Datum *values,
							bool *isnull);
	IndexTuple	(*form) (CheckIndex *self, Datum *values, bool *isnull);
	bool		(*find) (CheckIndex *self, IndexTuple tuple);
} CheckMethod;

struct CheckIndex
{
	Relation	index;
	Relation	heap;
	const CheckMethod *method;
	TupleDesc	desc;			/* of the tuples in leaves */
	PtSortKey  *key;			/* btree: comparisons of the key columns */
	int			nkeys;			/* btree: columns with CheckPage.values */
	int			ncolumns;
	CheckColumn *columns;		/* those of 'desc' */
	void	   *state;			/* the method's own */
	bool		full;			/* compare all text with the provider */
	bool		catching;		/* true while an error is a finding: functions
								 * of data types read a page's values */
	bool		same_keys;		/* set by check_compare: keys were equal */
	bool		trusted;		/* comparisons raise errors only of kinds that
								 * leave nothing to clean up */
	const CheckTree *tree;
	void	   *shared;			/* the method's shared memory */
	CheckReport *report;
	PtSort	   *sort;			/* entries and rows, or NULL */
	CheckSuspects *suspects;
	IndexInfo  *index_info;		/* set if 'sort' is */
	BufferAccessStrategy strategy;
	OpenSegment segment;
	OpenSegment heap_segment;
	BlockNumber heap_blocks;	/* at the start of this process's check */
	uint8	   *heap_sound;		/* a bit for each: checkread_table read it */
	PageBatch  *ahead;
	MemoryContext scratch;		/* reset after each page */
	CheckPage  *here;			/* the page that is checked */
	CheckPage  *there;			/* a page with which it is compared */
	CheckPage  *again;			/* the first page, read again */
	const struct RowGroup *group;	/* checkrows.c compares it */
	uint64	   *equal;			/* see CheckMethod.find */
	int			nequal;
	CheckSuspect *sought;		/* checkfind.c looks for them; by TID */
	int			nsought;
};

extern const CheckMethod check_btree;
extern const CheckMethod check_gist;
extern const CheckMethod check_gin;

/* Returns an access method's CheckMethod, or NULL if there is none. */
extern const CheckMethod *check_method(Oid am);

/* Number of times to look before it is certain that something is wrong */
#define CHECK_SURE		3
#define CHECK_PATIENCE	(32 * CHECK_SURE)

extern void check_found(CheckIndex *self, CheckKind kind, BlockNumber block,
						OffsetNumber offset, const char *format,...)
			pg_attribute_printf(5, 6);

/*
 * check_guard calls a function, in the memory context self->scratch.  An error
 * while self->catching is set is a finding about the page self->here: a
 * function of a data type did not accept a damaged value.  Such an error leaves
 * nothing to clean up.  check_guard raises all other errors again.
 */
extern void check_guard(CheckIndex *self, CheckStep step);

/*
 * checkread.c: checkread_page copies a block.  It returns NULL, or text that
 * says why the page is not readable.  checkread_ahead reads n blocks ahead, at
 * most PAGEREAD_MOST, with few system calls.  After that, checkread_next is
 * faster than checkread_page.  Its copy may be as old as checkread_ahead's
 * call, and lasts until the next such call.
 *
 * checkread_table returns false if a block of the table is damaged, so that its
 * rows are unknown.  checkread_damaged reports it.  checkread_end closes files.
 */
extern PageBatch *checkread_new_ahead(void);
extern CheckPage *checkread_new_page(int nkeys);
extern const char *checkread_page(CheckIndex *self, BlockNumber block,
								  CheckPage *page);
extern bool checkread_has_block(CheckIndex *self, BlockNumber block);
extern void checkread_ahead(CheckIndex *self, BlockNumber block, int n);
extern const char *checkread_next(CheckIndex *self, BlockNumber block,
								  CheckPage *page);
extern bool checkread_table(CheckIndex *self, BlockNumber block);
extern void checkread_damaged(BlockNumber block, void *check);
extern void checkread_end(CheckIndex *self);

/*
 * checkpage.c: what the pages of all methods have in common.
 * checkpage_has_header returns true if a page's header is sound.  PageScan is a
 * page whose tuples a CheckMethod.tuples looks for.  checkpage_bad reports
 * damage, unless the scan is quiet, and returns false.  checkpage_item returns
 * the tuple of a line pointer, or NULL if the line pointer is damaged.
 * checkpage_overlap reports tuples of the page that begin where another begins,
 * or that have no room beside the others.
 *
 * checkpage_values finds the values of a tuple's first 'n' columns, which must
 * end before 'end'.  It stores the first 'nvalues' of them, and returns where
 * the values end in the tuple, or 0 if they do not fit.
 */
typedef struct PageScan
{
	CheckIndex *self;
	CheckPage  *page;
	bool		quiet;
	Size		max_size;		/* btree: of a tuple with room for a TID */
	Size		max_size_no_tid;	/* btree: of a tuple without */
} PageScan;

extern bool checkpage_has_header(const CheckIndex *self,
								 const CheckPage *page);
extern bool checkpage_bad(const PageScan *scan, OffsetNumber offset,
						  const char *what);
extern IndexTuple checkpage_item(const PageScan *scan, OffsetNumber offset);
extern void checkpage_overlap(const PageScan *scan);
extern Size checkpage_values(const CheckColumn *columns, int n,
							 IndexTuple tuple, Size end, Datum *values,
							 bool *isnull, int nvalues);
extern CheckColumn *checkpage_columns(TupleDesc desc);

/* Unlike BTPageGetOpaque(), this trusts nothing in the header. */
static inline BTPageOpaque
checkpage_opaque(const CheckPage *page)
{
	return (BTPageOpaque) (page->page + BLCKSZ -
						   MAXALIGN(sizeof(BTPageOpaqueData)));
}

static inline bool
checkpage_is_live(const CheckPage *page)
{
	return !PageIsNew((Page) page->page) &&
		!P_IGNORE(checkpage_opaque(page)) && !P_ISMETA(checkpage_opaque(page));
}

/*
 * True if no scan reads the entry at an offset of a leaf.  On a standby, scans
 * do not trust this flag, which the primary set for its own snapshots.
 */
static inline bool
checkpage_is_dead(const CheckPage *page, OffsetNumber offset)
{
	return ItemIdIsDead(PageGetItemId((Page) page->page, offset)) &&
		!GetActiveSnapshot()->takenDuringRecovery;
}

static inline int
checkpage_tids(IndexTuple tuple)
{
	return BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1;
}

static inline bool
checkpage_has_tid(IndexTuple tuple, uint64 tid)
{
	int			n = checkpage_tids(tuple);

	for (int i = 0; i < n; i++)
		if (pt_tid_word(BTreeTupleGetHeapTID(tuple) + i) == tid)
			return true;
	return false;
}

/*
 * checkcompare.c: checkcompare_pages compares self->here with other pages until
 * the result is certain, and reports what is wrong: a test returns false, and
 * what it found.  If 'what' is NULL, nothing is wrong.  checkcompare_broken
 * fills in a fault in a link of self->here, and returns false.
 * checkcompare_disorder does so for keys that are out of order.
 *
 * checkcompare_follow reads a page to which self->here links into self->there,
 * without its tuples.  It returns false if no page can be there, or, with
 * fault->what NULL, if the page is not readable, which the participant that
 * checks it reports.  If 'ahead' is true, the copy may be older than
 * self->here.  checkcompare_level compares the height of self->there above the
 * leaves with *height, or sets this if it is negative.  It is for methods whose
 * pages do not know their level (CheckMethod.child).
 */
typedef struct LinkFault
{
	CheckKind	kind;
	BlockNumber block;
	OffsetNumber offset;
	const char *what;
	BlockNumber other;			/* for the message, or InvalidBlockNumber */
} LinkFault;

typedef bool (*LinkTest) (CheckIndex *self, LinkFault *fault);

extern void checkcompare_pages(CheckIndex *self, LinkTest test);
extern bool checkcompare_follow(CheckIndex *self, BlockNumber block,
								OffsetNumber offset, bool ahead,
								LinkFault *fault);
extern bool checkcompare_level(CheckIndex *self, OffsetNumber offset,
							   int *height, LinkFault *fault);
extern bool checkcompare_broken(CheckIndex *self, LinkFault *fault,
								OffsetNumber offset, BlockNumber other,
								const char *what);
extern bool checkcompare_disorder(CheckIndex *self, LinkFault *fault,
								  OffsetNumber offset, BlockNumber other,
								  const char *what);

/* checkbtree.c: CheckMethod.tuples of a btree. */
extern bool checkbtree_tuples(CheckIndex *self, CheckPage *page, int most,
							  bool quiet);

/*
 * checkorder.c: check_compare orders two tuples: <0, 0 or >0.  Truncated
 * columns are smaller than all values.  Tuples with equal keys are in the order
 * of their heap TIDs: that of a posting list is its first or, for 'a', its
 * last.  If 'full' is false, collations' tables compare text.  check_is_sorted
 * returns true if the tuples are in order; if 'strictly' is true, they must not
 * be equal.
 *
 * checkorder_page checks the order of the tuples of self->here, and sets
 * 'same'. checkunique_page looks for rows with equal keys in self->here, a leaf
 * page of a unique index, and in the leaves to its right.
 */
extern int	check_compare(CheckIndex *self, const CheckPage *a, int i,
						  const CheckPage *b, int j, bool full);
extern bool check_is_sorted(CheckIndex *self, const CheckPage *a, int i,
							const CheckPage *b, int j, bool strictly);
extern void checkorder_page(CheckIndex *self);
extern void checkunique_page(CheckIndex *self);

/*
 * checklinks.c: checklinks_tree reads the metapage and the edges of the tree.
 * checklinks_page checks the links of self->here to other pages.
 */
extern void checklinks_tree(CheckIndex *self, CheckTree *tree);
extern void checklinks_page(CheckIndex *self);

/*
 * checkrows.c: checkrows_begin (TeamKind.begin) begins a sort of entries and
 * rows.  checkrows_put_page (CheckStep) counts the entries of the leaf
 * self->here, and puts them into self->sort, if there is one.
 * checkrows_put_table puts this process's part of the table's rows.
 * checkrows_put puts a record, and checkrows_put_values (CheckMethod.put_row)
 * the values of an entry.  checkrows_compare reads slices of the sort.
 *
 * checkrows_hash returns the hash of the columns of an entry, and
 * checkrows_hash_value adds a value to a hash.  checkrows_has_row returns true
 * if an entry may point to this TID.
 */
extern PtSort *checkrows_begin(Team *team, const PtSortOptions *options);
extern void checkrows_put_page(CheckIndex *self);
extern void checkrows_put_table(CheckIndex *self, Team *team);
extern void checkrows_put(CheckIndex *self, uint64 tid, uint64 hash,
						  bool is_row);
extern void checkrows_put_values(CheckIndex *self, uint64 tid, Datum *values,
								 bool *isnull);
extern void checkrows_compare(CheckIndex *self, Team *team);
extern uint64 checkrows_hash(CheckIndex *self, IndexTuple tuple);
extern uint64 checkrows_hash_value(const CheckColumn *column, Datum datum,
								   bool isnull, uint64 hash);
extern bool checkrows_has_row(CheckIndex *self, uint64 tid);

/*
 * checkfind.c: checkfind_suspects looks for the suspects in all leaf pages, and
 * reports those that are still there.  checkfind_pages calls another step for
 * all pages, if there are suspects.  checkfind_first returns the first suspect
 * with this TID, or NULL; others follow it.
 */
extern void checkfind_suspects(CheckIndex *self);
extern void checkfind_pages(CheckIndex *self, CheckStep step);
extern CheckSuspect *checkfind_first(CheckIndex *self, uint64 tid);

/*
 * checkexclusion.c: checkexclusion_rows looks for rows that violate the
 * exclusion constraint of a sound index.  The participants take blocks of the
 * table from *next.
 */
extern void checkexclusion_rows(CheckIndex *self, pg_atomic_uint32 *next);

/* CheckRequest: how to check an index. */
typedef struct CheckRequest
{
	bool		with_rows;		/* compare entries with the table's rows */
	bool		full;			/* compare all text with the provider */
	int			workers;		/* parallel workers to request */
	int64		budget;			/* bytes, for all participants together */
} CheckRequest;

/*
 * checkindex.c: checkindex_run checks an index with a team of processes, and
 * sets *result to the sum of what the participants found.  The caller locks the
 * index and its table, and pushes an active snapshot.
 */
extern void checkindex_run(Relation heap, Relation index,
						   const CheckRequest *request, CheckReport *result);

/*
 * CheckState: how far the check of an index is.  The states after CHECK_FAILED
 * say why ptsort cannot check the index.
 */
typedef enum CheckState
{
	CHECK_WAITS,
	CHECK_RUNS,
	CHECK_DONE,
	CHECK_FAILED,				/* an error ended the check */
	CHECK_IS_GONE,
	CHECK_IS_FORBIDDEN,			/* the user may not check it */
	CHECK_IS_NO_BTREE,
	CHECK_IS_OTHER_METHOD,
	CHECK_IS_OTHER_TEMP,
	CHECK_IS_ELSEWHERE,			/* the server's own smgr does not store it */
	CHECK_IS_INVALID,
	CHECK_IS_EMPTIED,
	CHECK_IS_TOO_NEW
} CheckState;

/* CheckTarget: an open index and its table; 'caller' checks it. */
typedef struct CheckTarget
{
	Relation	heap;
	Relation	index;
	OwnerSwitch caller;
} CheckTarget;

/* CheckUse: what a function reads. */
typedef enum CheckUse
{
	CHECK_USES_INDEX = false,	/* as CheckRequest.with_rows */
	CHECK_USES_BOTH = true,
	CHECK_USES_TABLE			/* the index may have only a definition */
} CheckUse;

/*
 * checkone.c: checkone_open locks and opens an index and its table for a check,
 * and begins to run as the table's owner.  It returns CHECK_RUNS, or a state
 * that says why the check is not possible; then it leaves nothing open.
 * checkone_close returns to the caller's rights, closes both, and releases the
 * locks.  checkone_run checks the index (checkindex_run), and reports progress.
 *
 * checkone_reason returns the text that explains a state after CHECK_FAILED,
 * and sets *sqlstate to the code of an error for it.  checkone_exists raises
 * that error, except for CHECK_IS_GONE: then it returns false.
 */
extern CheckState checkone_open(Oid index_id, CheckUse use,
								CheckTarget *target);
extern void checkone_close(CheckTarget *target);
extern const char *checkone_reason(CheckState state, int *sqlstate);
extern bool checkone_exists(Oid index_id, CheckState state);
extern void checkone_run(const CheckTarget *target,
						 const CheckRequest *request, CheckReport *report);

/*
 * CheckSlot: the check of one of many indexes.  'report' is the result in state
 * CHECK_DONE; in state CHECK_FAILED the first message is that of the error.
 */
typedef struct CheckSlot
{
	Oid			index_id;
	pg_atomic_uint32 state;		/* enum CheckState */
	double		ms;				/* duration of the check */
	CheckReport report;
} CheckSlot;

/*
 * checkmany.c: checkmany_slot prepares the check of an index.  checkmany_run
 * checks the indexes of n slots with one team; request->workers and
 * request->budget are those of the team.  The functions that the checks call
 * must be parallel safe, and no table temporary.  It finishes all slots: an
 * error ends the check of one index, unless it is a cancel request or a
 * shutdown, or was not raised by a check.
 *
 * checkmany_guard calls a function in the same way: in a subtransaction.  It
 * returns true, or false with the slot in state CHECK_FAILED.
 */
typedef void (*CheckManyStep) (void *arg);
extern void checkmany_slot(CheckSlot *slot, Oid index_id);
extern void checkmany_run(CheckSlot *slots, int n,
						  const CheckRequest *request);
extern bool checkmany_guard(CheckManyStep step, void *arg, CheckSlot *slot);

#endif							/* PTSORT_CHECK_H */
