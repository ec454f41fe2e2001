/*-------------------------------------------------------------------------
 *
 * points.c
 *	  Counts how often processes pass ptsort's named points, and makes
 *	  processes wait for each other.
 *
 *		ptsort_test.turns = 'point[:where] after point[:where][, ...]'
 *
 * Each entry of the setting is a turn.  A process that passes the turn's first
 * point waits until at least one process passed the second point.  So a test
 * decides which participant does the work, independently of the scheduler.
 * Only passes since the launch of workers count, because a build that starts
 * over passes all points again.  A leader without workers does not wait for
 * workers: for example, a validation ends its workers before it inserts rows.
 *
 * Turns work across processes only if the library is in
 * shared_preload_libraries: the counters are in memory that the postmaster's
 * children inherit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "faults.h"

#define MAX_TURNS	4

/* A process that waits longer than this number of ms raises an error. */
#define TURN_TIMEOUT	120000

/* The point after which workers may begin to run. */
#define LAUNCH_POINT	"build: before launch"

/* One of the two points of a turn. */
typedef struct Place
{
	char		point[NAMEDATALEN];
	bool		by[2];			/* by role; true: the role's passes count */
} Place;

typedef struct Turn
{
	Place		waits;
	Place		first;
} Turn;

FaultShared *fault_shared = NULL;

static char *turns_setting = NULL;
static Turn turns[MAX_TURNS];
static int	nturns = 0;

/* Points that this process passed. */
static struct
{
	const char *point;
	int64		hits;
}			passed[MAX_POINTS];
static int	npassed = 0;

PG_FUNCTION_INFO_V1(ptsort_test_points);

/* points_role returns the role of this process in a build. */
FaultRole
points_role(void)
{
	return IsParallelWorker() ? ROLE_WORKER : ROLE_LEADER;
}


/*
 * The setting
 */

/* Reads "point[:where]". */
static bool
parse_place(char *text, Place *place)
{
	char	   *colon = strrchr(text, ':');

	place->by[ROLE_LEADER] = place->by[ROLE_WORKER] = true;
	if (colon != NULL && colon[1] != ' ')
	{
		*colon++ = '\0';
		if (strcmp(colon, "leader") == 0)
			place->by[ROLE_WORKER] = false;
		else if (strcmp(colon, "worker") == 0)
			place->by[ROLE_LEADER] = false;
		else if (strcmp(colon, "any") != 0)
			return false;
	}
	if (text[0] == '\0' || strlen(text) >= NAMEDATALEN)
		return false;
	strcpy(place->point, text);
	return true;
}

/*
 * Splits the setting; returns the number of turns, or -1 if the setting is
 * invalid.
 */
static int
parse_turns(const char *setting, Turn *result)
{
	static const char between[] = " after ";
	int			n = 0;

	while (*setting != '\0')
	{
		char		one[4 * NAMEDATALEN];
		size_t		length = strcspn(setting, ",");
		char	   *second;

		if (n == MAX_TURNS || length >= sizeof(one))
			return -1;
		memcpy(one, setting, length);
		one[length] = '\0';
		/* skip an " after " in a point's own name: "build: after load" */
		second = strstr(one, between);
		while (second > one && second[-1] == ':')
			second = strstr(second + 1, between);
		if (second == NULL)
			return -1;
		*second = '\0';
		second += strlen(between);
		if (!parse_place(one, &result[n].waits) ||
			!parse_place(second, &result[n].first))
			return -1;
		n++;
		setting += length;
		setting += strspn(setting, ", ");
	}
	return n;
}

static bool
check_turns(char **newval, void **extra, GucSource source)
{
	Turn		parsed[MAX_TURNS];

	if (parse_turns(*newval, parsed) >= 0)
		return true;
	GUC_check_errdetail("The format is "
						"point[:where] after point[:where][, ...].");
	return false;
}

static void
assign_turns(const char *newval, void *extra)
{
	nturns = parse_turns(newval, turns);
}


/*
 * Counting
 */

/* Returns the point's counters, or NULL if there is no room. */
static SharedPoint *
find_shared(const char *point)
{
	uint32		hash = hash_bytes((const unsigned char *) point,
								  strlen(point)) | 1;

	for (int i = 0; i < MAX_POINTS; i++)
	{
		SharedPoint *shared = &fault_shared->points[i];
		uint32		found = pg_atomic_read_u32(&shared->hash);

		if (found == 0 &&
			pg_atomic_compare_exchange_u32(&shared->hash, &found, hash))
			found = hash;
		if (found != hash)
			continue;
		strlcpy(shared->name, point, NAMEDATALEN);
		return shared;
	}
	return NULL;
}

