/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "probes/engine/agent/node_task.h"
#include "report/judge/memlock_verdict.h"
#include "report/judge/pairs.h"
#include "report/model/run_read.h"
#include "report/show/judged.h"

/* ---- node look ----------------------------------------------------------- */

/** The look is a child of this process: no launcher. */
#define LAUNCHER "node"

/** As Slurm calls this node, else as it calls itself: as much of it as rows
 *  have room for. */
static const char *node_look_node_name(char buf[64])
{
	const char *name = getenv("SLURMD_NODENAME");
	char own[HOST_NAME_MAX + 1] = "";

	if (!name || !name[0]) {
		gethostname(own, sizeof(own) - 1);
		name = own;
	}
	str_copy(buf, 64, name);
	return buf;
}

/** The child's "node_done" about this node; NULL with @e. */
static json_t *node_look_look(const struct session *s,
			      const struct probe *probe, struct err *e)
{
	char host[64];
	json_t *args =
		json_pack("{s:s, s:o}", "node", node_look_node_name(host),
			  "options", spec_json(&s->spec));
	json_t *said = args ? node_task_run(probe, args, e) :
			      (err_set(e, ENOMEM, "no memory to look"), NULL);

	json_decref(args);
	return said;
}

/** @node NULL: @json names it. */
static int node_look_add_row(struct judged *run, const json_t *json,
			     const char *node, struct err *e)
{
	struct memlock_row row;

	if (record_from_json(&schema_memlock, json, &row, e) < 0) {
		return -1;
	}
	if (node) {
		STR_COPY(row.node, node);
	}
	return memlock_run_add(&run->run, run->more, &row) < 0 ?
		       err_set(e, ENOMEM, "no memory for the rows") : 0;
}

