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

#include "cli/front/ahead.h"
#include "cli/front/follow.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/plan/plan.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/* ---- plan ---------------------------------------------------------------- */

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
static void members(const struct jobs_plan *p, int g, size_t *first,
		    size_t *last)
{
	*first = (size_t)g * (size_t)p->group;
	*last = *first + (size_t)p->group;
	*last = *last < p->n_names ? *last : p->n_names;
}

static void add_pair(struct str *pairs, const char *a, const char *b)
{
	str_addf(pairs, "%s%s:*-%s:*", pairs->len ? "," : "", a, b);
}

/** Adds the pairs of a group: all inside it the first time, and those inside
 *  single nodes every time, since the partner may be down. */
static void add_group(struct jobs_plan *p, int g, struct str *nodes,
		      struct str *pairs)
{
	const bool inside = strcmp(p->kind, "all") == 0;
	size_t first, last;

	members(p, g, &first, &last);
	for (size_t i = first; i < last; i++) {
		str_addf(nodes, "%s%s", nodes->len ? "," : "", p->names[i]);
		for (size_t k = i + !inside;
		     (!p->begun[g] || p->group == 1) && k < last; k++) {
			add_pair(pairs, p->names[i], p->names[k]);
		}
	}
	p->begun[g] = true;
}

/** False without memory. */
static bool add_part(struct jobs_plan *p, int a, int b)
{
	struct str nodes = STR_INIT, pairs = STR_INIT;
	size_t i, k, last_a, last_b, first_b;

	members(p, a, &i, &last_a);
	members(p, b, &first_b, &last_b);
	for (; i < last_a; i++) {
		for (k = first_b; k < last_b; k++) {
			add_pair(&pairs, p->names[i], p->names[k]);
		}
	}
	add_group(p, a, &nodes, &pairs);
	add_group(p, b, &nodes, &pairs);
	if (strcmp(p->kind, "rail") == 0) {
		str_reset(&pairs);
		str_add(&pairs, p->kind);
	}
	p->parts[p->n++] = (struct job){ .nodes = nodes.data,
					 .pairs = pairs.data };
	return !nodes.failed && !pairs.failed;
}

int jobs_plan_make(const char *const nodes[], size_t n, const char *kind,
		   size_t max_jobs, size_t most, struct jobs_plan *p,
		   struct err *e)
{
	bool failed = false;

	*p = (struct jobs_plan){ .names = nodes, .n_names = n, .kind = kind,
				 .group = 1 };
	most = most < JOBS_MAX ? most : JOBS_MAX;
	if (n < 2) {
		err_set(e, 0, "there is no pair of %zu node%s", n,
			n == 1 ? "" : "s");
		return err_hint(e, "--nodelist or \"-- --partition=NAME\" "
				   "names more");
	}
	while (jobs_of(n, p->group) > most && p->group <= JOBS_GROUP_MAX) {
		p->group++;
	}
	if (p->group > JOBS_GROUP_MAX || most == 0) {
		err_set(e, 0, "the pairs of %zu nodes do not fit into %zu jobs",
			n, most);
		return err_hint(e, "--nodelist names fewer nodes; \"squeue "
				   "--me\" shows the jobs that count already");
	}
	p->n_groups = groups_of(n, p->group);
	p->begun = calloc((size_t)p->n_groups, sizeof(*p->begun));
	p->parts = calloc(jobs_of(n, p->group) + 1, sizeof(*p->parts));
	p->rounds = sched_rounds(p->n_groups);
	for (int k = 0; p->begun && p->parts && k < p->rounds * p->n_groups;
	     k++) {
		const int a = k % p->n_groups;
		const int b = sched_partner(p->n_groups, k / p->n_groups, a);

		failed = (b > a && !add_part(p, a, b)) || failed;
	}
	failed = failed || !p->begun || !p->parts;
	for (size_t i = 0; i < p->n; i++) {
		p->parts[i].lane = p->n > max_jobs ? (int)(i % max_jobs) + 1 :
						     0;
	}
	free(p->begun);
	p->begun = NULL;
	if (failed) {
		jobs_plan_release(p);
		return err_set(e, ENOMEM, "no memory for the jobs");
	}
	return 0;
}

