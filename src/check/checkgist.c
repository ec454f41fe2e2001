#include "compat.h"

#include "catalog/pg_am_d.h"
#include "check/check.h"
const CheckMethod check_gist = {.am = GIST_AM_OID};
