/*-------------------------------------------------------------------------
 *
 * collations.c
 *	  The SQL function ptsort_collation_digest.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fmgr.h"
#include "text/text_digest.h"
#include "utils/builtins.h"

extern PGDLLEXPORT Datum ptsort_collation_digest(PG_FUNCTION_ARGS);

/* Returns the digest of a collation, or NULL. */
PG_FUNCTION_INFO_V1(ptsort_collation_digest);
Datum
ptsort_collation_digest(PG_FUNCTION_ARGS)
{
	char	   *digest = text_digest(PG_GETARG_OID(0));

	if (digest == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(digest));
}
