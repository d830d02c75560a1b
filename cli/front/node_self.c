/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck node without a coordinator: check this node only. */
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
#include "lib/data/cbor.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "probes/engine/net/wire.h"
#include "probes/probe.h"
#include "report/judge/memlock_verdict.h"
#include "report/judge/pairs.h"
#include "report/model/run_read.h"
#include "report/show/judged.h"

/* ---- children ------------------------------------------------------------ */

/* Largest output of a child, bytes; its input is smaller. */
#define SAID_MAX (1024 * 1024)

/* Receiver of rows and facts. */
struct sink {
	struct run *run;
	struct memlock_rows *rows;
	const char *node;	/* which they are of; NULL: they name it, and
				 * facts are not wanted */
	struct err *e;
	int rc;
};

static int add_row(struct sink *s, const json_t *json, const char *node)
{
	struct memlock_row row;

	if (record_from_json(&schema_memlock, json, &row, s->e) < 0) {
		return -1;
	}
	if (node) {
		STR_COPY(row.node, node);
	}
	return memlock_run_add(s->run, s->rows, &row) < 0 ?
		       err_set(s->e, ENOMEM, "no memory for the rows") : 0;
}

/** A part that is found by its name has to have a number. */
static int add_fact(struct sink *s, const json_t *json)
{
	struct fact_row f;

	if (record_from_json(&schema_facts, json, &f, s->e) < 0) {
		return -1;
	}
	STR_COPY(f.node, s->node);
	if (strcmp(f.fact, "port_state") == 0 || strcmp(f.fact, "link") == 0) {
		run_add_name(s->run, f.scope);
	}
	return run_add_fact(s->run, &f) < 0 ?
		       err_set(s->e, ENOMEM, "no memory for the facts") : 0;
}

