/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_blame.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/hostlist.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

#define AGAIN_NS (500 * NS_PER_MS)
/** Of more it is not these that are the question. */
#define NAMES_MAX 100

/** What somebody has to look at, by what Slurm says. */
static const struct {
	const char *why, *hint;
} causes[] = {
	{ "rolog", "the prolog, a script of the site that Slurm runs before a "
		   "job, failed there: slurmd's log has its words" },
	{ "ot responding", "slurmd does not answer there: is the node up?" },
	{ "", "\"sinfo --list-reasons\" tells since when" },
};

bool slurm_blame_parse(const char *text, struct err *e)
{
	struct slurm_node node, first = { 0 };
	struct str names = STR_INIT;
	char was[sizeof(e->text)];
	size_t i = 0;

	while (slurm_parse_node(&text, &node)) {
		/* a node stands there once for each partition that it is in */
		if (!slurm_state_is_out(node.state) || names.len > NAMES_MAX ||
		    hostlist_has(str_text(&names), node.name)) {
			continue;
		}
		first = first.name[0] ? first : node;
		str_addf(&names, "%s%s", names.len ? "," : "", node.name);
	}
	if (first.name[0]) {
		while (!strstr(first.why, causes[i].why)) {
			i++;
		}
		snprintf(was, sizeof(was), "%s", e->text);
		err_set(e, e->code, "%.150s: Slurm has %s as %s%s%s", was,
			str_text(&names), first.state,
			first.why[0] ? ": " : "", first.why);
		err_hint(e, "%s; -x %s does without", causes[i].hint,
			 str_text(&names));
	}
	str_release(&names);
	return first.name[0] != '\0';
}

bool slurm_blame(const char *nodes, struct err *e)
{
	bool found = false;

	for (int i = 0; !found && i < 2; i++) {
		struct str out = STR_INIT;

		clock_sleep(i * AGAIN_NS);
		found = slurm_ask_nodes(nodes, &out, NULL) == 0 &&
			slurm_blame_parse(str_text(&out), e);
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

/* ---- a job that waits ---------------------------------------------------- */

#define NAMED_MAX 3

/** "gcn3 (drained: psu)", "gcn4 (reserved by fix)". */
static void add_node(const struct slurm_node *node, const char *reservations,
		     struct str *out)
{
	char name[64];

	const bool reserved = slurm_parse_reservation(reservations, node->name,
						      name, sizeof(name));

	str_addf(out, "%s (%s%s%s%s%s)", node->name,
		 slurm_state_is_out(node->state) ? node->state : "reserved",
		 reserved ? " by " : "", reserved ? name : "",
		 node->why[0] ? ": " : "", node->why);
}

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
	char name[64];

	while (slurm_parse_node(&nodes, &node)) {
		const bool is_out = slurm_state_is_out(node.state);

		if ((!is_out &&
		     !slurm_parse_reservation(reservations, node.name, name,
					      sizeof(name))) ||
		    hostlist_has(str_text(&names), node.name)) {
			continue;
		}
		out += is_out;
		str_addf(&names, "%s%s", n ? "," : "", node.name);
		if (n++ < NAMED_MAX) {
			str_add(&said, n > 1 ? ", " : "");
			add_node(&node, reservations, &said);
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
	struct args a = { 0 };

	if (!str_starts(job->reason, "ReqNodeNotAvail") &&
	    !str_starts(job->reason, "Nodes_required") &&
	    !str_starts(job->reason, "Reserv")) {
		return;
	}
	at = at && at[sizeof(unavailable) - 1] ?
		     at + sizeof(unavailable) - 1 : job->wanted;
	args_words(&a, "scontrol --oneliner show reservation");
	slurm_ask(&a, &reservations, NULL);	/* without, none is named */
	if (slurm_ask_nodes(at, &nodes, NULL) == 0) {
		slurm_blame_waiting_parse(job_id, job, str_text(&nodes),
					  str_text(&reservations), st);
	}
	str_release(&nodes);
	str_release(&reservations);
}