static int add_rows(struct judged *run, const json_t *rows, struct err *e)
{
	json_t *json;
	size_t i;

	json_array_foreach(rows, i, json)
	{
		if (node_look_add_row(run, json, NULL, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/** The run as its directory would have it. */
static int fill_run(const struct session *s, json_t *said,
		    struct judged *run, struct err *e)
{
	char utc[CLOCK_UTC_SIZE], host[64];

	json_object_set_new(run->run.json, "strict",
			    json_boolean(s->spec.strict));
	json_object_set_new(run->run.json, "ended_utc",
			    json_string(clock_utc(utc)));
	run->run.ended = true;
	run->run.strict = s->spec.strict;
	if (add_rows(run, json_object_get(run->run.json, "shell"), e) < 0 ||
	    add_rows(run, json_object_get(said, "rows"), e) < 0) {
		return -1;
	}
	/* a child that crashed or hung has a last row that says so */
	return strcmp(json_member(said, "outcome"), "ok") == 0
		       ? 0
		       : node_look_add_row(run, said, node_look_node_name(host),
					   e);
}

/** -o: the same files as any run, then the same words. */
static int keep_look(const struct session *s, const char *probe,
		     const struct judged *run)
{
	const struct memlock_rows *rows = run->more;
	struct rundir_table results = { 0 };
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = 0;

	if (rundir_create(s->spec.out, probe, dir, &e) < 0) {
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run->run.json, &e) < 0 ||
	    rundir_table_open(&results, dir, &schema_memlock, &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	for (size_t i = 0; i < rows->n && code == 0; i++) {
		code = rundir_table_add(&results, &rows->rows[i], &e);
	}
	rundir_table_close(&results);
	if (code == 0) {
		code = show_run(dir, &s->spec, &e);
	}
	return code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
}

static void print_csv(const struct memlock_rows *rows, struct str *out)
{
	record_add_header(&schema_memlock, out);
	for (size_t i = 0; i < rows->n; i++) {
		record_add_csv(&schema_memlock, &rows->rows[i], out);
	}
}

/** As judged_json(), of rows that are in no file. */
static int node_look_print_json(const struct judged *run, struct err *e)
{
	const struct memlock_rows *m = run->more;
	json_t *rows = json_array(), *all;
	int rc;

	for (size_t i = 0; i < m->n; i++) {
		json_array_append_new(rows, record_json(&schema_memlock,
							&m->rows[i]));
	}
	all = json_pack("{s:O, s:o, s:o}", "run", run->run.json, "verdict",
			verdict_json(&run->run, &run->verdict), "rows", rows);
	rc = all ? json_print(all, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(all);
	return rc < 0 ? err_set(e, ENOMEM, "cannot write JSON") : 0;
}

static int node_look_show(const struct session *s, struct judged *run)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (memlock_judge(&run->run, run->more, &run->verdict) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return talk_fail(&e, CODE_UNABLE);
	}
	code = judged_exit(run);
	if (s->spec.json && node_look_print_json(run, &e) < 0 &&
	    !ferror(stdout)) {
		code = talk_fail(&e, CODE_UNABLE);
	} else if (s->spec.csv) {
		print_csv(run->more, &text);
	} else if (!s->spec.json && !s->spec.quiet) {
		judged_words(run, screen_width(STDOUT_FILENO),
			     screen_color(&s->spec),
			     TERM_ASCII, &text);
	}
	screen_print(&text, stdout);
	str_release(&text);
	verdict_release(&run->verdict);
	return code;
}

int node_look(const struct session *s, const char *name)
{
	struct memlock_rows rows = { 0 };
	struct judged run = { .kind = &judged_memlock, .more = &rows };
	struct err e = { 0 };
	json_t *said;
	int code;

	run.run.json = run_json_new(s, name, LAUNCHER, "", &e);
	if (!run.run.json) {
		return talk_fail(&e, CODE_USAGE);
	}
	STR_COPY(run.run.probe, name);
	said = node_look_look(s, probe_find(name), &e);
	if (!said || fill_run(s, said, &run, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else {
		code = s->spec.out[0] ? keep_look(s, name, &run)
				      : node_look_show(s, &run);
	}
	json_decref(said);
	memlock_rows_release(&rows);
	run_release(&run.run);
	return code;
}

/* ---- node self ----------------------------------------------------------- */

/** The looks end so much before the whole. */
#define JUDGE_SHARE 9
#define HOSTNAME_SIZE 64

/* Each is a process, "gpucheck worker NAME". */
static const struct {
	const char *worker;
	const char *what;	/* for people */
} looks[] = {
	{ "node_gpus", "GPUs" },
	{ "node_host", "ports and interfaces" },
	{ "node_limits", "limits" },
};
#define LOOKS (sizeof(looks) / sizeof(looks[0]))

struct self {
	const struct session *s;
	struct run run;
	struct memlock_rows rows;
	struct node_look looks[LOOKS];
	struct verdict verdict;
};

/* ---- the end, whatever happens ------------------------------------------- */

static void time_is_up(int sig)
{
	(void)sig;
	_exit(CODE_UNABLE);
}

/** The last resort: a pipe that nobody reads, a program that is read from a
 *  file system which hangs. */
static void set_end(int64_t ns)
{
	const struct itimerval it = { .it_value = {
		.tv_sec = ns / NS_PER_S,
		.tv_usec = ns % NS_PER_S / NS_PER_US,
	} };
	const struct sigaction act = { .sa_handler = time_is_up };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* ---- what the children say ----------------------------------------------- */

/** As Slurm calls this node, else as it calls itself, without its domain. */
static void node_name(char buf[HOSTNAME_SIZE])
{
	const char *name = getenv("SLURMD_NODENAME");
	char own[HOST_NAME_MAX + 1] = "";

	if (!name || !name[0]) {
		gethostname(own, sizeof(own) - 1);
		own[strcspn(own, ".")] = '\0';
		name = own;
	}
	str_copy(buf, HOSTNAME_SIZE, name[0] ? name : "localhost");
}

/** A part that is found by its name has to have a number. */
static int add_fact(struct self *self, const json_t *json, struct err *e)
{
	struct fact_row f;

	if (record_from_json(&schema_facts, json, &f, e) < 0) {
		return -1;
	}
	STR_COPY(f.node, self->run.nodes[0].name);
	if (strcmp(f.fact, "port_state") == 0 || strcmp(f.fact, "link") == 0) {
		run_add_name(&self->run, f.scope);
	}
	return run_add_fact(&self->run, &f) < 0 ?
		       err_set(e, ENOMEM, "no memory for the facts") : 0;
}

static int add_row(struct self *self, const json_t *json, struct err *e)
{
	struct memlock_row row;

	if (record_from_json(&schema_memlock, json, &row, e) < 0) {
		return -1;
	}
	STR_COPY(row.node, self->run.nodes[0].name);
	return memlock_run_add(&self->run, &self->rows, &row) < 0 ?
		       err_set(e, ENOMEM, "no memory for the rows") : 0;
}

static void say_end(const struct gather *g, struct node_look *look)
{
	char how[64];

	look->ok = g->why == 0 && !g->st.timed_out && g->st.exit_code == 0;
	if (g->why != 0) {
		STR_COPY(look->code, "worker_crashed");
		snprintf(look->detail, sizeof(look->detail),
			 "the process could not be started: %s",
			 strerror(g->why));
	} else if (g->st.timed_out) {
		STR_COPY(look->code, "worker_hung");
		snprintf(look->detail, sizeof(look->detail),
			 "no answer in time%s", g->left ?
				 ", and the process cannot be killed (state D)"
				 : "");
	} else if (!look->ok) {
		STR_COPY(look->code, "worker_crashed");
		snprintf(look->detail, sizeof(look->detail),
			 "the process ended with %s",
			 spawn_status_text(&g->st, how, sizeof(how)));
	}
}

/** What it said before it hung counts as well. */
static int take(struct self *self, size_t i, const struct gather *g,
		struct err *e)
{
	struct node_look *look = &self->looks[i];
	json_t *msg, *item;
	size_t k;
	int rc = 0;

	look->what = looks[i].what;
	say_end(g, look);
	msg = node_task_message(str_text(&g->out), g->out.len,
				look->ok ? "ok" : "error", look->code,
				look->detail);
	json_array_foreach(json_object_get(msg, "facts"), k, item) {
		rc = rc == 0 ? add_fact(self, item, e) : rc;
	}
	json_array_foreach(json_object_get(msg, "rows"), k, item) {
		rc = rc == 0 ? add_row(self, item, e) : rc;
	}
	if (look->ok && strcmp(json_member(msg, "outcome"), "ok") != 0) {
		look->ok = false;
		STR_COPY(look->code, json_member(msg, "code"));
		STR_COPY(look->detail, json_member(msg, "detail"));
	}
	json_decref(msg);
	return rc;
}

static int look(struct self *self, int64_t deadline_ns, struct err *e)
{
	char path[PATH_MAX];
	char *argv[LOOKS][4];
	struct gather list[LOOKS] = { 0 };
	json_t *args = json_pack("{s:s, s:o}", "node",
				 self->run.nodes[0].name, "options",
				 spec_json(&self->s->spec));
	char *text = args ? json_dumps(args, JSON_COMPACT) : NULL;
	int rc = text ? spawn_self(path, sizeof(path), e) :
			err_set(e, ENOMEM, "no memory to look");

	for (size_t i = 0; i < LOOKS; i++) {
		argv[i][0] = path;
		argv[i][1] = (char *)"worker";
		argv[i][2] = (char *)looks[i].worker;
		argv[i][3] = NULL;
		list[i].argv = argv[i];
		list[i].in = text;
	}
	if (rc == 0) {
		gather(list, LOOKS, NODE_TASK_MAX, deadline_ns);
	}
	for (size_t i = 0; i < LOOKS; i++) {
		rc = rc == 0 ? take(self, i, &list[i], e) : rc;
		str_release(&list[i].out);
	}
	free(text);
	json_decref(args);
	return rc;
}

/* ---- what comes of it ---------------------------------------------------- */

static int print_json(struct self *self, struct err *e)
{
	json_t *rows = json_array(), *facts = json_array(), *all;
	bool whole = self->s->spec.json == SPEC_JSON_ALL;
	int rc;

	for (size_t i = 0; whole && i < self->rows.n; i++) {
		json_array_append_new(rows, record_json(&schema_memlock,
							&self->rows.rows[i]));
	}
	for (size_t i = 0; whole && i < self->run.n_facts; i++) {
		json_array_append_new(facts, record_json(&schema_facts,
							 &self->run.facts[i]));
	}
	all = json_pack("{s:O, s:o}", "run", self->run.json, "verdict",
			verdict_json(&self->run, &self->verdict));
	if (whole) {
		json_object_set(all, "rows", rows);
		json_object_set(all, "facts", facts);
	}
	rc = all ? json_print(all, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(all);
	json_decref(rows);
	json_decref(facts);
	return rc < 0 ? err_set(e, ENOMEM, "cannot write JSON") : 0;
}

/** Of codes that were chosen nothing else makes it fail. */
static int code_of(const struct self *self)
{
	const char *codes = self->s->spec.fail_on;

	if (codes[0]) {
		return node_has_one_of(&self->verdict, codes) ? CODE_FAULT :
								CODE_HEALTHY;
	}
	return verdict_exit(&self->run, &self->verdict);
}

static int show(struct self *self)
{
	const struct spec *spec = &self->s->spec;
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (node_judge(&self->run, &self->rows, self->looks, LOOKS,
		       &self->verdict) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return talk_fail(&e, CODE_UNABLE);
	}
	code = code_of(self);
	if (spec->json) {
		if (print_json(self, &e) < 0 && !ferror(stdout)) {
			code = talk_fail(&e, CODE_UNABLE);
		}
	} else if (!spec->quiet) {
		node_line(&self->run, &self->verdict, &text);
		if (spec->verbose > 0) {
			node_details(&self->run, &self->verdict, &text);
		}
	}
	screen_print(&text, stdout);
	str_release(&text);
	verdict_release(&self->verdict);
	return code;
}

/** The run as its directory would have it. */
static int begin(struct self *self, struct err *e)
{
	char utc[CLOCK_UTC_SIZE], name[HOSTNAME_SIZE];
	struct run *run = &self->run;

	run->json = run_json_new(self->s, NODE_PROBE, "node", "", e);
	if (!run->json) {
		return -1;
	}
	json_object_set_new(run->json, "strict",
			    json_boolean(self->s->spec.strict));
	json_object_set_new(run->json, "ended_utc",
			    json_string(clock_utc(utc)));
	STR_COPY(run->probe, NODE_PROBE);
	run->ended = true;
	run->strict = self->s->spec.strict;
	node_name(name);
	return run_add_node(run, name) < 0 ?
		       err_set(e, ENOMEM, "no memory for the node") : 0;
}

/** What a site sets for its runs does not make a hook wait: only who types a
 *  longer time means it. */
static int64_t time_of(const struct session *s)
{
	int64_t ns = s->spec.max_time_ns;
	bool typed = s->typed[spec_find("max-time") - spec_options];

	return ns > 0 && (typed || ns < NODE_SELF_NS) ? ns : NODE_SELF_NS;
}

int node_self(const struct session *s)
{
	int64_t all_ns = time_of(s);
	int64_t deadline_ns = clock_now_ns() + all_ns - all_ns / JUDGE_SHARE -
			      GATHER_GRACE_NS;
	struct self self = { .s = s };
	struct err e = { 0 };
	int code;

	signal(SIGCHLD, SIG_DFL);	/* or nobody sees a child's end */
	set_end(all_ns);
	code = begin(&self, &e) < 0 || look(&self, deadline_ns, &e) < 0 ?
		       talk_fail(&e, CODE_UNABLE) : show(&self);
	memlock_rows_release(&self.rows);
	run_release(&self.run);
	return code;
}
