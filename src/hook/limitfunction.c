/*-------------------------------------------------------------------------
 *
 * limitfunction.c
 *	  ptsort_set_limits(): changes the limits of a running build or copy.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fmgr.h"
#include "limit/publish.h"
#include "utils/builtins.h"
#include "utils/guc.h"

extern PGDLLEXPORT Datum ptsort_set_limits(PG_FUNCTION_ARGS);

/* Returns an argument, a number of kB as in a setting, in bytes; -1 if null. */
static int64
get_limit(FunctionCallInfo fcinfo, int n, const char *name)
{
	const char *hint = NULL;
	char	   *value;
	int			result;

	if (PG_ARGISNULL(n))
		return -1;
	value = text_to_cstring(PG_GETARG_TEXT_PP(n));
	if (!parse_int(value, &result, GUC_UNIT_KB, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": \"%s\"", name,
						value),
				 hint == NULL ? 0 : errhint("%s", hint)));
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d kB is outside the valid range for parameter \"%s\" (0 kB .. %d kB)",
						result, name, INT_MAX)));
	return (int64) result * 1024;
}

PG_FUNCTION_INFO_V1(ptsort_set_limits);
Datum
ptsort_set_limits(PG_FUNCTION_ARGS)
{
	PaceLimits	limits = {{
			[PACE_WAL] = get_limit(fcinfo, 1, "max_wal_rate"),
			[PACE_IO] = get_limit(fcinfo, 3, "max_io_rate"),
			[PACE_REPLICAS] = get_limit(fcinfo, 2, "max_replica_lag")
	}};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(publish_change_limits(PG_GETARG_INT32(0), &limits));
}
