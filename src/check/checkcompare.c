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

bool
checkcompare_disorder(CheckIndex *self, LinkFault *fault, OffsetNumber offset,
					  BlockNumber other, const char *what)
{
	(void) checkcompare_broken(self, fault, offset, other, what);
	fault->kind = CHECK_OUT_OF_ORDER;
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

bool
checkcompare_follow(CheckIndex *self, BlockNumber block, OffsetNumber offset,
					bool ahead, LinkFault *fault)
{
	CheckPage  *there = self->there;

	fault->what = NULL;
	if (!checkread_has_block(self, block))
		return checkcompare_broken(self, fault, offset, block,
								   "a link points to no page of the index");
	if ((ahead ? checkread_next(self, block, there) :
		 checkread_page(self, block, there)) != NULL)
		return false;
	if (!PageIsNew((Page) there->page))
		return true;
	(void) checkcompare_broken(self, fault, 0, InvalidBlockNumber,
							   "the page is empty, but a link points to it");
	fault->kind = CHECK_BAD_PAGE;
	fault->block = block;
	return false;
}

bool
checkcompare_level(CheckIndex *self, OffsetNumber offset, int *height,
				   LinkFault *fault)
{
	const CheckPage *page = self->there;
	int			level = 0;

	/* damaged links may form a circle */
	for (; !page->is_leaf && level < CHECK_MAX_LEVELS; level++)
	{
		if (checkread_page(self, self->method->child(page, page->first),
						   self->again) != NULL ||
			!self->method->tuples(self, self->again, FirstOffsetNumber, true))
			return true;		/* not known */
		page = self->again;
	}
	if (*height < 0)
		*height = level;
	return (level == *height && page->is_leaf) ||
		checkcompare_broken(self, fault, offset, self->there->block,
							"a link points to a page of another level");
}