static void
forget_recent(void)
{
	for (int i = 0; i < MAX_POINTS; i++)
	{
		pg_atomic_write_u32(&fault_shared->points[i].recent[ROLE_LEADER], 0);
		pg_atomic_write_u32(&fault_shared->points[i].recent[ROLE_WORKER], 0);
	}
}

/* points_reset forgets all passed points. */
void
points_reset(void)
{
	npassed = 0;
	if (IsParallelWorker())
		return;
	pg_atomic_fetch_add_u32(&fault_shared->changes, 1);
	forget_recent();
	for (int i = 0; i < MAX_POINTS; i++)
	{
		pg_atomic_write_u32(&fault_shared->points[i].hits[ROLE_LEADER], 0);
		pg_atomic_write_u32(&fault_shared->points[i].hits[ROLE_WORKER], 0);
	}
}

/*
 * Counts a pass of the point by this process; returns the number of the
 * process's passes of this point.
 */
static int64
count_own(const char *point)
{
	int			i = 0;

	while (i < npassed && strcmp(passed[i].point, point) != 0)
		i++;
	if (i == MAX_POINTS)
		return 0;
	if (i == npassed)
	{
		passed[i].point = point;
		passed[i].hits = 0;
		npassed++;
	}
	return ++passed[i].hits;
}

static bool
has_come(const Place *place)
{
	SharedPoint *shared = find_shared(place->point);

	for (int role = ROLE_LEADER; role <= ROLE_WORKER; role++)
	{
		if (shared && place->by[role] &&
			pg_atomic_read_u32(&shared->recent[role]) > 0)
			return true;
	}
	return false;
}

static void
wait_for(const Place *place)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												  TURN_TIMEOUT);

	/*
	 * If a build fails while the leader registers a worker, the worker may
	 * start after the end of the build.  So a worker looks for changes of
	 * ptsort_test.fault since the launch.
	 */
	uint32		changes = pg_atomic_read_u32(IsParallelWorker() ?
											 &fault_shared->launched :
											 &fault_shared->changes);

	while (!has_come(place))
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_atomic_read_u32(&fault_shared->changes) != changes)
			elog(ERROR, "the build is over");
		if (GetCurrentTimestamp() > end)
			elog(ERROR, "no process came to \"%s\"", place->point);
		pg_usleep(1000L);
	}
}

/*
 * points_pass counts a pass of the point by this process, waits at the point
 * if the setting requires a wait, and returns the number of the process's
 * passes of this point.
 */
int64
points_pass(const char *point)
{
	SharedPoint *shared = find_shared(point);
	int64		hits = count_own(point);
	FaultRole	role = points_role();

	if (strcmp(point, LAUNCH_POINT) == 0)
	{
		forget_recent();
		pg_atomic_write_u32(&fault_shared->launched,
							pg_atomic_read_u32(&fault_shared->changes));
	}
	if (shared)
	{
		pg_atomic_fetch_add_u32(&shared->hits[role], 1);
		pg_atomic_fetch_add_u32(&shared->recent[role], 1);
	}
	for (int i = 0; i < nturns; i++)
	{
		if (role == ROLE_LEADER && !turns[i].first.by[ROLE_LEADER] &&
			!IsInParallelMode())
			continue;
		if (turns[i].waits.by[role] &&
			strcmp(turns[i].waits.point, point) == 0)
			wait_for(&turns[i].first);
	}
	return hits;
}


/*
 * points_init defines the setting and makes the counters.  If the postmaster
 * makes the counters, all processes share them.
 */
void
points_init(void)
{
	void	   *memory = MAP_FAILED;

	if (process_shared_preload_libraries_in_progress)
		memory = mmap(NULL, sizeof(FaultShared), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		memory = calloc(1, sizeof(FaultShared));
	if (memory == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	fault_shared = memory;

	DefineCustomStringVariable("ptsort_test.turns",
							   "Makes processes wait for each other "
							   "at named points.",
							   "The format is "
							   "point[:where] after point[:where][, ...].",
							   &turns_setting, "", PGC_USERSET, 0,
							   check_turns, assign_turns, NULL);
}

/* ptsort_test_points returns the points that at least one process passed. */
Datum
ptsort_test_points(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < MAX_POINTS; i++)
	{
		SharedPoint *shared = &fault_shared->points[i];
		uint32		leader = pg_atomic_read_u32(&shared->hits[ROLE_LEADER]);
		uint32		worker = pg_atomic_read_u32(&shared->hits[ROLE_WORKER]);
		Datum		values[3];
		bool		isnull[3] = {false, false, false};

		if (leader == 0 && worker == 0)
			continue;
		/* a process writes the name before it counts a pass */
		pg_read_barrier();
		values[0] = CStringGetTextDatum(shared->name);
		values[1] = Int64GetDatum(leader);
		values[2] = Int64GetDatum(worker);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 isnull);
	}
	return (Datum) 0;
}
