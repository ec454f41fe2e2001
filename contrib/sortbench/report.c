/*-------------------------------------------------------------------------
 *
 * report.c
 *	  Report the phases and I/O times of this session's last sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "report.h"

PG_FUNCTION_INFO_V1(sortbench_report);

Report		last_report;

/* CPU time of this process so far, in ms. */
static void
cpu_now(double *user, double *system)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	*user = usage.ru_utime.tv_sec * 1000.0 + usage.ru_utime.tv_usec / 1000.0;
	*system = usage.ru_stime.tv_sec * 1000.0 +
		usage.ru_stime.tv_usec / 1000.0;
}

/* diary_end ends a participant's current phase, if any. */
void
diary_end(Diary *diary)
{
	Span	   *span = &diary->spans[diary->phase];
	double		user;
	double		system;

	if (!diary->begun)
		return;
	cpu_now(&user, &system);
	span->end = clock_ms();
	span->user += user;
	span->system += system;
	diary->begun = false;
}

/* diary_launched begins a worker's launch phase, which started at "since". */
void
diary_launched(Diary *diary, double since)
{
	diary->phase = PHASE_LAUNCH;
	diary->spans[PHASE_LAUNCH].happened = true;
	diary->spans[PHASE_LAUNCH].start = since;
	diary->begun = true;
}

/* diary_turn ends the current phase, and begins the given phase. */
void
diary_turn(Diary *diary, Phase phase)
{
	Span	   *span = &diary->spans[phase];
	double		user;
	double		system;

	diary_end(diary);
	cpu_now(&user, &system);
	span->happened = true;
	span->start = clock_ms();
	span->user = -user;
	span->system = -system;
	diary->phase = phase;
	diary->begun = true;
}

/* diary_io adds I/O time and bytes to the current phase. */
void
diary_io(Diary *diary, double ms, int64 bytes)
{
	diary->spans[diary->phase].io += ms;
	diary->spans[diary->phase].bytes += bytes;
}

static void
span_line(ReturnSetInfo *result, int participant, const char *phase,
		  const Span *span)
{
	double		elapsed = span->end - span->start;
	double		cpu = span->user + span->system;
	bool		isnull[10] = {false};
	Datum		values[10] = {
		Int32GetDatum(participant),
		CStringGetTextDatum(phase),
		Float8GetDatum(span->start - last_report.start),
		Float8GetDatum(elapsed),
		Float8GetDatum(span->user),
		Float8GetDatum(span->system),
		Float8GetDatum(elapsed > 0 ? 100 * cpu / elapsed : 0),
		Float8GetDatum(span->io),
		Int64GetDatum(span->bytes),
		Float8GetDatum(elapsed > 0 ? span->bytes / 1000.0 / elapsed : 0)
	};

	tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
}

/* sortbench_report: see the SQL script. */
Datum
sortbench_report(PG_FUNCTION_ARGS)
{
	static const char *const names[PHASES] = {
		"open", "launch", "read", "sort", "write", "end", "close"
	};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < last_report.ndiaries; i++)
	{
		for (int phase = 0; phase < PHASES; phase++)
		{
			const Span *span = &last_report.diaries[i].spans[phase];

			if (span->happened)
				span_line(result, i, names[phase], span);
		}
	}
	return (Datum) 0;
}
