/*-------------------------------------------------------------------------
 *
 * debug.h
 *	  Settings that only ptsort's own tests change, and points at which the
 *	  tests can inject failures.
 *
 * contrib/ptsort_test registers GUCs for the settings, which it reaches by
 * function/api.c.  Parallel workers have the leader's values, because the
 * server loads ptsort_test in workers, too, and copies the GUCs to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_DEBUG_H
#define PTSORT_DEBUG_H

#include "postgres.h"

/* KeyClass: the best class of key that a sort may use. */
typedef enum KeyClass
{
	KEY_CLASS_AUTO,				/* the best that the columns allow */
	KEY_CLASS_PREFIX,			/* a prefix key, but no exact key */
	KEY_CLASS_COMPARED			/* no words: comparison decides everything */
} KeyClass;

/* DebugSettings: a number 0 means off, unless its comment says otherwise. */
typedef struct DebugSettings
{
	int			key_class;		/* enum KeyClass */
	bool		trust_collations;	/* order strings as if each element of a
									 * collation were one character */
	int			collation_rules;	/* number of rules that a process reads
									 * for each collation of the C library;
									 * -1: the true number */
	int			spill_entries;	/* number of entries in an initial run */
	int			merge_order;	/* maximum number of runs in a merge */
	int			slices;			/* number of slices of the final merge, even
								 * if they are small */
	int			learn_tuples;	/* minimum number of tuples for a sort to
								 * learn; -1: it learns if learning pays */
	bool		leader_participates;	/* the leader scans and sorts, too */
	bool		server_pages;	/* let the server judge every page, except in
								 * CONCURRENTLY builds */
	bool		all_workers;	/* start all allowed workers, even if they do
								 * not pay off */
	int			sample_rows;	/* rows that end a forecast's sample */
	int			free_kilobytes; /* free space that ptsort sees */
	int			warn_after_ms;	/* duration of a pause for a limit before a
								 * participant warns */
} DebugSettings;

extern DebugSettings ptsort_debug;

/*
 * FaultHook may raise an error, sleep or kill the process.  It is NULL unless
 * contrib/ptsort_test sets it.
 */
typedef void (*FaultHook) (const char *point);

extern PGDLLEXPORT FaultHook ptsort_fault_hook;

/*
 * fault_point calls the hook, if there is one.  Fault points are only in cold
 * code: once per phase, run or block, never per tuple.
 */
static inline void
fault_point(const char *point)
{
	if (unlikely(ptsort_fault_hook != NULL))
		ptsort_fault_hook(point);
}

#endif							/* PTSORT_DEBUG_H */
