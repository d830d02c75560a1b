/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"

/* ---- slurm state --------------------------------------------------------- */

/**
 * Job states of Slurm.  One that is not listed counts as running, as the last
 * row has it: a state that a later Slurm invents must not read as "the job has
 * ended".
 */
static const struct {
	const char *name;
	enum launch_phase phase;
	bool cut;		/* as launch_state has it */
	bool node;		/* since a node failed */
	const char *says;	/* "job 42 ..." */
	const char *hint;
} states[] = {
	{ .name = "PENDING", .phase = LAUNCH_PENDING, .says = "is pending" },
	{ .name = "CONFIGURING", .phase = LAUNCH_PENDING,
	  .says = "has nodes, which are being prepared" },
	{ .name = "REQUEUED", .phase = LAUNCH_PENDING,
	  .says = SLURM_REQUEUED },
	{ .name = "REQUEUE_HOLD", .phase = LAUNCH_PENDING,
	  .says = SLURM_REQUEUED " and is held",
	  .hint = "release it with scontrol release" },
	{ .name = "SPECIAL_EXIT", .phase = LAUNCH_PENDING,
	  .says = SLURM_REQUEUED " and is held" },
	{ .name = "SUSPENDED", .phase = LAUNCH_RUNNING,
	  .says = "is suspended" },
	{ .name = "COMPLETED", .phase = LAUNCH_ENDED, .says = "has ended" },
	{ .name = "FAILED", .phase = LAUNCH_ENDED, .says = "has failed" },
	{ .name = "CANCELLED", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "was cancelled" },
	{ .name = "TIMEOUT", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "reached its time limit",
	  .hint = "request more time: -- --time=MINUTES" },
	{ .name = "DEADLINE", .phase = LAUNCH_ENDED, .cut = true,
	  .says = "missed its deadline" },
	{ .name = "NODE_FAIL", .phase = LAUNCH_ENDED, .cut = true,
	  .node = true,
	  .says = "ended because a node failed",
	  .hint = "sinfo --list-reasons names nodes that are down" },
	{ .name = "BOOT_FAIL", .phase = LAUNCH_ENDED, .cut = true,
	  .node = true,
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
				"--time-limit, or -- --partition=NAME" },
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

/** A job with --no-kill loses a node that fails, and goes on; without the node
 *  of its batch script it has nothing left to run.  Its list may be cut. */
static bool lost_first_node(const struct slurm_job *job)
{
	return job->nodes[0] && job->batch_host[0] &&
	       strlen(job->nodes) + 1 < sizeof(job->nodes) &&
	       !hostlist_has(job->nodes, job->batch_host);
}

static void explain_end(const char *job_id, const struct slurm_job *job,
			const char *dir, struct launch_state *st)
{
	st->exit_code = job->signal ? 128 + job->signal : job->exit_code;
	if (lost_first_node(job)) {
		launch_say(st, st->phase, st->exit_code,
			   "job %s lost its first node %s", job_id,
			   job->batch_host);
		st->cut = true;
	} else if (st->cut && !job->nodes[0] && !job->exit_code &&
		   !job->signal) {
		/* no node has run it: it keeps the reason for which it
		 * waited */
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
			 "check that '%.200s' is on a file system that all "
			 "nodes share; choose another directory with -o", dir);
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

int64_t slurm_job_since_ns(void)
{
	const int64_t now = clock_now_ns();
	const char *job = getenv("SLURM_JOB_ID");
	struct str out = STR_INIT;
	struct slurm_job is;
	int64_t age = 0;

	if (slurm_ask("scontrol --oneliner show job", job ? job : "", &out,
		      NULL) == 0 &&
	    slurm_parse_job(str_text(&out), &is, NULL) == 0) {
		age = time(NULL) - seconds_of(is.start);
	}
	str_release(&out);
	return age > 0 && age < now / NS_PER_S ? now - age * NS_PER_S : now;
}

void slurm_state_explain(const char *job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st)
{
	const size_t i = STR_FIND(states, STR_TO_END, name, job->state);
	size_t r = 0;

	launch_say(st, states[i].phase, -1, "job %s %s", job_id,
		   job->restarts > 0 && states[i].phase == LAUNCH_PENDING ?
			   SLURM_REQUEUED : states[i].says);
	st->cut = states[i].cut;
	STR_COPY(st->hint, states[i].hint ? states[i].hint : "");
	if (st->phase == LAUNCH_PENDING) {
		if (has_reason(job)) {
			add_reason(st, "", job->reason);
			while (reasons[r].reason &&
			       !str_starts(job->reason, reasons[r].reason)) {
				r++;
			}
			if (reasons[r].reason) {
				STR_COPY(st->hint, reasons[r].hint);
			}
		}
		st->starts_s = seconds_of(job->start);
	} else if (st->phase == LAUNCH_ENDED) {
		explain_end(job_id, job, dir, st);
	} else if (job->nodes[0]) {
		add(st, " on %.64s", job->nodes);
	}
}

/* ---- slurm standing ------------------------------------------------------ */

enum slurm_standing slurm_parse_standing(const char *text,
					 const struct err *why)
{
	char state[SLURM_STATE_SIZE];
	size_t n, at;

	if (why) {
		return strstr(why->text, "Invalid job id") ? SLURM_JOB_OVER :
							     SLURM_JOB_UNKNOWN;
	}
	text += strspn(text, " \n");
	n = strcspn(text, " \n");
	if (n >= sizeof(state)) {
		return SLURM_JOB_GOES_ON;
	}
	memcpy(state, text, n);
	state[n] = '\0';
	at = STR_FIND(states, STR_TO_END, name, state);
	return !state[0] || states[at].phase == LAUNCH_ENDED ?
		       SLURM_JOB_OVER :
	       strcmp(state, "COMPLETING") == 0 ? SLURM_JOB_ENDS :
						  SLURM_JOB_GOES_ON;
}

enum slurm_standing slurm_job_standing(const char *job)
{
	enum slurm_standing standing;
	struct str out = STR_INIT;
	struct err why = { 0 };
	int rc;

	rc = slurm_ask("squeue --all --noheader --states=all --format=%T "
		       "--jobs", job, &out, &why);
	standing = slurm_parse_standing(str_text(&out), rc < 0 ? &why : NULL);
	str_release(&out);
	return standing;
}

/* ---- slurm lost ---------------------------------------------------------- */

/** With more lost nodes, the nodes are not the question. */
#define LOST_MAX 64

struct lost {
	char nodes[LOST_MAX][SLURM_NODE_SIZE];	/* "" = settled */
	size_t n;
	size_t n_lost;		/* those behind are asked about only because
				 * they are tested again */
	int64_t seq;		/* of the next event */
};

static size_t find_lost(const struct lost *l, const char *name)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->nodes[i], name) != 0) {
		i++;
	}
	return i;
}

