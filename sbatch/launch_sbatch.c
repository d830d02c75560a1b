/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/* ---- job script ---------------------------------------------------------- */

#define DEFAULT_NODES 2
/** --time of a job with --deadline and without --time-limit.  Slurm ends a job
 *  whose limit would pass its deadline, and gives one without a limit one of a
 *  minute (seen with Slurm 22.05). */
#define DEADLINE_MINUTES 60

/** The template as text, part of the program; as a file of its own it can be
 *  read and tried. */
EMBED_TEXT(job_template, "sbatch/job.sbatch");

/** A line with a value of this variable ends the script. */
#define LAST "@INNER@"

/** Copy the template with the text of each of @vars in place of its name; a
 *  line with a name whose text is empty is left out. */
static void fill(const struct name_text *vars, struct str *out)
{
	struct str line = STR_INIT;
	bool empty = false, last = false;

	for (const char *at = job_template; *at;) {
		const struct name_text *v = vars;

		while (v->name && !str_starts(at, v->name)) {
			v++;
		}
		v = v->name ? v : NULL;
		empty = empty || (v && !*v->text);
		last = last || str_starts(at, LAST);
		str_addmem(&line, v ? v->text : at, v ? strlen(v->text) : 1);
		if (*at == '\n') {
			out->failed |= line.failed;
			str_add(out, empty ? "" : str_text(&line));
			if (last && !empty) {
				break;
			}
			str_reset(&line);
			empty = last = false;
		}
		at += v ? strlen(v->name) : 1;
	}
	str_release(&line);
}

/** Minutes of --time for a run of at most @spec's --time-limit: it has to boot
 *  before, and TERM comes 60 s before the end, up to 60 s early.  An image may
 *  have to be imported where srun has options of its own; elsewhere a quarter
 *  of an hour more would keep a short run out of short partitions. */
static int64_t job_minutes(const struct spec *spec)
{
	const int64_t minute = 60 * NS_PER_S;
	bool image = *spec->srun_args != '\0' || spec->start_timeout_ns > 0;
	int64_t boot_ns = image ? spec_boot_first_ns(spec, true) :
				  spec_boot_ns(spec);
	int64_t ns = spec->max_time_ns + boot_ns + 2 * minute;

	return (ns + minute - 1) / minute;
}

/**
 * sbatch reads its #SBATCH lines as a shell does, but for backslashes, and
 * then expands %j and the like in the name of the output file.
 */
static void quote_output(const char *dir, struct str *out)
{
	struct str path = STR_INIT;

	for (; *dir; dir++) {
		str_add(&path, *dir == '%' ? "%" : "");
		str_addch(&path, *dir);
	}
	str_addf(&path, "/%s", RUN_JOB_OUT);
	str_add_quoted(out, str_text(&path));
	out->failed = out->failed || path.failed;
	str_release(&path);
}

static bool fits_script(const char *path)
{
	for (; *path; path++) {
		if ((unsigned char)*path < ' ' || *path == '\\') {
			return false;
		}
	}
	return true;
}

int64_t job_script_nodes(const struct spec *s)
{
	return s->nodes	      ? s->nodes :
	       s->nodelist[0] ? spec_nodes_left(s, s->nodelist, NULL) :
				DEFAULT_NODES;
}

/** "" for zero: its line is left out. */
static void number(char *buf, size_t size, int64_t value)
{
	buf[0] = '\0';
	if (value > 0) {
		snprintf(buf, size, "%" PRId64, value);
	}
}

int job_script_write(const struct launch_request *r, struct str *out,
		     struct err *e)
{
	const struct spec *s = r->spec;
	struct str output = STR_INIT, self = STR_INIT, dir = STR_INIT;
	struct str srun_args = STR_INIT;
	struct args words = { 0 };
	const int64_t limit = s->max_time_ns ? job_minutes(s) :
			      s->deadline_ns ? DEADLINE_MINUTES : r->minutes;
	char name[64], nodes[24], gpus[24], minutes[24], deadline[32] = "";
	int64_t n_gpus = r->gpus;

