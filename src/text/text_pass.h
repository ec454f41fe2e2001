/*-------------------------------------------------------------------------
 *
 * text_pass.h
 *	  The passes over two strings after the first, by the C library's tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_PASS_H
#define PTSORT_TEXT_PASS_H

#include "text/text_table.h"

/*
 * text_pass_compare orders two strings whose first 'shared' bytes are equal
 * and that the first pass leaves equal; 'cmp' becomes <0 or >0.  Returns false
 * if they are equal, or if it cannot decide.
 */
extern bool text_pass_compare(const CollateProof *proof, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);

#endif							/* PTSORT_TEXT_PASS_H */