void jobs_plan_release(struct jobs_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free((char *)p->parts[i].nodes);
		free((char *)p->parts[i].pairs);
	}
	free(p->parts);
	*p = (struct jobs_plan){ 0 };
}

/* ---- show ---------------------------------------------------------------- */

/** The parts that are about to be submitted. */
struct jobs_ask {
	const char *kind;	/* of pairs: all, inter, rail */
	struct slurm_lane_nodes nodes;
	const char **use;	/* of those the ones that take part */
	size_t n, busy, down;
	struct jobs_plan plan;
	int64_t gpus;		/* of each node; 0: as its job has */
};

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
	char text[32];

	str_addf(out, "%zu job%s of %d nodes", a->plan.n,
		 a->plan.n == 1 ? "" : "s", 2 * a->plan.group);
	if (a->plan.n > (size_t)s->spec.max_jobs) {
		str_addf(out, ", %" PRId64 " at a time", s->spec.max_jobs);
	}
	str_addf(out, ", %d round%s of %zu nodes", a->plan.rounds,
		 a->plan.rounds == 1 ? "" : "s", a->n);
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
	const struct job *first = &a->plan.parts[0];
	int rc;

	STR_COPY(spec.nodelist, first->nodes);
	spec.exclude[0] = '\0';
	spec.nodes = 0;
	r.spec = &spec;
	r.nodelist = first->nodes;
	r.dir = "DIR/" JOBS_PARTS "/0001-1";
	r.job_name = first->lane ? "gpucheck-ID-1" : "gpucheck-ID";
	r.singleton = first->lane > 0;
	r.gpus = a->gpus ? a->gpus : -1;
	rc = t->ops->describe(&r, &out, e);
	str_add(&out, "\n# This is the script of job 1.\n# ");
	jobs_say_plan(s, a, t->r.probe, &out);
	str_addch(&out, '\n');
	for (size_t i = 0; i < a->plan.n; i++) {
		str_addf(&out, "# job %zu: %s\n", i + 1,
			 a->plan.parts[i].nodes);
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
			"{s:i, s:I, s:i, s:I, s:I, s:i, s:o}", "schema", 1,
			"jobs", (json_int_t)a->plan.n, "nodes_of_each",
			2 * a->plan.group, "lanes",
			(json_int_t)s->spec.max_jobs, "max_jobs",
			(json_int_t)s->spec.max_jobs, "rounds", a->plan.rounds,
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
			err_set(e, 0, "--%s after -- does not go with "
				"--jobs=pairs, which sets it for each job",
				own[i].name);
			return err_hint(e, "specify nodes before --: "
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
		a->use[a->n++] = n->name;
		a->down += out;
		a->busy += !out && !str_starts(n->state, "idle");
	}
	if (a->n < (size_t)s->nodes) {
		err_set(e, 0, "%" PRId64 " nodes are requested, but only %zu "
			"are available", s->nodes, a->n);
		return err_hint(e, "omit -N to use all nodes, or list them "
				"with --nodelist");
	}
	return 0;
}

#define MOST_NODES 1024	/* of more not all pairs are measured */

/** Plan the jobs; an exit code, with @e unless CODE_HEALTHY. */
static int prepare(const struct session *s, struct probe_start *t,
		   struct jobs_ask *a, struct err *e)
{
	struct launch_request r = t->r;
	int64_t left;

