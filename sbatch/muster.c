/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/srun_step.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"

#define LOG	    RUN_LOGS "/muster.txt"
/** Time that a node may need to import an image. */
#define IMAGE_NS    (60 * NS_PER_S)
/** A line for each node. */
#define TEXT_MAX    (16 << 20)
/** After as many steps that Slurm ended, the agents' own has to tell. */
#define ROUNDS	    4
/** From TERM to KILL. */
#define END_NS	    (2 * NS_PER_S)
/** After a prolog has failed slurmd cancels the job, which --no-requeue keeps
 *  out of the queue; time until that signal arrives.  What began before would
 *  be lost. */
#define CANCEL_NS   (5 * NS_PER_S)
/** Slurm's name of the step. */
#define STEP_NAME   "gpucheck-muster"

/* ---- what srun says ------------------------------------------------------ */

#define JOB_PROLOG "job_prolog"

/**
 * Lines about a node that cannot start a program: its name, or a list, is
 * between the first two texts, and the line has the third; the codes are those
 * of data/symptoms.ini.  The first row that fits counts.
 */
static const struct {
	const char *before, *after, *has, *code;
} words[] = {
	{ " failed on node ", ": ", "rolog", JOB_PROLOG },
	{ " failed on node ", ": ", "redential", "job_credential" },
	{ " failed on node ", ": ", "", "task_launch_failed" },
	{ "slurmstepd-", ": error: execve(): ", "", "program_not_started" },
	/* a program that is there, and whose loader or libraries are not */
	{ "srun: error: ", ": task", ": Exited with exit code 126",
	  "program_not_started" },
	{ "srun: error: ", ": task", ": Exited with exit code 127",
	  "program_not_started" },
};

/** @line says @code of the nodes in @list. */
static void blame(const char *list, const char *code, const char *line,
		  struct muster_node *nodes, size_t n)
{
	size_t k = 0;
	char **names = hostlist_expand(list, &k, NULL);

	for (size_t i = 0; i < k; i++) {
		const size_t at = STR_FIND(nodes, n, name, names[i]);
		struct muster_node *node = &nodes[at];

		if (at < n && !node->code && !node->here) {
			node->says = strdup(line);
			node->code = node->says ? code : NULL;
		}
	}
	if (names) {
		hostlist_free(names, k);
	}
}

void muster_read(const char *text, struct muster_node *nodes, size_t n)
{
	char line[1024], list[sizeof(line)];

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (!text[len] || len >= sizeof(line)) {
			continue;
		}
		memcpy(line, text, len);
		line[len] = '\0';
		if (str_starts(line, MUSTER_HERE)) {
			const size_t at = STR_FIND(nodes, n, name,
						   line + strlen(MUSTER_HERE));

			if (at < n) {
				nodes[at].here = true;
			}
			continue;
		}
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			const char *from = strstr(line, words[i].before), *to;

			from = from ? from + strlen(words[i].before) : NULL;
			to = from ? strstr(from, words[i].after) : NULL;
			if (to && to > from &&
			    strcspn(from, " \t") >= (size_t)(to - from) &&
			    strstr(to, words[i].has)) {
				snprintf(list, sizeof(list), "%.*s",
					 (int)(to - from), from);
				blame(list, words[i].code, line, nodes, n);
				break;
			}
		}
	}
}

/* ---- the roll call ------------------------------------------------------- */

static void release_nodes(struct muster *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->nodes[i].name);
		free(m->nodes[i].says);
	}
	free(m->nodes);
	m->nodes = NULL;
	m->n = 0;
}

/** Start the step; false: there is none, or it cannot be.  There is nothing to
 *  call if one node is where this process runs, or no list is known. */
static bool call(struct muster *m)
{
	char log[PATH_MAX], **names = NULL;
	size_t n = 0;

	release_nodes(m);
	args_release(&m->step.line);
	args_release(&m->step.env);
	str_release(&m->step.nodes);
	m->step.nodes = (struct str)STR_INIT;
	m->ended = false;
	m->first_ns = m->own_ns = m->end_ns = m->over_ns = 0;
	srun_step_compose(&m->step, m->r, STEP_NAME, environ);
	if (m->step.nodes.len > 0) {
		names = hostlist_expand(str_text(&m->step.nodes), &n, NULL);
	}
	m->nodes = n > 1 ? calloc(n, sizeof(*m->nodes)) : NULL;
	m->n = m->nodes ? n : 0;
	for (size_t i = 0; i < m->n; i++) {
		m->nodes[i].name = names[i];
		names[i] = NULL;
	}
	if (names) {
		hostlist_free(names, n);
	}
	if (m->n == 0 || rundir_path(m->r->dir, LOG, log, NULL) < 0) {
		return false;
	}
	unlink(log);
	return launch_child_start(&m->srun, &m->step.line, &m->step.env, -1,
				  m->r->dir, LOG, NULL) == 0;
}