	if (!fits_script(r->dir) || !fits_script(r->self)) {
		return err_set(e, EINVAL, "a path with control characters or "
					  "backslashes cannot be used in a "
					  "batch script");
	}
	if (!n_gpus && slurm_fit_ask(r, job_script_nodes(s), &n_gpus, e) < 0) {
		return -1;
	}
	n_gpus = r->light ? 0 : n_gpus;
	snprintf(name, sizeof(name), "%s%s", r->job_name ? "" : "gpucheck-",
		 r->job_name ? r->job_name : r->probe);
	number(nodes, sizeof(nodes), job_script_nodes(s));
	number(gpus, sizeof(gpus), n_gpus);
	number(minutes, sizeof(minutes), limit);
	if (s->deadline_ns > 0) {
		snprintf(deadline, sizeof(deadline), "now+%" PRId64,
			 s->deadline_ns / NS_PER_S + 60 * limit);
	}
	quote_output(r->dir, &output);
	str_add_quoted(&self, r->self);
	str_add_quoted(&dir, r->dir);
	args_add_srun(&words, s);
	args_line(&words, &srun_args);
	fill((const struct name_text[]){
		{ .name = "@JOB_NAME@", .text = name },
		{ .name = "@NODES@", .text = nodes },
		{ .name = "@GPUS@", .text = gpus },
		{ .name = "@MINUTES@", .text = minutes },
		{ .name = "@EXCLUSIVE@", .text = r->light ? "" : "exclusive" },
		{ .name = "@MEM@", .text = r->light ? "" : "0" },
		{ .name = "@OUTPUT@", .text = str_text(&output) },
		{ .name = "@SELF@", .text = str_text(&self) },
		{ .name = "@DIR@", .text = str_text(&dir) },
		{ .name = LAST, .text = r->inner ? r->inner : "" },
		{ .name = "@SRUN_ARGS@", .text = str_text(&srun_args) },
		{ .name = "@SINGLETON@",
		  .text = r->singleton ? "singleton" : "" },
		{ .name = "@DEADLINE@", .text = deadline },
		{ 0 }
	}, out);
	out->failed |= output.failed || self.failed || dir.failed ||
		       srun_args.failed || words.failed;
	args_release(&words);
	str_release(&srun_args);
	str_release(&output);
	str_release(&self);
	str_release(&dir);
	return out->failed ?
		       err_set(e, ENOMEM, "cannot write the batch script") : 0;
}

/* ---- launch sbatch ------------------------------------------------------- */

/** How often the controller is asked: soon, then ever more rarely. */
#define FIRST_ASK_NS (200 * NS_PER_MS)
#define LAST_ASK_NS  (5 * NS_PER_S)
/** Nodes without which a job is submitted again. */
#define RESTARTS     3
/** Largest part of job.out that is read. */
#define OUT_MAX	     (1 << 20)
/** A job that has come to nothing ends by itself within this. */
#define END_NS	     (3 * NS_PER_S)
/** Where jobs have no time limit Slurm plans for a year: no start to tell. */
#define FAR_S	     (30 * 24 * 3600)

/** A batch job. */
struct launch {
	char job[SLURM_JOB_SIZE];
	char dir[PATH_MAX];
	/** "" = none yet */
	char nodes[sizeof(((struct slurm_job *)0)->nodes)];
	struct launch_state state;	/* as last heard of */
	const struct launch_request *r;	/* of the job; NULL: it was found */
	struct spec less;	/* @r's, without nodes that were lost */
	int restarts;
	struct slurm_job job_is;	/* as last heard of */
	int64_t ask_ns, wait_ns;	/* when to ask again, and after that */
};