	a->kind = kind_of(&s->spec, e);
	if (!a->kind || check_extra(s->extra, e) < 0) {
		return CODE_USAGE;
	}
	if (slurm_lane_nodes(&s->spec, s->extra, &a->nodes, e) < 0) {
		/* too many, or Slurm does not answer */
		return a->nodes.n > 0 ? CODE_USAGE : CODE_UNABLE;
	}
	if (a->nodes.n > MOST_NODES) {
		err_set(e, 0, "all pairs of more than %d nodes are too many "
			"jobs", MOST_NODES);
		err_hint(e, "--nodelist names fewer");
		return CODE_USAGE;
	}
	if (choose_nodes(&s->spec, a, e) < 0) {
		return CODE_USAGE;
	}
	left = slurm_jobs_left(s->extra);
	if (jobs_plan_make(a->use, a->n, a->kind, (size_t)s->spec.max_jobs,
			   left > 0 ? (size_t)left : 0, &a->plan, e) < 0) {
		return CODE_USAGE;
	}
	if (slurm_fit_ask(&r, 2 * a->plan.group, &a->gpus, e) < 0) {
		return CODE_USAGE;
	}
	t->worst_s = forecast_s(s, a, t->r.probe);
	probe_run_limit(t);
	return CODE_HEALTHY;
}

/** "jobs" of run.json. */
static json_t *jobs_json(const struct session *s, const struct probe_start *t,
			 const struct jobs_ask *a)
{
	unsigned char random[4];
	char id[2 * sizeof(random) + 1] = "0";
	json_t *names = json_array(), *parts = json_array(), *json;

	if (hash_random(random, sizeof(random)) == 0) {
		hash_hex(random, sizeof(random), id);
	}
	for (size_t i = 0; i < a->n; i++) {
		json_array_append_new(names, json_text(a->use[i]));
	}
	for (size_t i = 0; i < a->plan.n; i++) {
		json_array_append_new(parts, schema_json(job_fields,
						 &a->plan.parts[i]));
	}
	json = run_part_json("jobs", &(struct run_file){ .jobs = {
		.id = id, .kind = a->kind,
		.lanes = (int)s->spec.max_jobs,
		.gpus = a->gpus ? (int)a->gpus : -1,
		.minutes = (int)t->r.minutes,
		.nodes = names, .parts = parts } });
	json_decref(names);
	json_decref(parts);
	return json;
}

/* ---- submit -------------------------------------------------------------- */

/** After this many refusals in a row, all further jobs would be refused too. */
#define MOST_REFUSED 3

/** The options of @job, without the nodes @down, which have no pairs then. */
static void part_options(const struct jobs *j, const struct job *job,
			 const char *down, struct spec *s)
{
	struct spec fresh;

	spec_init(&fresh);
	*s = j->left.spec;
	spec_take(s, &fresh, spec_find("jobs"));
	spec_take(s, &fresh, spec_find("max-jobs"));
	s->no_follow_up = true;
	s->nodes = 0;
	STR_COPY(s->exclude, down);
	s->out[0] = '\0';
	STR_COPY(s->nodelist, job->nodes);
	STR_COPY(s->pairs, job->pairs);
}

/** Put into the run of the part in @dir why it has no job. */
static void refuse(struct job *job, const char *dir, const struct err *why)
{
	struct err e = { 0 };

	err_set(&e, why->code, "its job was not submitted: %s", why->text);
	job->state = JOB_LOST;
	run_error_note(dir, &e, CODE_UNABLE);
}

/** Submit @job as the run in @dir, which this process has made. Its run.json is
 *  the intent, its job.sbatch what Slurm knows the job by.  Returns 0, or -1
 *  with @e. */
static int submit_part(struct jobs *j, struct job *job, const char *down,
		       size_t up, const char *dir, struct err *e)
{
	struct str name = STR_INIT;
	struct spec spec;
	struct launch_request r = {
		.self = j->self, .probe = run_file(j->left.run).probe,
		.spec = &spec, .extra = j->left.extra, .nodelist = job->nodes,
		.gpus = run_file(j->left.run).jobs.gpus, .dir = dir,
		.minutes = run_file(j->left.run).jobs.minutes,
		.singleton = job->lane > 0,
	};
	const struct launcher_ops *ops = launcher_find(j->left.launcher);
	struct launch *l = NULL;
	struct err why = { 0 };
	char path[PATH_MAX];
	json_t *run;
	int rc = -1;

	part_options(j, job, down, &spec);
	run = run_json_part(j->left.run, &spec, e);
	jobs_lane_name(j->left.run, job->lane, &name);
	r.job_name = str_text(&name);
	if (run && ops && rundir_create(dir, r.probe, path, e) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, e);
	} else if (run && !ops) {
		err_set(e, 0, "'launcher' in run.json names none");
	}
	if (rc < 0) {
		rundir_discard(dir, true);
		job->state = JOB_NONE;
	} else if (up < 2) {
		err_set(&why, 0, "Slurm reports %s as out of use", down);
		refuse(job, dir, &why);
	} else if ((l = launcher_start(ops, &r, e))) {
		launcher_free(ops, l);
	} else {
		rc = -1;	/* if that is not sure, the next look decides */
		if (!launch_is_unsure(e)) {
			refuse(job, dir, e);
		}
	}
	rundir_forget(dir);	/* there may be thousands */
	json_decref(run);
	str_release(&name);
	return rc;
}

