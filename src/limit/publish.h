/*-------------------------------------------------------------------------
 *
 * publish.h
 *	  How other sessions find the work of paced teams.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_PUBLISH_H
#define PTSORT_PUBLISH_H

#include "limit/pace.h"
#include "utils/backend_status.h"

/*
 * publish_visit calls a function for each process of the server that leads
 * paced work now.  The function must not attach or detach the memory.
 */
typedef void (*PublishVisit) (const PgBackendStatus *leader, PaceShared *shared,
							  void *arg);
extern void publish_visit(PublishVisit visit, void *arg);

/*
 * publish_change_limits changes limits of the work whose leader is process
 * 'pid'.  Limits that are negative stay as they are.  Returns false if there is
 * no work of that process, or if the current role does not have the rights of
 * the role of its session.
 */
extern bool publish_change_limits(int pid, const PaceLimits *limits);

#endif							/* PTSORT_PUBLISH_H */
