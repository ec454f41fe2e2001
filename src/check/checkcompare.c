/*-------------------------------------------------------------------------
 *
 * checkcompare.c
 *	  Compares a page with others, although other sessions write.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"

bool
checkcompare_broken(CheckIndex *self, LinkFault *fault, OffsetNumber offset,
					BlockNumber other, const char *what)
{
	*fault = (LinkFault)
	{
		CHECK_BROKEN_LINK, self->here->block, offset, what, other
	};
	return false;
}

/* If the page changed, the change may explain what the test found. */
void
checkcompare_pages(CheckIndex *self, LinkTest test)
{
	CheckPage  *here = self->here;
	LinkFault	fault;
	int			same = 0;
	int			changes = 0;

	while (same < CHECK_SURE)
	{
		if (test(self, &fault) ||
			checkread_page(self, here->block, self->again) != NULL)
			return;
		if (memcmp(here->page, self->again->page, BLCKSZ) == 0)
			same++;
		else
		{
			if (++changes > CHECK_PATIENCE)
			{
				self->report->undecided++;
				return;
			}
			same = 0;
			memcpy(here->page, self->again->page, BLCKSZ);
			if (!self->method->tuples(self, here, MaxIndexTuplesPerPage, true))
				return;			/* it was deleted meanwhile */
		}
		CHECK_FOR_INTERRUPTS();
		if (same < CHECK_SURE)
			pg_usleep(1000L << same);
	}
	if (fault.what == NULL)
		return;
	if (fault.other == InvalidBlockNumber)
		check_found(self, fault.kind, fault.block, fault.offset, "%s",
					fault.what);
	else
		check_found(self, fault.kind, fault.block, fault.offset,
					"%s (block %u)", fault.what, fault.other);
}
