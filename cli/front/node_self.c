/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck node without a coordinator: check this node only. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/options.h"
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
#include "report/model/run.h"
#include "report/show/judged.h"

/* ---- children ------------------------------------------------------------ */

/* Largest output of a child, bytes; its input is smaller. */
#define SAID_MAX (1024 * 1024)

/* Receiver of rows and facts. */
struct sink {
	struct run *run;
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
	return memlock_run_add(s->run, &row) < 0 ?
		       err_set(s->e, ENOMEM, "no memory for the rows") : 0;
}

static void take_entry(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct sink *s = arg;
	struct fact_row f;
	json_t *said;
	const struct message_in in = message_said(bytes, n, &said);

	if (s->rc < 0 || type != MSG_NODE_SAID) {
		/* not for us */
	} else if (in.row) {
		s->rc = add_row(s, in.row, s->node);
	} else if (in.fact && s->node) {
		s->rc = record_from_json(&schema_facts, in.fact, &f, s->e);
		if (s->rc == 0) {
			STR_COPY(f.node, s->node);
		}
		/* a part that is found by its name has to have a number */
		if (s->rc == 0 && (strcmp(f.fact, "port_state") == 0 ||
				   strcmp(f.fact, "link") == 0)) {
			run_add_name(s->run, f.scope);
		}
		if (s->rc == 0 && run_add_fact(s->run, &f) < 0) {
			s->rc = err_set(s->e, ENOMEM,
					"no memory for the facts");
		}
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

#define LOOKS_MAX 3

/**
 * Runs the @n children of @list ("gpucheck worker NAME", and what that checks)
 * in parallel until @deadline_ns, with the options of @s and this node's @name.
 * Writes their messages, also those of a child that hung later, to @sink, and
 * how they ended to @ends.  Returns 0, or -1 with @sink->e.
 */
static int look_at_node(const struct session *s, const char *name,
			const struct name_text *list, size_t n,
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
		argv[i][2] = (char *)list[i].name;
		all[i] = (struct gather){ .argv = argv[i], .in = in.data,
					  .n_in = in.len };
	}
	if (sink->rc == 0) {
		gather(all, n, SAID_MAX, deadline_ns);
	}
	for (size_t i = 0; i < n; i++) {
		struct wire_buf said = { .bytes = all[i].out };

		ends[i].what = list[i].text;
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

/** Start @run of @probe, as its directory would have it; 0, or -1 with @e. */
static int begin(const struct session *s, const char *probe, struct run *run,
		 struct err *e)
{
	char utc[CLOCK_UTC_SIZE];

	/* the children are of this process: no launcher */
	run->json = run_json_new(s, probe, "node", "", e);
	if (!run->json) {
		return -1;
	}
	json_object_set_new(run->json, "strict", json_boolean(s->spec.strict));
	json_object_set_new(run->json, "ended_utc",
			    json_string(clock_utc(utc)));
	STR_COPY(run->probe, probe);
	run->ended = true;
	run->strict = s->spec.strict;
	return 0;
}

/** As judged_json(), of the rows and facts of @run, which are in no file; only
 *  if @rows and @facts. */
static int print_json(const struct run *run, const struct verdict *v,
		      bool rows, bool facts, struct err *e)
{
	json_t *all = json_pack("{s:O, s:o}", "run", run->json, "verdict",
				verdict_json(run, v)), *list;
	int rc;

	if (all && rows) {
		list = json_array();
		for (size_t i = 0; i < run->rows; i++) {
			json_array_append_new(list,
				record_json(&schema_memlock, &run->memlock[i]));
		}
		json_object_set_new(all, "rows", list);
	}
	if (all && facts) {
		list = json_array();
		for (size_t i = 0; i < run->n_facts; i++) {
			json_array_append_new(list,
				record_json(&schema_facts, &run->facts[i]));
		}
		json_object_set_new(all, "facts", list);
	}
	rc = all ? json_print(all, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(all);
	return rc < 0 ? err_set(e, ENOMEM, "cannot write JSON") : 0;
}

/* ---- node look ----------------------------------------------------------- */

#define HOSTNAME_SIZE 64

/** Writes the name of this node in Slurm, else its host name, truncated to the
 *  size that rows have, and without its domain if @is_short. */
static void node_name(char buf[HOSTNAME_SIZE], bool is_short)
{
	const char *name = getenv("SLURMD_NODENAME");
	char own[HOST_NAME_MAX + 1] = "";

	if (!name || !name[0]) {
		gethostname(own, sizeof(own) - 1);
		own[is_short ? strcspn(own, ".") : strlen(own)] = '\0';
		name = own;
	}
	str_copy(buf, HOSTNAME_SIZE, name[0] ? name : "localhost");
}

/** Add the rows of this node to @run. */
static int fill_run(const struct session *s, struct judged *run, struct err *e)
{
	const struct probe *probe = probe_find(run->run.probe);
	const struct name_text one = { .name = probe->name };
	struct sink sink = { .run = &run->run, .e = e };
	struct node_look end = { 0 };
	char host[HOSTNAME_SIZE];
	json_t *row, *last;
	size_t i;

	node_name(host, false);
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

static int node_look_show(const struct session *s, struct judged *run)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (memlock_judge(&run->run, &run->verdict) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return talk_fail(&e, CODE_UNABLE);
	}
	code = judged_exit(run);
	if (s->spec.json && print_json(&run->run, &run->verdict, true, false,
				       &e) < 0 && !ferror(stdout)) {
		code = talk_fail(&e, CODE_UNABLE);
	} else if (s->spec.csv) {
		record_add_header(&schema_memlock, &text);
		for (size_t i = 0; i < run->run.rows; i++) {
			record_add_csv(&schema_memlock, &run->run.memlock[i],
				       &text);
		}
	} else if (!s->spec.json && !s->spec.quiet) {
		judged_words(run, screen_width(STDOUT_FILENO),
			     screen_color(&s->spec),
			     TERM_ASCII, &text);
	}
	screen_print(&text, stdout);
	keep_junit(&run->run, &run->verdict, s->spec.junit, code);
	str_release(&text);
	verdict_release(&run->verdict);
	return code;
}

/** -o: the same files as any run, then the same words. */
static int keep_look(const struct session *s, const struct judged *run)
{
	struct rundir_table results = { 0 };
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = 0;

	if (rundir_create(s->spec.out, run->run.probe, dir, &e) < 0) {
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run->run.json, &e) < 0 ||
	    rundir_table_open(&results, dir, &schema_memlock, &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	for (size_t i = 0; i < run->run.rows && code == 0; i++) {
		code = rundir_table_add(&results, &run->run.memlock[i], &e);
	}
	rundir_table_close(&results);
	if (code == 0) {
		code = show_run(dir, &s->spec, &e);
	}
	return code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
}

int node_look(const struct session *s, const char *name)
{
	struct judged run = { .kind = &judged_memlock };
	struct err e = { 0 };
	int code;

	if (begin(s, name, &run.run, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (fill_run(s, &run, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else {
		code = s->spec.out[0] ? keep_look(s, &run)
				      : node_look_show(s, &run);
	}
	run_release(&run.run);
	return code;
}

/* ---- node self ----------------------------------------------------------- */

/** The checks end 1/JUDGE_SHARE of the time limit before its end. */
#define JUDGE_SHARE 9

static const struct name_text looks[] = {
	{ "node_gpus", "GPUs" },
	{ "node_host", "ports and interfaces" },
	{ "node_limits", "limits" },
};
#define LOOKS (sizeof(looks) / sizeof(looks[0]))

static int show(const struct session *s, struct run *run,
		const struct node_look ends[LOOKS])
{
	const struct spec *spec = &s->spec;
	const bool all = spec->json == SPEC_JSON_ALL;
	struct verdict verdict = { 0 };
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (node_judge(run, ends, LOOKS, &verdict) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return talk_fail(&e, CODE_UNABLE);
	}
	if (spec->fail_on[0]) {
		code = node_has_one_of(&verdict, spec->fail_on) ? CODE_FAULT :
								  CODE_HEALTHY;
	} else {
		code = verdict_exit(run, &verdict);
	}
	if (spec->json) {
		if (print_json(run, &verdict, all, all, &e) < 0 &&
		    !ferror(stdout)) {
			code = talk_fail(&e, CODE_UNABLE);
		}
	} else if (!spec->quiet) {
		node_line(run, &verdict, &text);
		if (spec->verbose > 0) {
			node_details(run, &verdict, &text);
		}
	}
	screen_print(&text, stdout);
	keep_junit(run, &verdict, spec->junit, code);
	str_release(&text);
	verdict_release(&verdict);
	return code;
}

int node_self(const struct session *s)
{
	const bool typed = options_typed(s, "time-limit");
	int64_t all_ns = s->spec.max_time_ns, deadline_ns;
	struct node_look ends[LOOKS] = { 0 };
	struct run run = { 0 };
	struct err e = { 0 };
	struct sink sink = { .run = &run, .e = &e };
	char name[HOSTNAME_SIZE];
	int code;

	/* a site's setting for its runs must not delay a hook: a longer time
	 * counts only if the user typed it */
	if (all_ns <= 0 || (!typed && all_ns >= NODE_SELF_NS)) {
		all_ns = NODE_SELF_NS;
	}
	deadline_ns = clock_now_ns() + all_ns - all_ns / JUDGE_SHARE -
		      GATHER_GRACE_NS;
	signal(SIGCHLD, SIG_DFL);	/* or the end of a child is not
					 * reported */
	/* a timer ends this process in any case: a full pipe or a hung file
	 * system may block it */
	watchdog_set(all_ns, CODE_UNABLE);
	code = begin(s, NODE_PROBE, &run, &e);
	node_name(name, true);
	if (code == 0 && run_add_node(&run, name) < 0) {
		code = err_set(&e, ENOMEM, "no memory for the node");
	}
	if (code == 0) {
		sink.node = run.nodes[0].name;
		code = look_at_node(s, sink.node, looks, LOOKS, deadline_ns,
				    &sink, ends);
	}
	code = code < 0 ? talk_fail(&e, CODE_UNABLE) :
			  show(s, &run, ends);
	run_release(&run);
	return code;
}
