/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  ptsort_test.fault: makes things go wrong at ptsort's named points.
 *
 *		ptsort_test.fault = 'point[:nth[:action[:where]]][, ...]'
 *		ptsort_test.fault = 'run: write:2:kill:worker'
 *
 * A colon before a space belongs to the point's name.
 *
 * The nth time (default 1) that a process passes the point, the process does
 * the action:
 *
 *		error	raises an error (the default)
 *		fatal	raises a FATAL error
 *		sleep	waits for a cancel request, at most ten minutes
 *		pause	waits while another session holds advisory lock 1
 *		deaf	waits for a request to end the process, at most a minute, then
 *				goes on for a moment as if there was none
 *		timeout	makes the statement time out at once, and goes on
 *		cancel	cancels itself, as pg_cancel_backend() does, and goes on
 *		terminate	terminates itself, as pg_terminate_backend() does
 *		kill	kills itself with SIGKILL
 *		stop	stops the server at once (SIGQUIT), and waits until it ends
 *		palloc	makes an allocation after the point fail (memory.c)
 *		malloc	makes an allocation in the C library fail
 *		full_temp, full_index, full_wal, full_segment, full_file
 *				until the setting changes, leaves no disk space (full.c) for
 *				temporary files, relations outside the default tablespace,
 *				WAL, dynamic shared memory, or files without a name
 *		no_fork	makes the next MAX_WORKERS forks fail
 *		no_start	makes the next MAX_WORKERS processes die after the fork
 *
 * "where" is any (the default), leader or worker.  Parallel workers load this
 * library and inherit the setting from their leader.  The actions malloc,
 * full_... and no_... need shortage.c and need this library in
 * shared_preload_libraries.
 *
 * A process that waits shows "at POINT" as its application_name, so that a test
 * can wait for the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timeout.h"

#include "faults.h"
#include "ptsort_test.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(ptsort_test_faults);
PG_FUNCTION_INFO_V1(ptsort_test_point);

#define MAX_FAULTS	4

/* Number of processes that no_fork and no_start affect: a build's workers. */
#define MAX_WORKERS	2

/* The points that end a build, a model test, or another test. */
static const char *const end_points[] = {
	"ambuild: end", MODEL_END_POINT, "test: end"
};

/* pg_advisory_lock(1) */
#define PAUSE_LOCK	1

typedef enum FaultAction
{
	FAULT_ERROR,
	FAULT_FATAL,
	FAULT_SLEEP,
	FAULT_PAUSE,
	FAULT_DEAF,
	FAULT_TIMEOUT,
	FAULT_CANCEL,
	FAULT_TERMINATE,
	FAULT_KILL,
	FAULT_STOP,
	FAULT_PALLOC,
	FAULT_MALLOC,
	FAULT_FULL_TEMP,
	FAULT_FULL_INDEX,
	FAULT_FULL_WAL,
	FAULT_FULL_SEGMENT,
	FAULT_FULL_FILE,
	FAULT_NO_FORK,
	FAULT_NO_START
} FaultAction;

typedef enum FaultWhere
{
	FAULT_ANY,
	FAULT_LEADER,
	FAULT_WORKER
} FaultWhere;

typedef struct Fault
{
	char		point[NAMEDATALEN];
	int			nth;
	FaultAction action;
	FaultWhere	where;
} Fault;

static const char *const action_names[] = {
	"error", "fatal", "sleep", "pause", "deaf", "timeout", "cancel",
	"terminate", "kill", "stop", "palloc", "malloc", "full_temp", "full_index", "full_wal",
	"full_segment", "full_file", "no_fork", "no_start", NULL
};
static const char *const where_names[] = {"any", "leader", "worker", NULL};

static char *fault_setting = NULL;
static Fault current_faults[MAX_FAULTS];
static int	ncurrent = 0;