/** Submit the next try of part @i, unless another process is about to. */
static int submit_try(struct jobs *j, size_t i, const char *down, size_t up,
		      struct err *e)
{
	struct job *job = &j->list[i];
	char name[32], dir[PATH_MAX];

	if (job->tries == JOBS_TRIES_MAX) {
		return err_set(e, 0, "'%s' had %d tries", job->nodes,
			       JOBS_TRIES_MAX);
	}
	jobs_try_name(i, job->tries + 1, name);
	if (rundir_path(j->left.dir, name, dir, e) < 0) {
		return -1;
	}
	if (mkdir(dir, 0777) < 0) {
		return errno == EEXIST ? 0 :
		       err_set(e, errno, "cannot create '%s'", dir);
	}
	job->state = JOB_WAITS;
	return submit_part(j, job, down, up, dir, e);
}

/**
 * Submit all that is missing, while INT, TERM and HUP are held: one of them
 * ends it.  Nodes that are down cost their own jobs alone.  Returns 0; 1 if a
 * signal came; -1 with @e if Slurm refuses jobs.
 */
static int submit_all(struct jobs *j, struct err *e)
{
	int refused = 0;
	bool asked = false;
	struct err why;

	for (size_t i = 0; i < j->n && refused < MOST_REFUSED; i++) {
		struct str down = STR_INIT;
		const struct job *job = &j->list[i];
		const size_t up = jobs_find_down(j, job, &down);

		/* one that was never submitted gets its directory in any case,
		 * which says why; a single refusal is no reason to skip the
		 * other jobs, but several in a row are */
		if (job->state == JOB_NONE ||
		    (job->state == JOB_LOST && up >= 2 &&
		     !(job->partial && down.len > 0))) {
			asked = follow_take_signal(0);
			why = (struct err){ 0 };
			if (asked) {
				i = j->n;
			} else if (submit_try(j, i, str_text(&down), up,
					      &why) == 0) {
				refused = 0;
			} else {
				refused += launch_is_unsure(&why) ?
						   MOST_REFUSED : 1;
				*e = e->text[0] ? *e : why;
			}
		}
		str_release(&down);
	}
	return asked ? 1 : e->text[0] ? -1 : 0;
}

/* ---- follow -------------------------------------------------------------- */

/** Interval at which a followed run is checked. */
#define LOOK_NS	   (2 * NS_PER_S)
/** A report at most so often. */
#define SAY_NS	   (10 * NS_PER_S)
/** Without an answer of Slurm for so long it is left. */
#define PATIENCE_NS (600 * NS_PER_S)

/** Print how to cancel all jobs of @j. */
static void say_cancel(const struct jobs *j)
{
	const char *id = run_file(j->left.run).jobs.id;

	if (!id[0] || id[strspn(id, "0123456789abcdef")] != '\0') {
		return;
	}
	if (j->n > 0 && j->list[0].lane > 0) {
		/* scancel takes one name, and each lane has its own */
		talk_hint("to cancel the jobs: squeue --all --noheader "
			  "--format='%%j %%i' | sed -n "
			  "'s/^gpucheck-%s-.* //p' | xargs -r scancel", id);
	} else {
		talk_hint("to cancel the jobs: scancel --name=gpucheck-%s",
			  id);
	}
}