static void add_name(struct lost *l, const char *name)
{
	if (find_lost(l, name) == l->n && l->n < LOST_MAX &&
	    slurm_is_node(name)) {
		STR_COPY(l->nodes[l->n++], name);
	}
}

static int take_event(void *arg, const void *row, struct err *e)
{
	const struct event_row *r = row;
	struct lost *l = arg;
	const bool lost = strcmp(r->event, "agent_lost") == 0;
	const size_t i = find_lost(l, r->node);

	(void)e;
	l->seq = r->seq >= l->seq && r->seq < INT64_MAX ? r->seq + 1 : l->seq;
	if (i < l->n && (lost || strcmp(r->event, "slurm_state") == 0)) {
		memmove(l->nodes[i], l->nodes[--l->n], sizeof(*l->nodes));
	}
	if (lost) {
		add_name(l, r->node);
	}
	return RUNDIR_KEEP;
}

static int note(struct lost *l, const char *dir, const char *said,
		struct err *e)
{
	struct slurm_node node;
	struct rundir_table t;
	int rc = rundir_table_open(&t, dir, &schema_events, e);

	/* a node is listed once for each partition that it is in */
	while (rc == 0 && slurm_parse_node(&said, &node)) {
		const size_t i = find_lost(l, node.name);
		const bool retested = i >= l->n_lost;
		struct event_row r;
		const char *why;

		if (i == l->n) {
			continue;
		}
		l->nodes[i][0] = '\0';
		if (retested && !str_starts(node.state, "drain")) {
			continue;
		}
		why = !retested && strchr(node.state, '*') ?
			      "it does not respond to Slurm either" : node.why;
		record_init(&schema_events, &r);
		clock_utc(r.utc);
		r.seq = l->seq++;
		STR_COPY(r.node, node.name);
		STR_COPY(r.event, "slurm_state");
		snprintf(r.detail, sizeof(r.detail), "Slurm has it as %s%s%s",
			 node.state, why[0] ? ": " : "", why);
		rc = rundir_table_add(&t, &r, e);
	}
	rundir_table_close(&t);
	return rc;
}