static int
find_name(const char *const *names, const char *name)
{
	for (int i = 0; names[i] != NULL; i++)
	{
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/* Returns the length of the first part of the setting. */
static size_t
part_length(const char *setting)
{
	size_t		length = strcspn(setting, ":");

	while (setting[length] == ':' && setting[length + 1] == ' ')
		length += 1 + strcspn(setting + length + 1, ":");
	return length;
}

/* Splits one fault into its parts; returns false if the fault is invalid. */
static bool
parse_fault(const char *setting, Fault *fault)
{
	char		part[4][NAMEDATALEN] = {"", "1", "error", "any"};
	int			nparts = 0;
	int			action;
	int			where;

	while (*setting != '\0')
	{
		size_t		length = part_length(setting);

		if (nparts == 4 || length >= NAMEDATALEN)
			return false;
		memcpy(part[nparts], setting, length);
		part[nparts++][length] = '\0';
		setting += length;
		if (*setting == ':')
			setting++;
	}

	action = find_name(action_names, part[2]);
	where = find_name(where_names, part[3]);
	if (atoi(part[1]) < 1 || action < 0 || where < 0)
		return false;
	strcpy(fault->point, part[0]);
	fault->nth = atoi(part[1]);
	fault->action = (FaultAction) action;
	fault->where = (FaultWhere) where;
	return true;
}

/*
 * Splits the setting; returns the number of faults, or -1 if the setting is
 * invalid.
 */
static int
parse_faults(const char *setting, Fault *faults)
{
	int			n = 0;

	while (*setting != '\0')
	{
		char		one[4 * NAMEDATALEN];
		size_t		length = strcspn(setting, ",");

		if (n == MAX_FAULTS || length >= sizeof(one))
			return -1;
		memcpy(one, setting, length);
		one[length] = '\0';
		if (!parse_fault(one, &faults[n++]))
			return -1;
		setting += length;
		setting += strspn(setting, ", ");
	}
	return n;
}

static bool
check_fault(char **newval, void **extra, GucSource source)
{
	Fault		faults[MAX_FAULTS];

	if (parse_faults(*newval, faults) >= 0)
		return true;
	GUC_check_errdetail("The format is point[:nth[:action[:where]]].");
	return false;
}

static void
assign_fault(const char *newval, void *extra)
{
	ncurrent = parse_faults(newval, current_faults);
	points_reset();
	if (points_role() != ROLE_LEADER)
		return;
	memory_disarm();
	pg_atomic_write_u32(&fault_shared->full, 0);
	pg_atomic_write_u32(&fault_shared->half, 0);
	pg_atomic_write_u32(&fault_shared->forks, 0);
	pg_atomic_write_u32(&fault_shared->deaths, 0);
	pg_atomic_write_u32(&fault_shared->allocations, 0);
	pg_atomic_write_u32(&fault_shared->acted, 0);
	pg_atomic_write_u32(&fault_shared->failed, 0);
}

/* Waits 'tenths' tenths of a second; serves interrupts meanwhile. */
static void
wait_a_while(int tenths)
{
	while (tenths-- > 0)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(100000L);
	}
}

/* Waits for a request to end this process, and half a second longer. */
static void
wait_for_request(void)
{
	for (int tenths = 600; !ProcDiePending && tenths > 0; tenths--)
		pg_usleep(100000L);
	for (int tenths = 5; tenths > 0; tenths--)
		pg_usleep(100000L);
}

/* Waits until the session that holds PAUSE_LOCK releases it. */
static void
wait_for_lock(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, PAUSE_LOCK, 1);
	(void) LockAcquire(&tag, ShareLock, false, false);
	(void) LockRelease(&tag, ShareLock, false);
}

static void
show_point(const char *point)
{
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), "at %s", point);
	pgstat_report_appname(name);
}

/* Immediately raises an error, ends the process or waits. */
static void
interrupt(FaultAction action, const char *point)
{
	switch (action)
	{
		case FAULT_ERROR:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("injected error at \"%s\"", point)));
			break;
		case FAULT_FATAL:
			ereport(FATAL,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("injected exit at \"%s\"", point)));
			break;
		case FAULT_SLEEP:
			show_point(point);
			wait_a_while(6000);
			break;
		case FAULT_PAUSE:
			show_point(point);
			wait_for_lock();
			pgstat_report_appname(application_name);
			break;
		case FAULT_DEAF:
			show_point(point);
			wait_for_request();
			break;
		case FAULT_TIMEOUT:
			enable_timeout_after(STATEMENT_TIMEOUT, 1);
			break;
		case FAULT_CANCEL:
			kill(MyProcPid, SIGINT);
			break;
		case FAULT_TERMINATE:
			kill(MyProcPid, SIGTERM);
			break;
		case FAULT_KILL:
			kill(MyProcPid, SIGKILL);
			break;
		case FAULT_STOP:
			kill(PostmasterPid, SIGQUIT);
			wait_a_while(6000);
			break;
		default:
			break;
	}
}