static void sbatch_usual(const struct spec *s, int64_t *nodes, int64_t *gpus)
{
	const struct launch_request r = { .spec = s };

	*nodes = job_script_nodes(s);
	slurm_fit_ask(&r, *nodes, gpus, NULL);
}

/** @l is that job from now on. */
static void take_job(struct launch *l, const char *dir)
{
	snprintf(l->dir, sizeof(l->dir), "%s", dir);
	l->wait_ns = FIRST_ASK_NS;
}

static int sbatch_adopt(struct launch *l, const char *dir, bool past,
			struct err *e)
{
	char script[PATH_MAX];

	if (rundir_path(dir, RUN_JOB_SCRIPT, script, e) < 0 ||
	    slurm_find_job(script, past, l->job, e) < 0) {
		return -1;
	}
	take_job(l, dir);
	launch_say(&l->state, LAUNCH_PENDING, -1, "job %s is in the queue",
		   l->job);
	return l->job[0] != '\0';
}

static int sbatch_find(const char *job, char dir[PATH_MAX], struct err *e)
{
	char *end;

	if (slurm_find_script(job, dir, e) < 0) {
		return -1;
	}
	end = strrchr(dir, '/');
	if (!end || strcmp(end + 1, RUN_JOB_SCRIPT) != 0) {
		return err_set(e, 0, "job %s was not submitted by gpucheck",
			       job);
	}
	*end = '\0';
	return 0;
}

void launch_sbatch_words(struct args *a)
{
	static const char *const names[] = {
		"SBATCH_ARRAY_INX", "SBATCH_CORE_SPEC", "SBATCH_CPUS_PER_GPU",
		"SBATCH_ERROR", "SBATCH_EXCLUSIVE", "SBATCH_GPUS",
		"SBATCH_GPUS_PER_NODE", "SBATCH_GPUS_PER_TASK",
		"SBATCH_GPU_BIND", "SBATCH_GRES", "SBATCH_HINT",
		"SBATCH_INPUT", "SBATCH_JOB_NAME", "SBATCH_MEM_PER_CPU",
		"SBATCH_MEM_PER_GPU", "SBATCH_MEM_PER_NODE", "SBATCH_NO_KILL",
		"SBATCH_OPEN_MODE", "SBATCH_OUTPUT", "SBATCH_OVERCOMMIT",
		"SBATCH_REQUEUE", "SBATCH_SIGNAL", "SBATCH_THREADS_PER_CORE",
		"SBATCH_THREAD_SPEC", "SBATCH_TRES_PER_TASK", "SBATCH_WAIT",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (getenv(names[i])) {
			args_unset(a, names[i]);
		}
	}
	args_words(a, "sbatch --parsable");
}

/** The command that submits the script of @r. */
static int compose(const struct launch_request *r, struct args *a,
		   struct err *e)
{
	static const struct {
		const char *name;
		char letter;
		const char *hint;
	} several[] = {
		{ "array", 'a', "start gpucheck once per run" },
		{ "requeue", '\0', "--resume continues a run that a job has "
				   "left unfinished" },
	};
	char script[PATH_MAX];

	for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++) {
		if (slurm_fit_option(r->extra, several[i].name,
				     several[i].letter)) {
			err_set(e, EINVAL, "--%s would start the run in "
				"'%.200s' several times; a run is one job",
				several[i].name, r->dir);
			return err_hint(e, "%s", several[i].hint);
		}
	}
	if (rundir_path(r->dir, RUN_JOB_SCRIPT, script, e) < 0) {
		return -1;
	}
	launch_sbatch_words(a);
	args_add_places(a, r->nodelist, r->spec);
	args_add_all(a, r->extra);
	args_add(a, script);
	return 0;
}

static int sbatch_describe(const struct launch_request *r, struct str *out,
			   struct err *e)
{
	struct args a = { 0 };