int slurm_note_lost(const char *dir, struct err *e)
{
	struct str names = STR_INIT, out = STR_INIT;
	struct lost l = { 0 };
	int rc = rundir_table_walk(dir, &schema_events, false, take_event, &l,
				   NULL, e);
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const json_t *parts = run_file(run).retest.parts;

	l.n_lost = l.n;
	/* the nodes that a retest is about may still be drained */
	for (size_t i = 0; i < json_array_size(parts); i++) {
		add_name(&l, run_entry(parts, i).node);
	}
	json_decref(run);
	for (size_t i = 0; i < l.n; i++) {
		str_addf(&names, "%s%s", i > 0 ? "," : "", l.nodes[i]);
	}
	if (rc == 0 && l.n > 0) {
		rc = slurm_ask_nodes(str_text(&names), &out, e) < 0 ||
				     note(&l, dir, str_text(&out), e) < 0 ?
			     -1 : 0;
	}
	str_release(&names);
	str_release(&out);
	return rc;
}

/* ---- slurm blame --------------------------------------------------------- */

#define AGAIN_NS (500 * NS_PER_MS)
/** With more nodes, the nodes are not the question. */
#define NAMES_MAX 100

/** Advice by Slurm's reason. */
static const struct {
	const char *why, *hint;
} causes[] = {
	{ "rolog", "the prolog, a site script that Slurm runs before a job, "
		   "failed there: see slurmd's log" },
	{ "ot responding", "slurmd does not respond there: check that the node "
			   "is up" },
	{ "", "\"sinfo --list-reasons\" shows since when" },
};

bool slurm_blame_parse(const char *text, bool prolog, struct err *e,
		       struct str *names)
{
	struct slurm_node node, first = { 0 };
	char was[sizeof(e->text)];
	size_t i = 0;

	while (slurm_parse_node(&text, &node)) {
		/* a node is listed once for each partition that it is in */
		if (!slurm_state_is_out(node.state) || names->len > NAMES_MAX ||
		    (prolog && !strstr(node.why, causes[0].why)) ||
		    hostlist_has(str_text(names), node.name)) {
			continue;
		}
		first = first.name[0] ? first : node;
		str_addf(names, "%s%s", names->len ? "," : "", node.name);
	}
	if (first.name[0]) {
		while (!strstr(first.why, causes[i].why)) {
			i++;
		}
		snprintf(was, sizeof(was), "%s", e->text);
		err_set(e, e->code, "%.150s: Slurm has %s as %s%s%s", was,
			str_text(names), first.state,
			first.why[0] ? ": " : "", first.why);
		err_hint(e, "%s", causes[i].hint);
	}
	return first.name[0] != '\0';
}

bool slurm_blame(const char *nodes, bool prolog, struct err *e,
		 struct str *names)
{
	bool found = false;

	for (int i = 0; !found && i < 2; i++) {
		struct str out = STR_INIT;

		clock_sleep(i * AGAIN_NS);
		found = slurm_ask_nodes(nodes, &out, NULL) == 0 &&
			slurm_blame_parse(str_text(&out), prolog, e, names);
		str_release(&out);
	}
	return found;
}

bool slurm_blame_prolog(const char *nodes, struct slurm_node *node,
			char says[256])
{
	bool found = false;

	for (int i = 0; !found && i < 2; i++) {
		struct str out = STR_INIT;
		const char *at;

		clock_sleep(i * AGAIN_NS);
		slurm_ask_nodes(nodes, &out, NULL);
		at = str_text(&out);
		while (!found && slurm_parse_node(&at, node)) {
			found = slurm_state_is_out(node->state) &&
				strstr(node->why, causes[0].why);
		}
		str_release(&out);
	}
	snprintf(says, 256, "Slurm has %s as %s: %s", node->name, node->state,
		 node->why);
	return found;
}

bool slurm_blame_lost(const char *nodes, struct launch_state *st)
{
	struct str out = STR_INIT, names = STR_INIT;
	struct slurm_node node;
	const char *at;
	bool found;

	slurm_ask_nodes(nodes, &out, NULL);
	at = str_text(&out);
	while (names.len < NAMES_MAX && slurm_parse_node(&at, &node)) {
		/* a node is listed once for each partition that it is in */
		if (str_starts(node.state, "down") &&
		    !hostlist_has(str_text(&names), node.name)) {
			add(st, "; %s is %s%s%s", node.name, node.state,
			    node.why[0] ? ": " : "", node.why);
			str_addf(&names, "%s%s", names.len ? "," : "",
				 node.name);
		}
	}
	found = names.len > 0;
	str_release(&out);
	str_release(&names);
	return found;
}

