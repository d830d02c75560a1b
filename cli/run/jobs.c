/* SPDX-License-Identifier: BSD-3-Clause */
/* --jobs=pairs: plan the jobs of a run, submit and follow them. */
#include "cli/run/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/follow.h"
#include "cli/front/talk.h"
#include "cli/plan/plan.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "sbatch/slurm.h"

/* ---- jobs plan ----------------------------------------------------------- */

struct maker {
	const struct jobs_node *nodes;
	size_t n;
	const char *kind;
	int group, n_groups;
	bool *begun;		/* a group each: it has been in a job */
	struct jobs_plan *p;
	bool late;		/* it is the jobs of busy nodes that are made */
};

static int groups_of(size_t n, int group)
{
	return (int)((n + (size_t)group - 1) / (size_t)group);
}

static size_t jobs_of(size_t n, int group)
{
	const size_t groups = (size_t)groups_of(n, group);

	return groups * (groups - 1) / 2;
}

/** The nodes of group @g: from *@first up to *@last. */
static void members(const struct maker *m, int g, size_t *first, size_t *last)
{
	*first = (size_t)g * (size_t)m->group;
	*last = *first + (size_t)m->group;
	*last = *last < m->n ? *last : m->n;
}

static void add_pair(struct jobs_part *part, const char *a, const char *b)
{
	str_addf(&part->pairs, "%s%s:*-%s:*", part->pairs.len ? "," : "", a, b);
}

/** Adds the pairs of a group: all inside it the first time, and those inside
 *  single nodes every time, since the partner may be down. */
static void add_group(const struct maker *m, int g, struct jobs_part *part)
{
	const bool inside = strcmp(m->kind, "all") == 0;
	size_t first, last;

	members(m, g, &first, &last);
	for (size_t i = first; i < last; i++) {
		str_addf(&part->nodes, "%s%s", part->nodes.len ? "," : "",
			 m->nodes[i].name);
		for (size_t k = i + !inside;
		     (!m->begun[g] || m->group == 1) && k < last; k++) {
			add_pair(part, m->nodes[i].name, m->nodes[k].name);
		}
	}
	m->begun[g] = true;
}

static bool is_busy(const struct maker *m, int g)
{
	size_t first, last;
	bool busy = false;

	members(m, g, &first, &last);
	for (size_t i = first; i < last; i++) {
		busy = busy || m->nodes[i].busy;
	}
	return busy;
}

static void add_part(struct maker *m, int a, int b, int lanes)
{
	struct jobs_part *part = &m->p->parts[m->p->n];
	size_t i, k, last_a, last_b, first_b;

	if ((is_busy(m, a) || is_busy(m, b)) != m->late) {
		return;
	}
	members(m, a, &i, &last_a);
	members(m, b, &first_b, &last_b);
	for (; i < last_a; i++) {
		for (k = first_b; k < last_b; k++) {
			add_pair(part, m->nodes[i].name, m->nodes[k].name);
		}
	}
	add_group(m, a, part);
	add_group(m, b, part);
	if (strcmp(m->kind, "rail") == 0) {
		str_reset(&part->pairs);
		str_add(&part->pairs, m->kind);
	}
	part->lane = (int)(m->p->n % (size_t)lanes) + 1;
	m->p->n++;
}

static void add_rounds(struct maker *m, int lanes)
{
	for (int round = 0; round < sched_rounds(m->n_groups); round++) {
		for (int a = 0; a < m->n_groups; a++) {
			int b = sched_partner(m->n_groups, round, a);

			if (b > a) {
				add_part(m, a, b, lanes);
			}
		}
	}
}

int jobs_plan_make(const struct jobs_node *nodes, size_t n, const char *kind,
		   int lanes, size_t most, struct jobs_plan *p,
		   struct err *e)
{
	struct maker m = { .nodes = nodes, .n = n, .kind = kind, .group = 1,
			   .p = p };
	bool failed = false;

