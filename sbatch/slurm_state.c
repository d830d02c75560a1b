/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/data/rundir.h"

/**
 * Job states of Slurm.  One that is not listed counts as running, as the last
 * row has it: a state that a later Slurm invents must not read as "the job has
 * ended".
 */
static const struct {
	const char *name;
	enum launch_phase phase;
	bool cut;		/* as launch_state has it */
	const char *says;	/* "job 42 ..." */
	const char *hint;
} states[] = {
	{ .name = "PENDING", .phase = LAUNCH_PENDING, .says = "is pending" },
	{ .name = "CONFIGURING", .phase = LAUNCH_PENDING,
	  .says = "has nodes, which are being prepared" },
	{ .name = "REQUEUED", .phase = LAUNCH_PENDING,
	  .says = "was put back into the queue" },
	{ .name = "REQUEUE_HOLD", .phase = LAUNCH_PENDING,
	  .says = "was put back into the queue and is held",
	  .hint = "release it with scontrol release" },
	{ .name = "SPECIAL_EXIT", .phase = LAUNCH_PENDING,
	  .says = "was put back into the queue and is held" },
	{ .name = "SUSPENDED", .phase = LAUNCH_RUNNING,
	  .says = "is suspended" },
	{ .name = "COMPLETED", .phase = LAUNCH_ENDED, .says = "has ended" },
	{ .name = "FAILED", .phase = LAUNCH_ENDED, .says = "has failed" },
	{ .name = "CANCELLED", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "was cancelled" },
	{ .name = "TIMEOUT", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "reached its time limit",
	  .hint = "ask for more time: -- --time=MINUTES" },
	{ .name = "DEADLINE", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "missed its deadline" },
	{ .name = "NODE_FAIL", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "ended because a node failed",
	  .hint = "sinfo --list-reasons names nodes that are down" },
	{ .name = "BOOT_FAIL", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "ended because a node did not boot",
	  .hint = "sinfo --list-reasons names nodes that are down" },
	{ .name = "OUT_OF_MEMORY", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "ended because it ran out of memory" },
	{ .name = "PREEMPTED", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "was preempted by another job" },
	{ .name = "REVOKED", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "was revoked by another cluster" },
	{ .phase = LAUNCH_RUNNING, .says = "is running" }
};

/** Why jobs wait, where there is something to do about it. */
static const struct {
	const char *reason;	/* what it starts with */
	const char *hint;
} reasons[] = {
	{ "Resources", "the nodes are busy; squeue --start shows until when, "
		       "-N asks for fewer, and --jobs=pairs (p2p, ib) measures "
		       "each two nodes as they get free" },
	{ "Priority", "other jobs have priority; squeue --start shows until "
		      "when" },
	{ "ReqNodeNotAvail", "a requested node is down, drained or reserved: "
			     "sinfo --list-reasons shows why" },
	{ "Nodes_required_for_job_are", "nodes are down, drained or reserved: "
			     "sinfo --list-reasons shows which; -N asks for "
			     "fewer" },
	{ "PartitionNodeLimit", "the partition allows fewer nodes: use -N, or "
				"-- --partition=NAME" },
	{ "PartitionTimeLimit", "the partition allows less time: use "
				"--max-time, or -- --partition=NAME" },
	{ "PartitionDown", "the partition is down: choose another with -- "
			   "--partition=NAME" },
	{ "PartitionInactive", "the partition is inactive: choose another with "
			       "-- --partition=NAME" },
	{ "JobHeld", "the job is held; release it with scontrol release" },
	{ "BadConstraints", "no node matches the request: check -G and the "
			    "options after --" },
	{ "InvalidAccount", "name an account: -- --account=NAME" },
	{ "InvalidQOS", "name a quality of service: -- --qos=NAME" },
	{ "Assoc", "a limit of your account is reached; sacctmgr show assoc "
		   "lists the limits" },
	{ "QOS", "a limit of the quality of service is reached; sacctmgr show "
		 "qos lists the limits" },
	{ 0 }
};

/** Go on with the sentence of @st. */
__attribute__((format(printf, 2, 3)))
static void add(struct launch_state *st, const char *fmt, ...)
{
	const size_t n = strlen(st->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(st->text + n, sizeof(st->text) - n, fmt, ap);
	va_end(ap);
}

/** " (Nodes required for job are DOWN)": Slurm has no blanks in it. */
static void add_reason(struct launch_state *st, const char *before,
		       const char *reason)
{
	const size_t from = strlen(st->text);

	add(st, " (%s%s)", before, reason);
	for (char *at = st->text + from; (at = strchr(at, '_'));) {
		*at = ' ';
	}
}

static bool has_reason(const struct slurm_job *job)
{
	return job->reason[0] && strcmp(job->reason, "None") != 0;
}

static void explain_waiting(const char *reason, struct launch_state *st)
{
	add_reason(st, "", reason);
	for (size_t i = 0; reasons[i].reason; i++) {
		if (str_starts(reason, reasons[i].reason)) {
			STR_COPY(st->hint, reasons[i].hint);
			return;
		}
	}
}

/** One that no node has run keeps the reason for which it waited. */
static bool is_unstarted(const struct slurm_job *job)
{
	return !job->nodes[0] && !job->exit_code && !job->signal;
}

static void explain_end(const struct slurm_job *job, const char *dir,
			struct launch_state *st)
{
	st->exit_code = job->signal ? 128 + job->signal : job->exit_code;
	if (st->cut && is_unstarted(job)) {
		add(st, " before it started");
		if (has_reason(job)) {
			add_reason(st, "pending: ", job->reason);
		}
	} else if (job->exit_code) {
		add(st, " with exit code %d", job->exit_code);
	} else if (job->signal == 53) {
		/* Slurm's own number for "cannot open the output file" */
		add(st, " before it began: its first node cannot write '%s'",
		    RUN_JOB_OUT);
		snprintf(st->hint, sizeof(st->hint),
			 "is '%.200s' on a file system that all nodes share? "
			 "-o chooses another place", dir);
	} else if (job->signal) {
		add(st, " by signal %d", job->signal);
	}
}

/** Slurm tells local time; 0 where it knows none. */
static int64_t seconds_of(const char *local)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *end = strptime(local, "%Y-%m-%dT%H:%M:%S", &tm);
	const time_t at = end && !*end ? mktime(&tm) : 0;

	return at > 0 ? at : 0;
}

/** Its row, which is the last for one that is not listed. */
static size_t find_state(const char *state)
{
	size_t i = 0;

	while (states[i].name && strcmp(states[i].name, state) != 0) {
		i++;
	}
	return i;
}

enum launch_phase slurm_state_phase(const char *state)
{
	return states[find_state(state)].phase;
}

void slurm_state_explain(const char *job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st)
{
	const size_t i = find_state(job->state);

	launch_say(st, states[i].phase, -1, "job %s %s", job_id,
		   states[i].says);
	st->cut = states[i].cut;
	STR_COPY(st->hint, states[i].hint ? states[i].hint : "");
	if (st->phase == LAUNCH_PENDING) {
		if (has_reason(job)) {
			explain_waiting(job->reason, st);
		}
		st->starts_s = seconds_of(job->start);
	} else if (st->phase == LAUNCH_ENDED) {
		explain_end(job, dir, st);
	} else if (job->nodes[0]) {
		add(st, " on %.64s", job->nodes);
	}
}
