/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the jobs of a run, from the files of their parts and the queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/run/jobs.h"
#include "lib/base/spawn.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "lib/data/schema.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/** Seconds until a directory whose job Slurm does not list counts as lost: the
 *  sbatch of a process that was killed may still be under way, for 10 s. */
#define SUBMIT_S 30

/* ---- plan ---------------------------------------------------------------- */

static const struct job usual_job = { .nodes = "", .pairs = "" };

#define JOB(member, type, from, to) \
	FIELD(job, member, #member, type, from, to, "", \
	      .optional = FIELD_OMITTED)

const struct field job_fields[] = {
	JOB(nodes, LINK, 0, 0), JOB(pairs, LINK, 0, 0),
	JOB(lane, INT, 0, JOBS_MAX), { 0 }
};

static const struct field plan_fields[] = {
	FIELD_ROWS(jobs, list, n, "parts", job_fields, JOBS_MAX, "",
		   .usual = &usual_job), { 0 }
};

void jobs_try_name(size_t i, int t, char buf[32])
{
	snprintf(buf, 32, JOBS_PARTS "/%04zu-%u", i + 1, (uint8_t)t);
}

void jobs_lane_name(const json_t *run, int lane, struct str *out)
{
	str_addf(out, lane > 0 ? "gpucheck-%s-%d" : "gpucheck-%s",
		 run_file(run).jobs.id, lane);
}

static int read_plan(struct jobs *j, const char *dir, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	char probe[32];

	STR_COPY(probe, run_file(run).probe);
	json_decref(run);
	if (!run || !str_copy(j->left.dir, sizeof(j->left.dir), dir) ||
	    left_read(&j->left, probe, "resume", e) < 0 ||
	    spawn_self(j->self, sizeof(j->self), e) < 0) {
		return -1;
	}
	return schema_read(plan_fields, j, json_object_get(j->left.run, "jobs"),
			   e) < 0 ?
		       err_hint(e, "'jobs' of run.json is damaged") : 0;
}

/* ---- queue --------------------------------------------------------------- */

/** Get number and try of "DIR/parts/0001-2/job.sbatch"; false: another run. */
static bool read_script(const struct jobs *j, const char *script, size_t *i,
			int *t)
{
	const size_t len = strlen(j->left.dir);
	unsigned part, try;
	char end;

	if (strncmp(script, j->left.dir, len) != 0 ||
	    sscanf(script + len, "/" JOBS_PARTS "/%6u-%2u/job.sbatc%c", &part,
		   &try, &end) != 3 || end != 'h' || part == 0 ||
	    part > j->n) {
		return false;
	}
	*i = part - 1;
	*t = (int)try;
	return true;
}

/** Ask for the jobs of the run by their names, with those that have just
 *  ended. */
static int look_at_queue(struct jobs *j, struct err *e)
{
	struct str names = STR_INIT, out = STR_INIT;
	struct slurm_job q;
	const char *at;
	int rc, lanes = 0, t;
	size_t part;

	for (size_t i = 0; i < j->n; i++) {
		lanes = j->list[i].lane > lanes ? j->list[i].lane : lanes;
	}
	for (int lane = lanes > 0; lane <= lanes; lane++) {
		str_addf(&names, "%s", names.len ? "," : "");
		jobs_lane_name(j->left.run, lane, &names);
	}
	rc = slurm_ask(SLURM_QUEUE_ALL, str_text(&names), &out, e);
	at = str_text(&out);
	while (rc == 0 && slurm_parse_queued(&at, &q)) {
		struct job *job;

		if (!read_script(j, q.script, &part, &t) ||
		    t != j->list[part].tries || j->list[part].settled) {
			continue;
		}
		job = &j->list[part];
		STR_COPY(job->id, q.id);
		if (slurm_parse_standing(q.state, NULL) == SLURM_JOB_OVER) {
			STR_COPY(job->ended, q.state);
			continue;
		}
		job->state = slurm_queued_waits(&q) ? JOB_WAITS : JOB_RUNS;
		job->in_line = slurm_queued_in_line(&q);
	}
	str_release(&names);
	str_release(&out);
	return rc;
}

/* ---- files of a part ----------------------------------------------------- */

/** Return true if @dir is so new that its submission may still be under way.
 *  The clock of a file server may be ahead. */
static bool is_young(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 &&
	       llabs((long long)time(NULL) - (long long)st.st_mtim.tv_sec) <
		       SUBMIT_S;
}

const char *jobs_down_text(const struct slurm_node *n, char *buf, size_t size)
{
	const char *why = !n->why[0] && strchr(n->state, '*') ?
				  "it does not respond" : n->why;

	snprintf(buf, size, "Slurm has it as %s%s%s", n->state,
		 why[0] ? ": " : "", why);
	return buf;
}

