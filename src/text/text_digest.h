/*-------------------------------------------------------------------------
 *
 * text_digest.h
 *	  Digests of collations by what they mean.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_DIGEST_H
#define PTSORT_TEXT_DIGEST_H

#include "compat.h"

/*
 * text_digest returns a palloc'd digest of a collation, in hexadecimal.  If two
 * collations have the same digest, all strings of the database's encoding
 * compare alike in both.  The collations may belong to different databases, or
 * to different releases of the server, of the C library and of processors.
 * Returns NULL if nothing is proved, or if the collation does not exist or its
 * locale is not installed.
 */
extern char *text_digest(Oid collation);

#endif							/* PTSORT_TEXT_DIGEST_H */
