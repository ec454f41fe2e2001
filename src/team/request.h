/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Checks of what a caller requests: numbers, callbacks, parallel work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REQUEST_H
#define PTSORT_REQUEST_H

#include "compat.h"

#include "utils/relcache.h"

/*
 * request_check raises an error if a number is out of range.  'what' names the
 * operation in the message: "index build" or "parallel sort".
 */
extern void request_check(const char *what, int workers, int64 budget,
						  Size arg_size);

/*
 * request_shared_size returns 'size', the result of a callback shared_size, or
 * raises an error if it is out of range.
 */
extern Size request_shared_size(Size size);

/*
 * request_callbacks loads the exported function of a library and returns its
 * result, a table of callbacks.  It raises an error if there is none; 'what'
 * names the operation in the message.
 */
extern const void *request_callbacks(const char *what, const char *library,
									 const char *function);

/* CallbackRule: one callback of such a table. */
typedef struct CallbackRule
{
	const char *name;
	bool		given;
	bool		required;
	bool		forbidden;
} CallbackRule;

/*
 * request_check_callbacks raises an error that names the missing and the
 * forbidden callbacks, if there are any.  Without this check, calling a NULL
 * would crash the process after the scan, perhaps after hours.
 */
extern void request_check_callbacks(const char *library, const char *function,
									const CallbackRule *rules, int n);

/*
 * request_parallel_forbidden returns true if another extension forbids parallel
 * work on this table by its get_relation_info_hook.
 */
extern bool request_parallel_forbidden(Relation table);

#endif							/* PTSORT_REQUEST_H */
