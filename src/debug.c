/*-------------------------------------------------------------------------
 *
 * debug.c
 *	  The settings of debug.h, which have no effect unless a test changes them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "debug.h"

DebugSettings ptsort_debug = {
	.key_class = KEY_CLASS_AUTO,
	.collation_rules = -1,
	.learn_tuples = -1,
	.leader_participates = true
};