	if (compose(r, &a, e) < 0) {
		return -1;
	}
	if (job_script_write(r, out, e) < 0) {
		args_release(&a);
		return -1;
	}
	str_add(out, "\n# submitted with: ");
	args_line(&a, out);
	str_addch(out, '\n');
	args_release(&a);
	return 0;
}

/** Write the script of @r into its directory, unless it is there: a script that
 *  is submitted again needs no room on a full disk. */
static int write_script(const struct launch_request *r, struct err *e)
{
	struct str script = STR_INIT;
	int rc = job_script_write(r, &script, e);
	size_t len = 0;
	char *text = rc < 0 ? NULL : rundir_read_text(r->dir, RUN_JOB_SCRIPT,
						      script.len + 1, &len,
						      NULL);

	if (rc == 0 && (!text || script.failed || len != script.len ||
			memcmp(text, str_text(&script), len) != 0)) {
		rc = rundir_write_text(r->dir, RUN_JOB_SCRIPT,
				       str_text(&script), 0755, e);
	}
	free(text);
	str_release(&script);
	return rc;
}

static int submit(const struct launch_request *r, char job[SLURM_JOB_SIZE],
		  struct err *e)
{
	/* hints at the option that sbatch says it does not know; the last row
	 * matches any text */
	static const struct {
		const char *says, *hint;
	} known[] = {
		{ .says = "Invalid node name",
		  .hint = "--nodelist or -x names a node that Slurm does not "
			  "know; \"sinfo -N\" lists them" },
		{ .says = "nvalid partition",
		  .hint = "\"sinfo -s\" lists the partitions, to name as in "
			  "\"-- --partition=NAME\"" },
		{ .says = "",
		  .hint = "options after -- go to sbatch, for example \"-- "
			  "--partition=NAME --account=NAME\"" },
	};
	struct args a = { 0 };
	struct str out = STR_INIT;
	size_t i = 0;
	int rc;

	if (compose(r, &a, e) < 0) {
		return -1;
	}
	rc = slurm_run(&a, &out, e) < 0 ?
		     -1 : slurm_parse_job_id(str_text(&out), job, e);
	if (rc < 0 && launch_is_unsure(e)) {
		err_hint(e, "\"squeue --me\" shows whether it was submitted");
	} else if (rc < 0 && !e->hint[0]) {
		while (!strstr(e->text, known[i].says)) {
			i++;
		}
		err_hint(e, "%s", known[i].hint);
	}
	str_release(&out);
	return rc;
}

static int sbatch_start(struct launch *l, const struct launch_request *r,
			struct err *e)
{
	if (write_script(r, e) < 0 || submit(r, l->job, e) < 0) {
		return -1;
	}
	take_job(l, r->dir);
	l->r = r;
	l->less = *r->spec;
	launch_say(&l->state, LAUNCH_PENDING, -1, "job %s is submitted",
		   l->job);
	return 0;
}

/** Why it waits is asked for once for each reason. */
static void take_state(struct launch *l, const struct slurm_job *job)
{
	const struct launch_state before = l->state;

	slurm_state_explain(l->job, job, l->dir, &l->state);
	if (l->state.phase == LAUNCH_ENDED) {
		slurm_blame_end(job, &l->state);
	}
	if (l->state.phase != LAUNCH_PENDING) {
		return;
	}
	if (strcmp(before.text, l->state.text) == 0) {
		STR_COPY(l->state.hint, before.hint);
	} else {
		slurm_blame_waiting(l->job, job, &l->state);
	}
	if (l->state.starts_s > time(NULL) + FAR_S) {
		l->state.starts_s = 0;
	}
}

/**
 * scontrol alone: unlike squeue it still knows a job for a while after its
 * end, with its exit code.  That it does not answer never means that the job
 * has ended; only that the controller denies it does.
 */