static void take_entry(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct sink *s = arg;
	json_t *said;
	const struct message_in in = message_said(bytes, n, &said);

	if (s->rc == 0 && in.row && type == MSG_NODE_SAID) {
		s->rc = add_row(s, in.row, s->node);
	} else if (s->rc == 0 && in.fact && type == MSG_NODE_SAID && s->node) {
		s->rc = add_fact(s, in.fact);
	}
	json_decref(said);
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

/* One that looks at this node: "gpucheck worker NAME". */
struct node_child {
	const char *worker;
	const char *what;	/* for people */
};
#define LOOKS_MAX 3

/**
 * Runs the @n children of @list in parallel until @deadline_ns, with the
 * options of @s and this node's @name.  Writes their messages, also those of a
 * child that hung later, to @sink, and how they ended to @ends.  Returns 0, or
 * -1 with @sink->e.
 */
static int look_at_node(const struct session *s, const char *name,
			const struct node_child *list, size_t n,
			int64_t deadline_ns, struct sink *sink,
			struct node_look *ends)
{
	static const struct wire_events events = { .entry = take_entry };
	json_t *task = message_new(MSG_NODE_TASK, "{s:s,s:{s:s,s:o}}", "probe",
				   "node", "args", "node", name, "options",
				   spec_json(&s->spec));
	struct gather all[LOOKS_MAX] = { 0 };
	char *argv[LOOKS_MAX][4] = { 0 };
	struct str in = STR_INIT;
	char path[PATH_MAX];

	if (spawn_self(path, sizeof(path), sink->e) < 0) {
		sink->rc = -1;
	} else if (task == NULL || wire_frame(task, &in) < 0) {
		sink->rc = err_set(sink->e, ENOMEM, "no memory to look");
	}
	for (size_t i = 0; i < n; i++) {
		argv[i][0] = path;
		argv[i][1] = (char *)"worker";
		argv[i][2] = (char *)list[i].worker;
		all[i] = (struct gather){ .argv = argv[i], .in = in.data,
					  .n_in = in.len };
	}
	if (sink->rc == 0) {
		gather(all, n, SAID_MAX, deadline_ns);
	}
	for (size_t i = 0; i < n; i++) {
		struct wire_buf said = { .bytes = all[i].out };

		ends[i].what = list[i].what;
		say_end(&all[i], &ends[i]);
		while (wire_buf_hear(&said, MSG_FROM_WORKER, &events, sink,
				     NULL) > 0) {
		}
		wire_buf_release(&said);
	}
	str_release(&in);
	json_decref(task);
	return sink->rc;
}

/* ---- node look ----------------------------------------------------------- */

/** The look is a child of this process: no launcher. */
#define LAUNCHER "node"

/** Returns the name of this node in Slurm, else its host name, truncated to the
 *  size that rows have. */
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

/** The run as its directory would have it. */
static int fill_run(const struct session *s, struct judged *run, struct err *e)
{
	const struct probe *probe = probe_find(run->run.probe);
	const struct node_child one = { .worker = probe->name };
	struct sink sink = { .run = &run->run, .rows = run->more, .e = e };
	struct node_look end = { 0 };
	char utc[CLOCK_UTC_SIZE], host[64];
	json_t *row, *last;
	size_t i;

	json_object_set_new(run->run.json, "strict",
			    json_boolean(s->spec.strict));
	json_object_set_new(run->run.json, "ended_utc",
			    json_string(clock_utc(utc)));
	run->run.ended = true;
	run->run.strict = s->spec.strict;
	node_look_node_name(host);
	json_array_foreach(run_file(run->run.json).shell, i, row) {
		if (add_row(&sink, row, NULL) < 0) {
			return -1;
		}
	}
	if (look_at_node(s, host, &one, 1, clock_now_ns() +
			 probe_limit_ns(probe, &s->spec), &sink, &end) < 0 ||
	    end.ok) {
		return sink.rc;
	}
	last = json_pack("{s:s,s:s,s:s}", "outcome",
			 strcmp(end.code, "worker_hung") == 0 ? "timeout" :
								"crashed",
			 "code", end.code, "detail", end.detail);
	sink.rc = add_row(&sink, last, host);
	json_decref(last);
	return sink.rc;
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
	int code;

	run.run.json = run_json_new(s, name, LAUNCHER, "", &e);
	if (!run.run.json) {
		return talk_fail(&e, CODE_USAGE);
	}
	STR_COPY(run.run.probe, name);
	if (fill_run(s, &run, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else {
		code = s->spec.out[0] ? keep_look(s, name, &run)
				      : node_look_show(s, &run);
	}
	memlock_rows_release(&rows);
	run_release(&run.run);
	return code;
}

/* ---- node self ----------------------------------------------------------- */

/** The checks end 1/JUDGE_SHARE of the time limit before its end. */
#define JUDGE_SHARE 9
#define HOSTNAME_SIZE 64

static const struct node_child looks[] = {
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

/* ---- time limit ---------------------------------------------------------- */

static void time_is_up(int sig)
{
	(void)sig;
	_exit(CODE_UNABLE);
}

/** Ends this process by a timer in any case: a full pipe or a hung file system
 *  may block it. */
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

/* ---- messages of the children -------------------------------------------- */

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

/* ---- result -------------------------------------------------------------- */

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

/** Returns the exit code: with --fail-on only the chosen codes make it fail. */
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

/** Returns the time limit in ns.  A site's setting for its runs must not delay
 *  a hook, so a longer time counts only if the user typed it. */
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
	struct sink sink = { .run = &self.run, .rows = &self.rows, .e = &e };
	int code;

	signal(SIGCHLD, SIG_DFL);	/* or the end of a child is not
					 * reported */
	set_end(all_ns);
	code = begin(&self, &e);
	if (code == 0) {
		sink.node = self.run.nodes[0].name;
		code = look_at_node(s, sink.node, looks, LOOKS, deadline_ns,
				    &sink, self.looks);
	}
	code = code < 0 ? talk_fail(&e, CODE_UNABLE) : show(&self);
	memlock_rows_release(&self.rows);
	run_release(&self.run);
	return code;
}