void slurm_blame_end(const struct slurm_job *job, struct launch_state *st)
{
	char nodes[sizeof(job->nodes) + sizeof(job->batch_host)];

	if (lost_first_node(job) ||
	    states[STR_FIND(states, STR_TO_END, name, job->state)].node) {
		snprintf(nodes, sizeof(nodes), "%s,%s", job->nodes,
			 job->batch_host);
		slurm_blame_lost(nodes, st);
	}
}

/* ---- a job that waits ---------------------------------------------------- */

#define NAMED_MAX 3

/** How it starts after the repair of @names, which it asks for: where these are
 *  all its nodes, before the job of another user can have them. */
static void add_repair(const char *job_id, const struct slurm_job *job,
		       const char *names, struct str *out)
{
	size_t n = 0;

	hostlist_free(hostlist_expand(job->wanted, &n, NULL), n);
	str_add(out, "; after a repair: \"");
	if ((int64_t)n == job->n_nodes &&
	    !job->wanted[strspn(job->wanted, HOSTLIST_NAME_CHARS "[],")]) {
		str_addf(out, "scontrol create reservation=gpucheck-%s "
			 "nodes=%s users=$USER starttime=now duration=30 "
			 "flags=ignore_jobs && scontrol update jobid=%s "
			 "reservationname=gpucheck-%s && ", job_id,
			 job->wanted, job_id, job_id);
	}
	str_addf(out, "scontrol update nodename=%s state=resume\"", names);
}

bool slurm_blame_waiting_parse(const char *job_id, const struct slurm_job *job,
			       const char *nodes, const char *reservations,
			       struct launch_state *st)
{
	struct str names = STR_INIT, said = STR_INIT;
	struct slurm_node node;
	size_t n = 0, out = 0;
	char by[64];

	while (slurm_parse_node(&nodes, &node)) {
		const bool is_out = slurm_state_is_out(node.state);
		const bool reserved = slurm_parse_reservation(
			reservations, node.name, by, sizeof(by));

		if ((!is_out && !reserved) ||
		    hostlist_has(str_text(&names), node.name)) {
			continue;
		}
		out += is_out;
		str_addf(&names, "%s%s", n ? "," : "", node.name);
		if (n++ < NAMED_MAX) {
			/* "gcn3 (drained: psu)", "gcn4 (reserved by fix)" */
			str_addf(&said, "%s%s (%s%s%s%s%s)",
				 n > 1 ? ", " : "", node.name,
				 is_out ? node.state : "reserved",
				 reserved ? " by " : "", reserved ? by : "",
				 node.why[0] ? ": " : "", node.why);
		}
	}
	if (n > NAMED_MAX) {
		str_addf(&said, " and %zu more", n - NAMED_MAX);
	}
	if (job->wanted[0] && out == n) {
		add_repair(job_id, job, str_text(&names), &said);
	} else if (out < n) {
		str_add(&said, "; \"-- --reservation=NAME\" starts in a "
			"reservation");
	} else {
		str_add(&said, "; -N asks for fewer nodes");
	}
	if (n > 0 && !said.failed && said.len < sizeof(st->hint)) {
		STR_COPY(st->hint, str_text(&said));
	}
	str_release(&names);
	str_release(&said);
	return n > 0;
}

void slurm_blame_waiting(const char *job_id, const struct slurm_job *job,
			 struct launch_state *st)
{
	static const char unavailable[] = "UnavailableNodes:";
	const char *at = strstr(job->reason, unavailable);
	struct str nodes = STR_INIT, reservations = STR_INIT;

	if (!str_starts(job->reason, "ReqNodeNotAvail") &&
	    !str_starts(job->reason, "Nodes_required") &&
	    !str_starts(job->reason, "Reserv")) {
		return;
	}
	at = at && at[sizeof(unavailable) - 1] ?
		     at + sizeof(unavailable) - 1 : job->wanted;
	/* without, none is named */
	slurm_ask("scontrol --oneliner show reservation", NULL, &reservations,
		  NULL);
	if (slurm_ask_nodes(at, &nodes, NULL) == 0) {
		slurm_blame_waiting_parse(job_id, job, str_text(&nodes),
					  str_text(&reservations), st);
	}
	str_release(&nodes);
	str_release(&reservations);
}