	*p = (struct jobs_plan){ 0 };
	most = most < JOBS_MOST ? most : JOBS_MOST;
	if (n < 2) {
		err_set(e, 0, "there is no pair of %zu node%s", n,
			n == 1 ? "" : "s");
		return err_hint(e, "--nodelist or \"-- --partition=NAME\" "
				   "names more");
	}
	while (jobs_of(n, m.group) > most && m.group <= JOBS_GROUP_MAX) {
		m.group++;
	}
	if (m.group > JOBS_GROUP_MAX || most == 0) {
		err_set(e, 0, "the pairs of %zu nodes do not fit into %zu jobs",
			n, most);
		return err_hint(e, "--nodelist names fewer nodes; \"squeue "
				   "--me\" shows the jobs that count already");
	}
	m.n_groups = groups_of(n, m.group);
	m.begun = calloc((size_t)m.n_groups, sizeof(*m.begun));
	p->parts = calloc(jobs_of(n, m.group) + 1, sizeof(*p->parts));
	p->group = m.group;
	p->rounds = sched_rounds(m.n_groups);
	for (int late = 0; m.begun && p->parts && late < 2; late++) {
		m.late = late;
		add_rounds(&m, lanes);
	}
	failed = !m.begun || !p->parts;
	for (size_t i = 0; i < p->n; i++) {
		failed = failed || p->parts[i].nodes.failed ||
			 p->parts[i].pairs.failed;
	}
	free(m.begun);
	if (failed) {
		jobs_plan_release(p);
		return err_set(e, ENOMEM, "no memory for the jobs");
	}
	return 0;
}

void jobs_plan_release(struct jobs_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		str_release(&p->parts[i].nodes);
		str_release(&p->parts[i].pairs);
	}
	free(p->parts);
	*p = (struct jobs_plan){ 0 };
}

/* [{nodes, pairs, lane}, ...] */
static json_t *jobs_plan_json(const struct jobs_plan *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++) {
		const struct job job = {
			.nodes = str_text(&p->parts[i].nodes),
			.pairs = str_text(&p->parts[i].pairs),
			.lane = p->parts[i].lane,
		};

		json_array_append_new(list, schema_json(job_fields, &job));
	}
	return list;
}

/* ---- jobs show ----------------------------------------------------------- */

/* --jobs=pairs: what would be submitted. */

/** About how long one takes to measure, and all of them; NAN: not known. */
static double forecast_s(const struct session *s, const struct jobs_ask *a,
			 const char *probe)
{
	struct spec part = s->spec;
	struct forecast f;
	double time_s;

	part.nodes = 2 * a->plan.group;
	part.nodelist[0] = part.exclude[0] = '\0';
	STR_COPY(part.pairs, a->kind);
	if (part.gpus_per_node == 0) {
		part.gpus_per_node = a->gpus;
	}
	forecast_make(&part, probe_find(probe), "sbatch", FORECAST_RANKS, &f);
	time_s = f.time_s;
	forecast_release(&f);
	return time_s;
}

/* How many jobs of how many nodes, and how long each measures, to @out. */
static void jobs_say_plan(const struct session *s, const struct jobs_ask *a,
			  const char *probe, struct str *out)
{
	const double one_s = forecast_s(s, a, probe);
	const int lanes = (size_t)s->spec.lanes < a->plan.n ?
				  (int)s->spec.lanes : (int)a->plan.n;
	char text[32];

	str_addf(out, "%zu job%s of %d nodes in %d lane%s, %d round%s of %zu "
		 "nodes", a->plan.n, a->plan.n == 1 ? "" : "s",
		 2 * a->plan.group, lanes, lanes == 1 ? "" : "s",
		 a->plan.rounds, a->plan.rounds == 1 ? "" : "s", a->n);
	if (a->busy + a->down > 0) {
		str_addf(out, " (%zu busy, %zu down)", a->busy, a->down);
	}
	if (one_s > 0) {
		str_addf(out, ", about %s to measure each",
			 forecast_time(one_s, text, sizeof(text)));
	}
}

/* For --dry-run: prints the jobs, and the script of the first.  Returns an exit
 * code, with @e if there is no script. */