/** Check the run once.  Returns 1 if it continues, 0 if not, or -1 with @e. */
static int look(struct jobs *j, const char *dir, char *text, size_t size,
		struct err *e)
{
	bool stuck;

	if (jobs_look(j, dir, e) < 0) {
		return -1;
	}
	/* cancel the jobs that wait for a node that is down if no other goes
	 * on: they would wait until it is repaired.  Those behind them in their
	 * lane go on. */
	stuck = j->own && j->count[JOB_RUNS] == 0;
	for (size_t k = 0; stuck && k < 2 * j->n; k++) {
		const struct job *job = &j->list[k % j->n];
		struct str down = STR_INIT;

		if (job->state == JOB_WAITS && !job->in_line) {
			jobs_find_down(j, job, &down);
			stuck = !job->unsure && !job->partial && down.len > 0;
			if (k >= j->n) {
				slurm_cancel("--quiet --state=PENDING",
					     job->id);
			}
		}
		str_release(&down);
	}
	jobs_text(j, text, size);
	return jobs_go_on(j);
}

int jobs_follow(const char *dir, const struct session *s)
{
	char text[320] = "", said[320] = "", word[PATH_MAX];
	int64_t heard_ns = clock_now_ns(), said_ns = 0;
	struct jobs j = { 0 };
	bool asked = false;
	struct err e = { 0 };
	sigset_t before;
	int rc = 1, code = CODE_UNABLE;

	follow_hold_signals(&before);
	while (rc != 0 && !asked &&
	       clock_now_ns() - heard_ns < PATIENCE_NS) {
		e = (struct err){ 0 };
		rc = look(&j, dir, text, sizeof(text), &e);
		heard_ns = rc >= 0 ? clock_now_ns() : heard_ns;
		if (rc >= 0 && strcmp(text, said) != 0 &&
		    (rc == 0 || said_ns == 0 ||
		     clock_now_ns() - said_ns > SAY_NS) && !s->spec.quiet) {
			talk("%s", text);
			STR_COPY(said, text);
			said_ns = clock_now_ns();
		}
		asked = rc != 0 && follow_take_signal(LOOK_NS);
	}
	follow_release_signals(&before);
	if (asked) {
		/* ^C: the jobs continue without this process */
		talk("stopped following; the jobs continue (%s)", text);
		talk_hint("for the result: \"gpucheck attach %s\"",
			  str_quoted_dir(dir, word, sizeof(word)));
		say_cancel(&j);
		code = CODE_PARTIAL;
	} else if (rc == 0 && (!j.own || jobs_merge(&j, &e) == 0)) {
		code = show_run(dir, &s->spec, &e);
		code = code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
		talk("run directory: %s", dir);
		resume_say_how(dir, code);
	} else {
		talk_err(&e);
	}
	jobs_release(&j);
	return code;
}

/* ---- commands ------------------------------------------------------------ */

/** Submit the missing jobs of @j, then follow them unless --no-wait is given.
 *  Returns an exit code. */
static int submit_and_follow(struct jobs *j, const struct session *s,
			     struct err *e)
{
	char text[320], word[PATH_MAX];
	const char *dir = j->left.dir;
	sigset_t before;
	int rc;

	follow_hold_signals(&before);
	rc = submit_all(j, e);
	jobs_text(j, text, sizeof(text));
	if (rc < 0 && jobs_go_on(j)) {
		talk("not all jobs could be submitted: %s", e->text);
		*e = (struct err){ 0 };
		rc = 0;
	}
	if (rc == 0 && !s->spec.no_wait) {
		return jobs_follow(dir, s);
	}
	follow_release_signals(&before);
	if (rc < 0) {
		return CODE_UNABLE;
	}
	str_quoted_dir(dir, word, sizeof(word));
	if (rc > 0) {
		talk("stopped submitting; the submitted jobs continue (%s)",
		     text);
		talk_hint("to submit the others: \"gpucheck %s --resume %s\"",
			  run_file(j->left.run).probe, word);
	} else {
		printf("%s\n", dir);
		talk("not waiting; %s", text);
		talk_hint("for the result: \"gpucheck report %s\"", word);
	}
	say_cancel(j);
	return rc > 0 ? CODE_PARTIAL : CODE_HEALTHY;
}

