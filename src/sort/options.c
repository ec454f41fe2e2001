/*-------------------------------------------------------------------------
 *
 * options.c
 *	  What a caller may ask of a sort.
 *
 * A mistake here would otherwise be a wrong result or a wait without end, both
 * far from where it was made; so all that can be known at begin is checked at
 * begin.  (shared.c checks the numbers of participants against each other.)
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/options.h"

/* Is this the process that waits for the others' runs? */
static bool
is_leader(const PtSortOptions *options)
{
	return options->role == PTSORT_LEADER ||
		options->role == PTSORT_SLICE_LEADER;
}

/* What a parallel sort needs, each role other things. */
static void
check_role(const PtSortOptions *options)
{
	if ((int) options->role < PTSORT_SERIAL || options->role > PTSORT_SLICE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized role of sort: %d", (int) options->role)));
	if (options->role != PTSORT_SERIAL && options->shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort needs a shared block"),
				 errhint("Set PtSortOptions.shared to a block that this process has attached.")));
	if (is_leader(options) && options->participants < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("leader of parallel sort must know the number of participants"),
				 errhint("Set PtSortOptions.participants to the number of sorts of role PTSORT_WORKER.")));
	if (!is_leader(options) && options->participants != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only the leader of a parallel sort can name the number of participants"),
				 errhint("Set PtSortOptions.participants in the roles PTSORT_LEADER and PTSORT_SLICE_LEADER only.")));
	if (options->role != PTSORT_SERIAL && options->random_access)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have random access")));
}

/* options_check: see options.h. */
void
options_check(const PtSortVariant *variant, const PtSortOptions *options,
			  int nwords)
{
	if (nwords < 0 || nwords > PTSORT_MAX_WORDS)
		elog(ERROR, "a sort key cannot have %d words", nwords);
	if (variant->inline_image && (nwords == 0 || options->random_access))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a sort of inline images needs words and has no random access")));
	check_role(options);
	if (options->optimistic && options->random_access)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a sort with random access cannot be optimistic")));
}