static int jobs_describe(const struct session *s, const struct probe_start *t,
			 const struct jobs_ask *a, struct err *e)
{
	struct spec spec = s->spec;
	struct launch_request r = t->r;
	struct str out = STR_INIT;
	const struct jobs_part *first = &a->plan.parts[0];
	int rc;

	STR_COPY(spec.nodelist, str_text(&first->nodes));
	spec.exclude[0] = '\0';
	spec.nodes = 0;
	r.spec = &spec;
	r.nodelist = str_text(&first->nodes);
	r.dir = "DIR/" JOBS_PARTS "/0001-1";
	r.lane = "gpucheck-ID-1";
	r.after = "DIR";
	r.gpus = a->gpus ? a->gpus : -1;
	rc = t->ops->describe(&r, &out, e);
	str_add(&out, "\n# This is the script of job 1.\n# ");
	jobs_say_plan(s, a, t->r.probe, &out);
	str_addch(&out, '\n');
	for (size_t i = 0; i < a->plan.n; i++) {
		str_addf(&out, "# job %zu, lane %d: %s\n", i + 1,
			 a->plan.parts[i].lane,
			 str_text(&a->plan.parts[i].nodes));
	}
	fputs(rc < 0 ? "" : str_text(&out), stdout);
	str_release(&out);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

/* gpucheck plan p2p --jobs=pairs; an exit code. */
static int jobs_show_plan(const struct session *s, const struct jobs_ask *a,
			  const char *probe)
{
	struct str out = STR_INIT;
	const double one_s = forecast_s(s, a, probe);

	if (s->spec.json) {
		json_t *json = json_pack(
			"{s:i, s:I, s:i, s:I, s:i, s:o}", "schema", 1, "jobs",
			(json_int_t)a->plan.n, "nodes_of_each",
			2 * a->plan.group, "lanes",
			(json_int_t)s->spec.lanes, "rounds", a->plan.rounds,
			"time_s_of_each", one_s > 0 ? json_real(one_s) :
						      json_null());

		json_print(json, stdout, JSON_INDENT(1));
		json_decref(json);
	} else {
		jobs_say_plan(s, a, probe, &out);
		fputs(str_text(&out), stdout);
	}
	putchar('\n');
	str_release(&out);
	return CODE_HEALTHY;
}

/* ---- parts to submit ----------------------------------------------------- */

/** --pairs, as far as parts can have it; NULL with @e. */
static const char *kind_of(const struct spec *s, struct err *e)
{
	static const char *const kinds[][2] = {
		{ "default", "all" }, { "all", "all" }, { "inter", "inter" },
		{ "rail", "rail" }, { "auto", "rail" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(s->pairs, kinds[i][0]) == 0) {
			return kinds[i][1];
		}
	}
	err_set(e, 0, "--jobs=pairs does not go with --pairs=%.100s", s->pairs);
	err_hint(e, "it measures all pairs, or --pairs=inter or rail");
	return NULL;
}

/** Words for sbatch that the jobs have of their own; 0, or -1 with @e. */
static int check_extra(char *const extra[], struct err *e)
{
	static const struct {
		const char *name;
		char letter;
	} own[] = {
		{ "nodes", 'N' }, { "nodelist", 'w' }, { "exclude", 'x' },
		{ "dependency", 'd' }, { "job-name", 'J' }, { "begin", 'b' },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (slurm_fit_option(extra, own[i].name, own[i].letter)) {
			err_set(e, 0, "--%s behind -- does not go with "
				"--jobs=pairs, whose jobs each have their own",
				own[i].name);
			return err_hint(e, "nodes are named in front of --: "
					"--nodelist, -x");
		}
	}
	return 0;
}

/** Which nodes take part: -N of them that are up, or all. */
static int choose_nodes(const struct spec *s, struct jobs_ask *a, struct err *e)
{
	a->use = calloc(a->nodes.n + 1, sizeof(*a->use));
	if (!a->use) {
		return err_set(e, ENOMEM, "no memory for the nodes");
	}
	for (size_t i = 0; i < a->nodes.n; i++) {
		const struct slurm_node *n = &a->nodes.list[i];
		const bool out = slurm_lane_is_down(n->state);

		if (s->nodes && (out || a->n == (size_t)s->nodes)) {
			continue;
		}
		a->use[a->n++] = (struct jobs_node){
			.name = n->name,
			.busy = out || !str_starts(n->state, "idle"),
		};
		a->down += out;
		a->busy += !out && !str_starts(n->state, "idle");
	}
	if (a->n < (size_t)s->nodes) {
		err_set(e, 0, "%" PRId64 " nodes are asked for, and %zu are "
			"there and up", s->nodes, a->n);
		return err_hint(e, "leave out -N to use all nodes, or name "
				"them: --nodelist");
	}
	return 0;
}

static int prepare(const struct session *s, const struct probe_start *t,
		   struct jobs_ask *a, struct err *e)
{
	struct launch_request r = t->r;
	int64_t left;

	a->kind = kind_of(&s->spec, e);
	if (!a->kind || check_extra(s->extra, e) < 0 ||
	    slurm_lane_nodes(&s->spec, s->extra, &a->nodes, e) < 0 ||
	    choose_nodes(&s->spec, a, e) < 0) {
		return -1;
	}
	left = slurm_jobs_left(s->extra) - 1;	/* the keeper is one, too */
	if (jobs_plan_make(a->use, a->n, a->kind, (int)s->spec.lanes,
			   left > 0 ? (size_t)left : 0, &a->plan, e) < 0) {
		return -1;
	}
	return slurm_fit_ask(&r, 2 * a->plan.group, &a->gpus, e);
}

/** "jobs" of run.json. */
static json_t *jobs_json(const struct session *s, const struct jobs_ask *a)
{
	unsigned char random[4];
	char id[2 * sizeof(random) + 1] = "0";
	json_t *names = json_array();

	if (hash_random(random, sizeof(random)) == 0) {
		hash_hex(random, sizeof(random), id);
	}
	for (size_t i = 0; i < a->n; i++) {
		json_array_append_new(names, json_text(a->use[i].name));
	}
	return json_pack("{s:{s:s, s:s, s:i, s:I, s:o, s:o}}", "jobs",
			 "id", id, "kind", a->kind,
			 "lanes", (int)s->spec.lanes,
			 "gpus", (json_int_t)(a->gpus ? a->gpus : -1),
			 "nodes", names, "parts", jobs_plan_json(&a->plan));
}

/* ---- submission ---------------------------------------------------------- */

/** Submits a job for each part without one, then follows them unless --no-wait
 *  is given.  Returns an exit code. */
static int go_on(const char *dir, const struct session *s, struct err *e)
{
	struct jobs j;
	char text[320], word[PATH_MAX];
	struct err why = { 0 };
	sigset_t before;
	int rc;

	/* ^C amid the submission: jobs_follow() takes it, and says how to
	 * cancel those that are submitted */
	follow_hold_signals(&before);
	rc = jobs_look(&j, dir, e);
	if (rc == 0 && (rc = jobs_tend(&j, e)) < 0 && jobs_go_on(&j)) {
		/* following prints this too */
		if (s->spec.no_wait) {
			talk("not all jobs could be submitted: %s", e->text);
		}
		*e = (struct err){ 0 };
		rc = 0;
	}
	if (rc == 0 && jobs_go_on(&j) && jobs_keep(&j, 0, &why) < 0) {
		talk("no keeper: %s; what is lost is submitted again when "
		     "another job ends, or by \"gpucheck attach\"", why.text);
	}
	jobs_text(&j, text, sizeof(text));
	jobs_release(&j);
	if (rc < 0) {
		return CODE_UNABLE;
	}
	if (s->spec.no_wait) {
		follow_release_signals(&before);
		printf("%s\n", dir);
		talk("not waiting; %s", text);
		talk_hint("for the result: \"gpucheck report %s\"",
			  str_quoted_dir(dir, word, sizeof(word)));
		jobs_say_cancel(dir);
		return CODE_HEALTHY;
	}
	return jobs_follow(dir, s);
}

static int submit(struct session *s, const struct probe_start *t,
		  const struct jobs_ask *a, const char *drill, struct err *e)
{
	struct str says = STR_INIT;
	char dir[PATH_MAX], parts[PATH_MAX];
	json_t *run;
	int code = probe_run_prepare(t, drill, dir, e);

	if (code != CODE_HEALTHY) {
		return code;
	}
	run = rundir_read_json(dir, RUN_JSON, e);
	if (!run || json_object_update_new(run, jobs_json(s, a)) < 0 ||
	    rundir_write_json(dir, RUN_JSON, run, e) < 0 ||
	    rundir_path(dir, JOBS_PARTS, parts, e) < 0) {
		json_decref(run);
		return CODE_UNABLE;
	}
	json_decref(run);
	if (mkdir(parts, 0777) < 0) {
		err_set(e, errno, "cannot make '%s'", parts);
		return CODE_UNABLE;
	}
	jobs_say_plan(s, a, t->r.probe, &says);
	talk("%s", str_text(&says));
	talk("run directory %s", dir);
	str_release(&says);
	return go_on(dir, s, e);
}

int jobs_main(struct session *s, const char *probe,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e))
{
	struct str drill = STR_INIT;
	struct jobs_ask a = { 0 };
	struct probe_start t;
	struct err e = { 0 };
	int code = check(s, &drill, &e) < 0 ?
			   CODE_USAGE :
			   probe_run_choose(&t, s, probe, NULL, &e);

	if (code == CODE_HEALTHY && !t.ops->inside) {
		err_set(&e, 0, "--jobs=pairs submits batch jobs of Slurm; here "
			"a run starts %s", t.why);
		code = CODE_USAGE;
	}
	if (code == CODE_HEALTHY && prepare(s, &t, &a, &e) < 0) {
		code = CODE_USAGE;
	} else if (code == CODE_HEALTHY) {
		code = s->plan	      ? jobs_show_plan(s, &a, probe) :
		       s->spec.dry_run ? jobs_describe(s, &t, &a, &e) :
					 submit(s, &t, &a, str_text(&drill),
						&e);
	}
	jobs_plan_release(&a.plan);
	free(a.use);
	free(a.nodes.list);
	str_release(&drill);
	return e.text[0] && code != CODE_HEALTHY ? talk_fail(&e, code) : code;
}