static int ask(struct launch *l, struct err *e)
{
	struct str out = STR_INIT;
	struct slurm_job *job = &l->job_is;
	struct err why = { 0 };
	int rc = 0;

	if (slurm_ask("scontrol --oneliner show job", l->job, &out,
		      &why) == 0) {
		rc = slurm_parse_job(str_text(&out), job, e);
		if (rc == 0) {
			struct launch_state lost = { 0 };

			take_state(l, job);
			/* with --no-kill a job outlives the node of its
			 * batch script, and holds the others with nothing
			 * left that would ever end it (seen with Slurm
			 * 22.05) */
			launch_say(&lost, LAUNCH_ENDED, -1,
				   "job %s lost its first node %s", l->job,
				   job->batch_host);
			lost.cut = true;
			if (l->state.phase == LAUNCH_RUNNING &&
			    job->batch_host[0] &&
			    slurm_blame_lost(job->batch_host, &lost)) {
				slurm_cancel("--quiet --state=RUNNING", l->job);
				l->state = lost;
			}
			if (isalnum((uint8_t)job->nodes[0])) {
				STR_COPY(l->nodes, job->nodes);
			}
		}
	} else if (strstr(why.text, "Invalid job id")) {
		/* it is over; how it ended is not known */
		launch_say(&l->state, LAUNCH_ENDED, -1, "job %s has ended, and "
			   "Slurm has no record of it", l->job);
	} else {
		rc = err_set(e, why.code, "Slurm does not respond about job "
			     "%s: %.200s", l->job, why.text);
	}
	str_release(&out);
	return rc;
}

/** The code of why a job could not begin on @node; NULL: it could, or another
 *  one would not either. */
static const char *find_lost(const struct launch *l, struct slurm_node *node,
			     char says[256])
{
	const struct slurm_job *job = &l->job_is;
	struct str out = STR_INIT;
	bool is = false;
	const char *at;
	char *text;

	if (l->state.phase != LAUNCH_ENDED) {
		if (job->restarts == 0 || !job->batch_host[0]) {
			return NULL;
		}
		/* Slurm has put the job back, since its first node does not
		 * answer: it waits for it from then on */
		slurm_ask_nodes(job->batch_host, &out, NULL);
		at = str_text(&out);
		if (slurm_parse_node(&at, node)) {
			is = strchr(node->state, '*') ||
			     slurm_state_is_out(node->state);
			snprintf(says, 256, "Slurm cannot start the job on %s, "
				 "and has it as %s%s%s", node->name,
				 node->state, node->why[0] ? ": " : "",
				 node->why);
		}
		str_release(&out);
		return is ? "task_launch_failed" : NULL;
	}
	/* if the first node cannot start the program of the script, its last
	 * words are that line, and the job's exit code is the shell's */
	text = l->restarts > 0 ? NULL :
	       rundir_read_text(l->dir, RUN_JOB_OUT, OUT_MAX, NULL, NULL);
	at = text ? strstr(text, l->r->self) : NULL;
	is = at && (job->exit_code == 126 || job->exit_code == 127);
	if (is) {
		snprintf(says, 256, "%.*s", (int)strcspn(at, "\n"), at);
	}
	free(text);
	if (is && slurm_is_node(job->batch_host)) {
		STR_COPY(node->name, job->batch_host);
		return "program_not_started";
	}
	return l->nodes[0] && slurm_blame_prolog(l->nodes, node, says) ?
		       "job_prolog" : NULL;
}

/**
 * A node whose prolog fails, or the first one without slurmd or the program,
 * takes the whole job with it, before a step of it can say so: submit it once
 * more, without that node, which stays a finding.
 */
