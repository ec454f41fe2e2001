#include "compat.h"

#include "catalog/pg_am_d.h"
#include "check/check.h"
const CheckMethod check_gin = {.am = GIN_AM_OID};
