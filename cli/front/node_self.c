/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/node_self.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/gather.h"
#include "cli/front/run_json.h"
#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "probes/engine/agent/node_task.h"
#include "report/judge/node.h"
#include "report/model/run_read.h"
#include "report/show/node_line.h"

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
