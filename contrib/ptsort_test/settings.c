/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  Settings that force a path which a small input does not take.
 *
 * The variables belong to ptsort (src/debug.h), so ptsort reads them without
 * calling this library.  Only superusers may change the settings, which can
 * make a build slow or let it exceed its budget.  A parallel worker has its
 * leader's values: the server loads this library in the worker as well, and
 * then copies all settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "ptsort_test.h"

static const struct config_enum_entry key_classes[] = {
	{"auto", KEY_CLASS_AUTO, false},
	{"prefix", KEY_CLASS_PREFIX, false},
	{"compared", KEY_CLASS_COMPARED, false},
	{NULL, 0, false}
};

/* The boot value is the variable's initial value in ptsort. */
static void
define_bool(const char *name, bool *variable, const char *short_desc,
			const char *long_desc)
{
	DefineCustomBoolVariable(name, short_desc, long_desc, variable, *variable,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

static void
define_int(const char *name, int *variable, int min, int max,
		   const char *short_desc, const char *long_desc)
{
	DefineCustomIntVariable(name, short_desc, long_desc, variable, *variable,
							min, max, PGC_SUSET, GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
}

/* Settings of keys. */
static void
define_key_settings(DebugSettings *s)
{
	DefineCustomEnumVariable("ptsort_test.key_class",
							 "Limits the class of sort keys that ptsort uses.",
							 "\"auto\" means the best class that the columns allow.",
							 &s->key_class, s->key_class, key_classes,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	define_int("ptsort_test.learn_tuples", &s->learn_tuples, -1, INT_MAX,
			   "Sets the minimum number of tuples for a serial sort to learn keys of text.",
			   "-1 means the number from which learning pays.");
	define_bool("ptsort_test.trust_collations", &s->trust_collations,
				"Reads tables of collations as if all their elements had one byte.",
				"When off, ptsort reads them as the C library does.");
	define_int("ptsort_test.collation_rules", &s->collation_rules, -1, INT_MAX,
			   "Sets the number of a collation's rules that new processes read.",
			   "-1 means the number that the C library states; 0 means order by bytes.");
}

/* Settings of scans, runs, merges and workers. */
static void
define_work_settings(DebugSettings *s)
{
	define_int("ptsort_test.spill_entries", &s->spill_entries, 0, INT_MAX,
			   "Makes a participant write a run after this many entries.",
			   "0 means that the participant writes a run when its memory is full.");
	define_int("ptsort_test.merge_order", &s->merge_order, 0, 1024,
			   "Limits the number of runs in one merge.",
			   "0 means the number that memory allows.");
	define_int("ptsort_test.slices", &s->slices, 0, 4096,
			   "Divides the final merge into this many slices, however small.",
			   "0 means several slices for each participant, unless the slices would be too small.");
	define_bool("ptsort_test.leader_participates", &s->leader_participates,
				"Controls whether the leader scans and sorts as well.",
				"When off, the leader scans and sorts only if no worker was launched.");
	define_bool("ptsort_test.all_workers", &s->all_workers,
				"Starts all allowed workers, whether or not they pay.",
				"When off, ptsort starts only workers that make a build faster.");
	define_bool("ptsort_test.server_pages", &s->server_pages,
				"Lets the server's own scan judge every page of the table.",
				"This has no effect on builds with CONCURRENTLY.");
}

/* Settings of forecasts and limits. */
static void
define_other_settings(DebugSettings *s)
{
	define_int("ptsort_test.sample_rows", &s->sample_rows, 0, INT_MAX,
			   "Ends the sample of a forecast after about this many rows.",
			   "0 means the number that a forecast chooses.");
	define_int("ptsort_test.free_kilobytes", &s->free_kilobytes, 0, INT_MAX,
			   "Makes a forecast see this much free space on each file system.",
			   "0 means the true space.");
	define_int("ptsort_test.warn_after_ms", &s->warn_after_ms, 0, INT_MAX,
			   "Sets the milliseconds of a pause for a limit after which a participant warns.",
			   NULL);
}

/* test_settings_init loads ptsort and defines the settings. */
void
test_settings_init(void)
{
	DebugSettings *settings = test_internals()->settings;

	define_key_settings(settings);
	define_work_settings(settings);
	define_other_settings(settings);
}