bool jobs_is_dir(const char *dir)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const bool is = run_file(run).jobs.given;

	json_decref(run);
	return is;
}

/** One more try of each part that is missing, however many there were. */
static int resume(const char *dir, struct session *s, const char *probe,
		  struct err *e)
{
	struct jobs j = { 0 };
	char text[320] = "";
	int rc = rundir_check_own(dir, e) < 0 ? -1 : jobs_look(&j, dir, e);

	if (rc == 0 && strcmp(run_file(j.left.run).probe, probe) != 0) {
		rc = err_set(e, 0, "'%s' is a run of '%.40s', not of %s", dir,
			     run_file(j.left.run).probe, probe);
	}
	rc = rc == 0 ? resume_options(s, &j.left.spec, "", e) : rc;
	for (size_t i = 0; rc == 0 && i < j.n; i++) {
		if (j.list[i].state == JOB_LOST) {
			j.list[i].state = JOB_NONE;
		}
	}
	if (rc == 0) {
		jobs_text(&j, text, sizeof(text));
		talk("continuing '%s': %s", dir, text);
		rc = s->spec.dry_run ? 0 : jobs_tend(&j, e);
		if (rc < 0 && jobs_go_on(&j)) {
			talk("not all jobs could be submitted: %s", e->text);
			*e = (struct err){ 0 };
			rc = 0;
		}
	}
	jobs_release(&j);
	return rc < 0 ? CODE_USAGE :
	       s->spec.dry_run ? CODE_HEALTHY : go_on(dir, s, e);
}

int jobs_resume(struct session *s, const char *probe)
{
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = CODE_USAGE;

	if (!realpath(s->spec.resume, dir)) {
		rundir_missing(s->spec.resume, &e);
	} else {
		code = resume(dir, s, probe, &e);
	}
	return e.text[0] && code != CODE_HEALTHY ? talk_fail(&e, code) : code;
}
