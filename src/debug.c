/*-------------------------------------------------------------------------
 *
 * debug.c
 *	  The variables of debug.h.  Only tests change them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"

DebugSettings ptsort_debug = {
	.key_class = KEY_CLASS_AUTO,
	.collation_rules = -1,
	.learn_tuples = -1,
	.leader_participates = true,
	.warn_after_ms = 60 * 1000
};

FaultHook	ptsort_fault_hook = NULL;