/* Makes later allocations, writes, forks or new processes fail. */
static void
make_scarce(FaultAction action)
{
	FullSpace	full = 0;

	switch (action)
	{
		case FAULT_PALLOC:
			memory_arm(MEMORY_PALLOC);
			break;
		case FAULT_MALLOC:
			memory_arm(MEMORY_MALLOC);
			break;
		case FAULT_FULL_TEMP:
			full = FULL_TEMP;
			break;
		case FAULT_FULL_INDEX:
			full = FULL_INDEX;
			break;
		case FAULT_FULL_WAL:
			full = FULL_WAL;
			break;
		case FAULT_FULL_SEGMENT:
			full = FULL_SEGMENT;
			break;
		case FAULT_FULL_FILE:
			full = FULL_FILE;
			break;
		case FAULT_NO_FORK:
			pg_atomic_write_u32(&fault_shared->forks, MAX_WORKERS);
			break;
		case FAULT_NO_START:
			pg_atomic_write_u32(&fault_shared->deaths, MAX_WORKERS);
			break;
		default:
			break;
	}
	if (full != 0)
	{
		/*
		 * Do not cut a write to a segment short: the server would report
		 * errno, which a short write does not set.
		 */
		pg_atomic_write_u32(&fault_shared->half, full != FULL_SEGMENT);
		pg_atomic_fetch_or_u32(&fault_shared->full, full);
	}
}

static void
fault_hook(const char *point)
{
	int64		hits = points_pass(point);

	for (int i = 0; i < lengthof(end_points); i++)
	{
		if (strcmp(point, end_points[i]) == 0)
			memory_disarm();
	}
	test_memory_look(point);
	for (int i = 0; i < ncurrent; i++)
	{
		const Fault *fault = &current_faults[i];

		if (hits != fault->nth || strcmp(point, fault->point) != 0)
			continue;
		if (fault->where != FAULT_ANY &&
			(fault->where == FAULT_LEADER) != (points_role() == ROLE_LEADER))
			continue;
		pg_atomic_fetch_add_u32(&fault_shared->acted, 1);
		make_scarce(fault->action);
		interrupt(fault->action, point);
	}
}

/* test_point passes a point of a test. */
void
test_point(const char *point)
{
	fault_hook(point);
}

/* ptsort_test_point passes a point named by the caller. */
Datum
ptsort_test_point(PG_FUNCTION_ARGS)
{
	test_point(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/* _PG_init defines the settings and installs ptsort's hook. */
void
_PG_init(void)
{
	void		(**hook) (const char *point);

	test_settings_init();		/* loads ptsort */
	points_init();
	memory_init();
	full_init();
	DefineCustomStringVariable("ptsort_test.fault",
							   "Makes something go wrong at a named point.",
							   "The format is "
							   "point[:nth[:action[:where]]][, ...].",
							   &fault_setting, "", PGC_USERSET, 0,
							   check_fault, assign_fault, NULL);
	test_memory_init();
	MarkGUCPrefixReserved("ptsort_test");

	hook = (void (**) (const char *))
		load_external_function("$libdir/ptsort", "ptsort_fault_hook", true,
							   NULL);
	*hook = fault_hook;
	test_tableam_init();
}

/*
 * ptsort_test_faults returns the number of faults that acted, and the number
 * of calls that failed because of a fault, in all processes since the setting
 * changed.
 */
Datum
ptsort_test_faults(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2];
	bool		isnull[2] = {false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(pg_atomic_read_u32(&fault_shared->acted));
	values[1] = Int64GetDatum(pg_atomic_read_u32(&fault_shared->failed));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}