static bool submit_less(struct launch *l)
{
	struct spec *s = &l->less;
	struct slurm_node node = { 0 };
	const size_t len = strlen(s->exclude);
	const int64_t nodes = job_script_nodes(s);
	struct launch_request r;
	struct err why = { 0 };	/* the end of the first job says more */
	struct run_file f;
	const char *code;
	json_t *run;
	bool begun;
	char says[256];

	if (!l->r || l->restarts >= RESTARTS || nodes <= 1) {
		return false;
	}
	/* no part of the run may have begun; the coordinator of a resumed run
	 * removes RUN_RESUME */
	run = rundir_read_json(l->dir, RUN_JSON, NULL);
	f = run_file(run);
	begun = !run || f.planned.given || f.ended_utc[0] ||
		rundir_sign_ns(l->dir);
	json_decref(run);
	if (begun && !rundir_has(l->dir, RUN_RESUME)) {
		return false;
	}
	code = find_lost(l, &node, says);
	if (!code || len + strlen(node.name) + 2 > sizeof(s->exclude)) {
		return false;
	}
	snprintf(s->exclude + len, sizeof(s->exclude) - len, "%s%s",
		 len > 0 ? "," : "", node.name);
	s->nodes = nodes - 1;
	r = *l->r;
	r.spec = s;
	l->restarts++;
	if (l->state.phase != LAUNCH_ENDED) {
		slurm_cancel("--quiet", l->job);
	}
	if (write_script(&r, NULL) < 0 ||
	    submit(&r, l->job, &why) < 0) {
		return false;
	}
	run_absent_note(l->dir, &(struct run_entry){ RUN_ENTRY_NONE,
			.node = node.name, .code = code, .source = "sinfo",
			.detail = says }, NULL);
	take_job(l, l->r->dir);
	l->nodes[0] = '\0';
	l->ask_ns = 0;
	launch_say(&l->state, LAUNCH_PENDING, -1, "%.240s; job %s is submitted "
		   "without %s", says, l->job, node.name);
	return true;
}

static int sbatch_poll(struct launch *l, struct launch_state *st,
		       struct err *e)
{
	const int64_t now = clock_now_ns();
	int rc = 0;

	if (l->state.phase != LAUNCH_ENDED && now >= l->ask_ns) {
		rc = ask(l, e);
		if (l->state.phase == LAUNCH_ENDED || l->job_is.restarts > 0) {
			submit_less(l);
		}
		l->ask_ns = clock_now_ns() + l->wait_ns;
		l->wait_ns += l->wait_ns / 2;
		if (l->wait_ns > LAST_ASK_NS) {
			l->wait_ns = LAST_ASK_NS;
		}
	}
	*st = l->state;
	return rc;
}

static void sbatch_end(struct launch *l, struct launch_state *st)
{
	const int64_t deadline = clock_now_ns() + END_NS;

	while (l->state.phase != LAUNCH_ENDED && ask(l, NULL) == 0 &&
	       l->state.phase != LAUNCH_ENDED && l->job_is.restarts == 0 &&
	       clock_now_ns() < deadline) {
		clock_sleep(FIRST_ASK_NS);
	}
	*st = l->state;
	if (l->job_is.restarts > 0 && !st->cut) {
		launch_say(st, st->phase, st->exit_code, "job %s "
			   SLURM_REQUEUED, l->job);
		st->cut = true;
	}
}

/** A cancelled job has nothing to do with its nodes, unless Slurm cancelled it
 *  for a prolog that failed. */
static bool sbatch_blame(struct launch *l, struct err *e, struct str *names)
{
	return l->nodes[0] &&
	       slurm_blame(l->nodes, strcmp(l->job_is.state, "CANCELLED") == 0,
			   e, names);
}

static const char *sbatch_job_id(const struct launch *l)
{
	return l->job;
}

const struct launcher_ops launcher_sbatch = {
	.name = "sbatch",
	.size = sizeof(struct launch),
	.program = "sbatch",
	.describe = sbatch_describe,
	.start = sbatch_start,
	.poll = sbatch_poll,
	.chosen = "with sbatch",
	.usual = sbatch_usual,
	.adopt = sbatch_adopt,
	.find = sbatch_find,
	.end = sbatch_end,
	.blame = sbatch_blame,
	.inside = &launcher_srun,
	.cancel = "scancel ",
	.job_id = sbatch_job_id,
};
