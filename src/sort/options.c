/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Checks of the options that a caller sets for a sort.
 *
 * A wrong option would otherwise cause a wrong result or an endless wait, far
 * from the mistake, so everything that can be checked at begin is checked at
 * begin.  (shared.c checks the numbers of participants against each other.)
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/options.h"

/* True if this is the process that waits for the others' runs. */
static bool
is_leader(const PtSortOptions *options)
{
	return options->role == PTSORT_LEADER ||
		options->role == PTSORT_SLICE_LEADER;
}

/* Check the options that the role needs or excludes. */
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
	if (options->role != PTSORT_SERIAL && options->bound > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have a bound")));
	if (options->role != PTSORT_SERIAL && options->random_access)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parallel sort cannot have random access")));
}

/* Raise an error for a negative size, which an overflow may have caused. */
static void
check_size(int64 size, const char *what, const char *hint)
{
	if (size < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of sort must not be negative", what),
				 errdetail("It is " INT64_FORMAT ".", size),
				 errhint("%s", hint)));
}

/* Check the options that any role may have. */
static void
check_sizes(const PtSortOptions *options)
{
	check_size(options->budget, "budget",
			   "Set PtSortOptions.budget to a number of bytes.");
	check_size(options->expected_tuples, "expected number of tuples",
			   "Set PtSortOptions.expected_tuples to 0 if it is unknown.");
	check_size(options->bound, "bound",
			   "Set PtSortOptions.bound to 0 if all tuples are wanted.");
}

/* Check that the variant has the callbacks that its kind of images needs. */
static void
check_variant(const PtSortVariant *variant)
{
	const char *problem = NULL;

	if (variant->inline_image)
	{
		if (variant->size || variant->compare || variant->same_slice)
			problem = "Images that are inline have no callbacks.";
	}
	else if (variant->size == NULL && variant->compare == NULL)
		problem = "The callbacks size and compare are missing.";
	else if (variant->size == NULL)
		problem = "The callback size is missing.";
	else if (variant->compare == NULL)
		problem = "The callback compare is missing.";
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot sort tuples of variant \"%s\"",
						variant->name),
				 errdetail_internal("%s", problem)));
}

/* options_check: see options.h. */
void
options_check(const PtSortVariant *variant, const SortOptions *options,
			  int nwords)
{
	if (nwords < 0 || nwords > PTSORT_MAX_WORDS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sort key cannot have %d words", nwords),
				 errdetail("A sort key has at most %d words.",
						   PTSORT_MAX_WORDS)));
	check_variant(variant);
	if (variant->inline_image && nwords == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sort of inline images must have a sort key")));
	check_role(&options->options);
	check_sizes(&options->options);
}
