/*-------------------------------------------------------------------------
 *
 * internals.h
 *	  Internals of ptsort that ptsort_test tests.
 *
 * ptsort exports one function that returns a table of functions and variables.
 * Only ptsort_test may use this interface, which changes whenever the tests
 * change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_INTERNALS_H
#define PTSORT_INTERNALS_H

#include "debug.h"
#include "ptsort_variant.h"
#include "storage/sharedfileset.h"

/* Maximum number of words of an entry: the key's, and an exact key's tail. */
#define TEST_ENTRY_WORDS	(PTSORT_MAX_WORDS + 1)

/* Maximum size of an index tuple with an exact key. */
#define TEST_KEY_TUPLE_SIZE (16 * (INDEX_MAX_KEYS + 1))

/* A temporary file: a TapeFile of src/tape/tape.h. */
typedef struct TapeFile PtSortTestFile;

typedef struct TestKeyFacts
{
	int			nwords;
	bool		exact;
	bool		learning;
	struct SortSupportData *support;
} TestKeyFacts;

typedef struct PtSortInternals
{
	Size		size;			/* sizeof(PtSortInternals) */
	DebugSettings *settings;	/* src/debug.h */

	/* src/key/key.h */
	struct PtSortKey *(*key_index) (Relation index);
	struct PtSortKey *(*key_operators) (int ncolumns, const Oid *lt_operators,
										const Oid *collations,
										const bool *nulls_first);
	TestKeyFacts (*key_facts) (struct PtSortKey *key);
	void		(*key_words) (struct PtSortKey *key, const Datum *values,
							  const bool *isnull, uint64 *words);

	/*
	 * The key learns from the values whose words the caller computes between
	 * these two calls.  key_begin_learning returns false if the key cannot
	 * learn.
	 */
	bool		(*key_begin_learning) (struct PtSortKey *key);
	void		(*key_learn) (struct PtSortKey *key);

	/* Makes an exact key's index tuple, except for its heap TID. */
	Size		(*key_tuple) (const struct PtSortKey *key, const uint64 *entry,
							  IndexTuple tuple);

	/* The kind of a sort's key, and the number of words; in a new string. */
	char	   *(*describe_key) (const PtSort *sort);

	/*
	 * src/text/text_rank.h: compares two strings by the tables of a
	 * collation; returns false if the tables do not order the strings.
	 */
	bool		(*compare_ranks) (Oid collation, const char *a, int a_length,
								  const char *b, int b_length, int *cmp);

	/* src/sort/shared.h */
	SharedFileSet *(*shared_fileset) (PtSortShared *shared);
	bool		(*shared_stats) (PtSortShared *shared, int participant,
								 PtSortStats *stats);

	/* Makes this process use all collations' tables; see text_rank.h. */
	void		(*trust_collations) (void);

	/* src/tape/tape.h */
	PtSortTestFile *(*file_open) (SharedFileSet *fileset, const char *name,
								  bool create);
	void		(*file_write) (PtSortTestFile *file, const void *data,
							   Size size, int64 offset);
	void		(*file_read) (PtSortTestFile *file, void *data, Size size,
							  int64 offset);
	void		(*file_close) (PtSortTestFile *file);
} PtSortInternals;

/* Type of the exported function, whose name is "ptsort_internals". */
typedef const PtSortInternals *(*PtSortGetInternals) (void);

#endif							/* PTSORT_INTERNALS_H */