void muster_begin(struct muster *m, const struct launch_request *r)
{
	*m = (struct muster){ .r = r, .step = { .muster = true },
			      .begin_ns = clock_now_ns() };
	srun_step_ask(&m->step);
	call(m);
}

/** Return the time that nodes have after the first answer: an agent's, and if
 *  only this node has answered, also that of an image, which the others may be
 *  importing. */
static int64_t patience_ns(const struct muster *m)
{
	return spec_boot_ns(m->r->spec) + (m->first_ns ? 0 : IMAGE_NS);
}

/** End a step that some nodes do not answer.  If only this node has answered,
 *  the others may still run the prolog for as long as it took here. */
static void end_late(struct muster *m)
{
	const int64_t now = clock_now_ns();
	const int64_t most = m->begin_ns + spec_boot_first_ns(m->r->spec, true);
	int64_t late = m->first_ns ? m->first_ns : m->own_ns;

	if (m->end_ns) {
		if (now > m->end_ns + END_NS) {
			launch_child_signal(&m->srun, SIGKILL);
		}
		return;
	}
	late = late ? late + patience_ns(m) : most;
	if (m->own_ns && !m->first_ns && now > late) {
		if (!m->since_ns) {
			m->since_ns = slurm_job_since_ns();
		}
		late += m->begin_ns - m->since_ns;
	}
	if (now > (late < most ? late : most)) {
		m->end_ns = now;
		m->ended = m->first_ns || m->own_ns;
		launch_child_signal(&m->srun, SIGTERM);
	}
}

/** The step has ended: note who is lost.  True when others have not answered
 *  because of those, and have to be asked again. */
static bool settle(struct muster *m)
{
	char time[32], says[200];
	size_t here = 0, lost = 0;

	units_duration_text(patience_ns(m), time, sizeof(time));
	for (size_t i = 0; i < m->n; i++) {
		/* blame nodes that never answered, though Slurm took their
		 * task */
		snprintf(says, sizeof(says),
			 "Slurm accepted a task for %.64s, "
			 "but no message arrived within %s",
			 m->nodes[i].name, time);
		if (m->ended) {
			blame(m->nodes[i].name, "slurm_silent", says, m->nodes,
			      m->n);
		}
		here += m->nodes[i].here;
		lost += m->nodes[i].code != NULL;
	}
	if (lost == m->n) {
		return false;	/* rather srun's own fault */
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct muster_node *node = &m->nodes[i];

		if (node->code) {
			run_absent_note(m->r->dir, &(struct run_entry){
					RUN_ENTRY_NONE, .node = node->name,
					.code = node->code, .source = "srun",
					.detail = node->says }, NULL);
		}
	}
	return lost > 0 && here + lost < m->n && ++m->round < ROUNDS;
}

/** Return true if Slurm may be about to cancel the job. */
static bool expects_cancel(const struct muster *m, int64_t now)
{
	bool prolog = false;

	for (size_t i = 0; i < m->n; i++) {
		prolog = prolog || (m->nodes[i].code &&
				    strcmp(m->nodes[i].code, JOB_PROLOG) == 0);
	}
	return prolog && now < m->over_ns + CANCEL_NS;
}

bool muster_goes_on(struct muster *m)
{
	const char *own = getenv("SLURMD_NODENAME");
	const int64_t now = clock_now_ns();
	bool ended;
	char *text;

	if (m->n == 0) {
		return false;
	}
	ended = launch_child_ended(&m->srun);
	text = rundir_read_text(m->r->dir, LOG, TEXT_MAX, NULL, NULL);
	muster_read(text ? text : "", m->nodes, m->n);
	free(text);
	for (size_t i = 0; i < m->n; i++) {
		const bool is_own = own && strcmp(m->nodes[i].name, own) == 0;
		int64_t *at = is_own ? &m->own_ns : &m->first_ns;

		if (m->nodes[i].here && !*at) {
			*at = now;
		}
	}
	if (!ended) {
		end_late(m);
		return true;
	}
	m->over_ns = m->over_ns ? m->over_ns : now;
	if (expects_cancel(m, now)) {
		return true;
	}
	launch_child_end(&m->srun);
	if (settle(m) && call(m)) {
		return true;
	}
	release_nodes(m);
	return false;
}

void muster_release(struct muster *m)
{
	if (!launch_child_ended(&m->srun)) {
		launch_child_signal(&m->srun, SIGTERM);
	}
	launch_child_end(&m->srun);
	release_nodes(m);
	srun_step_release(&m->step);
}