/** Read the last try of part @i.  Its files count more than the state of its
 *  job, which ends later. */
static void look_at_part(struct jobs *j, size_t i)
{
	struct job *job = &j->list[i];
	struct slurm_job is = { .nodes = "" };
	struct launch_state st = { 0 };
	struct err e = { 0 };
	struct run_file f;
	char dir[PATH_MAX], name[32];
	json_t *run;

	jobs_try_name(i, job->tries, name);
	if (job->settled || job->tries == 0 ||
	    rundir_path(j->left.dir, name, dir, NULL) < 0) {
		return;
	}
	run = rundir_read_json(dir, RUN_JSON, NULL);
	f = run_file(run);
	job->partial = f.typed.exclude[0] != '\0';
	snprintf(job->why, sizeof(job->why), "%.250s",
		 f.error.text[0] ? f.error.text :
		 f.job_end[0]	 ? f.job_end : f.stop_reason);
	if (f.complete) {
		job->state = JOB_DONE;
	} else if (job->state == JOB_LOST && !job->ended[0] && !job->why[0] &&
		   !rundir_has(dir, RUN_JOB_OUT) && is_young(dir)) {
		job->state = JOB_WAITS;
		job->unsure = true;
	} else if (job->state == JOB_LOST && !job->why[0] && job->ended[0] &&
		   j->own) {
		/* note in its run.json how Slurm ended its job */
		STR_COPY(is.state, job->ended);
		STR_COPY(is.nodes,
			 rundir_has(dir, RUN_JOB_OUT) ? job->nodes : "");
		slurm_state_explain(job->id, &is, dir, &st);
		err_set(&e, 0, "%s", st.text);
		STR_COPY(job->why, e.text);
		if (f.planned.given) {
			run_json_note(dir, &(struct run_file){
				.job_end = e.text }, NULL);
		} else {
			run_error_note(dir, &e, CODE_UNABLE);
			rundir_forget(dir);	/* there may be thousands */
		}
	} else if (job->state == JOB_LOST && !job->why[0]) {
		STR_COPY(job->why, "its job has ended, and Slurm has no record "
			 "of it");
	}
	job->settled = job->state == JOB_DONE || job->state == JOB_LOST;
	json_decref(run);
}

/* ---- all ----------------------------------------------------------------- */

int jobs_look(struct jobs *j, const char *dir, struct err *e)
{
	char name[32], path[PATH_MAX];

	/* first, so that the checked directory is the one that is read */
	j->own = rundir_check_own(dir, NULL) == 0;
	if (!j->left.run && read_plan(j, dir, e) < 0) {
		return -1;
	}
	/* count the tries, and forget what was known of an earlier one */
	for (size_t i = 0; i < j->n; i++) {
		struct job *job = &j->list[i];
		const int before = job->tries;

		for (int t = before + 1; t <= JOBS_TRIES_MAX; t++) {
			jobs_try_name(i, t, name);
			if (rundir_path(j->left.dir, name, path, NULL) < 0 ||
			    access(path, F_OK) < 0) {
				break;
			}
			job->tries = t;
		}
		job->settled = job->settled && job->tries == before;
		if (!job->settled) {
			job->state = job->tries > 0 ? JOB_LOST : JOB_NONE;
			job->unsure = job->in_line = job->partial = false;
			job->id[0] = job->ended[0] = '\0';
			STR_COPY(job->why, "its job was not submitted");
		}
	}
	/* the queue first: a job that is no longer in it writes nothing more */
	if (look_at_queue(j, e) < 0) {
		return -1;
	}
	free(j->nodes.list);
	/* without an answer, no node is named */
	slurm_lane_nodes(&j->left.spec, j->left.extra, &j->nodes, NULL);
	memset(j->count, 0, sizeof(j->count));
	for (size_t i = 0; i < j->n; i++) {
		look_at_part(j, i);
		j->count[j->list[i].state]++;
	}
	return 0;
}

void jobs_release(struct jobs *j)
{
	left_release(&j->left);
	free(j->list);
	free(j->nodes.list);
	*j = (struct jobs){ 0 };
}

bool jobs_go_on(const struct jobs *j)
{
	return j->count[JOB_WAITS] + j->count[JOB_RUNS] > 0;
}

size_t jobs_find_down(const struct jobs *j, const struct job *job,
		      struct str *out)
{
	size_t up = 0;

	for (size_t i = 0; i < j->nodes.n; i++) {
		const struct slurm_node *n = &j->nodes.list[i];

		if (!hostlist_has(job->nodes, n->name)) {
			continue;
		}
		if (slurm_lane_is_down(n->state)) {
			str_addf(out, "%s%s", out->len ? "," : "", n->name);
		} else {
			up++;
		}
	}
	return up;
}