static int start(struct session *s, const struct probe_start *t,
		  const struct jobs_ask *a, const char *drill, struct err *e)
{
	struct str says = STR_INIT;
	char dir[PATH_MAX], parts[PATH_MAX];
	json_t *run;
	struct jobs j = { 0 };
	int code = probe_run_prepare(t, drill, dir, e);

	if (code != CODE_HEALTHY) {
		return code;
	}
	run = rundir_read_json(dir, RUN_JSON, e);
	if (!run || json_object_set_new(run, "jobs", jobs_json(s, t, a)) < 0 ||
	    rundir_write_json(dir, RUN_JSON, run, e) < 0 ||
	    rundir_path(dir, JOBS_PARTS, parts, e) < 0) {
		json_decref(run);
		return CODE_UNABLE;
	}
	json_decref(run);
	if (mkdir(parts, 0777) < 0) {
		err_set(e, errno, "cannot create '%s'", parts);
		return CODE_UNABLE;
	}
	jobs_say_plan(s, a, t->r.probe, &says);
	talk("%s", str_text(&says));
	talk("run directory %s", dir);
	str_release(&says);
	code = jobs_look(&j, dir, e) < 0 ? CODE_UNABLE :
					   submit_and_follow(&j, s, e);
	jobs_release(&j);
	return code;
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
	code = code == CODE_HEALTHY ? prepare(s, &t, &a, &e) : code;
	if (code == CODE_HEALTHY) {
		code = s->plan	      ? jobs_show_plan(s, &a, probe) :
		       s->spec.dry_run ? jobs_describe(s, &t, &a, &e) :
					 start(s, &t, &a, str_text(&drill),
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

/** Read the state of the jobs once it is known of each whether Slurm has it. */
static int look_until_sure(struct jobs *j, const char *dir, struct err *e)
{
	bool unsure = true;

	while (unsure) {
		if (jobs_look(j, dir, e) < 0) {
			return -1;
		}
		unsure = false;
		for (size_t i = 0; i < j->n; i++) {
			unsure = unsure || j->list[i].unsure;
		}
		if (unsure) {
			clock_sleep(NS_PER_S);
		}
	}
	return 0;
}

/** Submit one more try of each part that is missing. */
static int resume(struct jobs *j, const char *dir, struct session *s,
		  const char *probe, struct err *e)
{
	const bool *typed = s->typed;
	const struct spec now = s->spec;
	char text[320] = "";

	if (rundir_check_own(dir, e) < 0 || look_until_sure(j, dir, e) < 0 ||
	    jobs_merge(j, e) < 0) {
		return CODE_USAGE;
	}
	if (strcmp(run_file(j->left.run).probe, probe) != 0) {
		err_set(e, 0, "'%s' is a run of '%.40s', not of %s", dir,
			run_file(j->left.run).probe, probe);
		return CODE_USAGE;
	}
	if (resume_options(s, &j->left.spec, "", e) < 0) {
		return CODE_USAGE;
	}
	/* the options that may differ for a run that is continued */
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (o->resumed == SPEC_LIMITS && typed[o - spec_options]) {
			spec_take(&j->left.spec, &now, o);
		}
	}
	talk("continuing '%s': %s", dir, jobs_text(j, text, sizeof(text)));
	return s->spec.dry_run ? CODE_HEALTHY : submit_and_follow(j, s, e);
}

int jobs_resume(struct session *s, const char *probe)
{
	char dir[PATH_MAX];
	struct jobs j = { 0 };
	struct err e = { 0 };
	int code = CODE_USAGE;

	if (!realpath(s->spec.resume, dir)) {
		rundir_missing(s->spec.resume, &e);
	} else {
		code = resume(&j, dir, s, probe, &e);
	}
	jobs_release(&j);
	return e.text[0] && code != CODE_HEALTHY ? talk_fail(&e, code) : code;
}
