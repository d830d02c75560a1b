/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ladder_run.h"

#include <errno.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/show/judged.h"
#include "report/model/run_read.h"
#include "report/show/show.h"

/** A directory below DIR, by a name that others wrote. */
static int rung_dir(const char *dir, const char *name, char path[PATH_MAX],
		    struct err *e)
{
	if (!name[0] || strchr(name, '/') || name[0] == '.') {
		return err_set(e, 0, "'%s' is no name of a rung", name);
	}
	return rundir_path(dir, name, path, e);
}

static int read_header(struct ladder_run *run, struct err *e)
{
	char ended[32] = "";
	const json_t *j = run->json;

	if (json_opt_text(j, "ended_utc", ended, sizeof(ended), e) < 0 ||
	    json_opt_text(j, "started_utc", run->started_utc,
			  sizeof(run->started_utc), e) < 0 ||
	    json_opt_text(j, "stop_reason", run->stop_reason,
			  sizeof(run->stop_reason), e) < 0 ||
	    json_opt_bool(json_object_get(j, "options"), "strict",
			  &run->strict, e) < 0 ||
	    json_opt_bool(j, "drill", &run->drill, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	run->ended = ended[0] != '\0';
	return 0;
}

static void add_rung(struct ladder_run *run, const struct rung_row *row)
{
	if (run->n < LADDER_MAX) {
		run->rungs[run->n++].row = *row;
	}
}

static int read_rows(const char *dir, struct ladder_run *run, struct err *e)
{
	struct record_reader reader;
	struct rung_row row;
	FILE *f = run_open(dir, RUN_RESULTS, NULL);
	int got = 0;

	if (f && record_reader_open(&reader, &schema_rung, f, NULL) == 0) {
		while ((got = record_reader_next(&reader, &row, e)) == 1) {
			add_rung(run, &row);
		}
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
	return got;
}

/** What was planned and came to no row: the run ended before. */
static void add_missing(struct ladder_run *run)
{
	json_t *names = json_object_get(json_object_get(run->json, "planned"),
					"rungs"), *name;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		struct rung_row row;
		size_t k = 0;

		while (text && k < run->n &&
		       strcmp(run->rungs[k].row.rung, text) != 0) {
			k++;
		}
		if (text && k == run->n) {
			record_init(&schema_rung, &row);
			STR_COPY(row.rung, text);
			STR_COPY(row.code, RUNG_STOPPED);
			STR_COPY(row.detail, "the run ended before it");
			row.outcome = OUTCOME_NOT_RUN;
			add_rung(run, &row);
		}
	}
}

/** Its verdict as it stands there, or made anew; NULL with @e. */
static json_t *read_verdict(const char *dir, struct err *e)
{
	json_t *verdict = rundir_read_json(dir, RUN_VERDICT, e);
	struct judged *j;

	if (!verdict && judged_make(dir, &j, e) >= 0) {
		judged_free(j);
		verdict = rundir_read_json(dir, RUN_VERDICT, e);
	}
	return verdict;
}

/** Which interfaces belong to an HCA. */
static void read_netdevs(const char *dir, json_t *netdevs)
{
	struct record_reader reader;
	struct fact_row row;
	FILE *f = run_open(dir, RUN_FACTS, NULL);

	if (f && record_reader_open(&reader, &schema_facts, f, NULL) == 0) {
		while (record_reader_next(&reader, &row, NULL) == 1) {
			char key[480];

			if (strcmp(row.fact, "netdev") == 0) {
				snprintf(key, sizeof(key), "%s/%s", row.node,
					 row.value);
				json_object_set_new(netdevs, key,
						    json_text(row.scope));
			}
		}
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
}

static void read_heading(const char *dir, struct ladder_run *run,
			 const char *rung)
{
	json_t *json = rundir_read_json(dir, RUN_JSON, NULL);
	size_t n = json_array_size(json_object_get(json, "nodes"));
	const char *note = caption_transport(json_member(json, "transport"),
					     rung);

	run->n_nodes = n > run->n_nodes ? n : run->n_nodes;
	run->note = note ? note : run->note;
	json_decref(json);
}

/** A rung that has measured, and whose answer cannot be had: not a good one. */
static void lose(struct ladder_rung *r, const struct err *why)
{
	r->row.outcome = OUTCOME_ERROR;
	STR_COPY(r->row.code, RUNG_FAILED);
	snprintf(r->row.detail, sizeof(r->row.detail),
		 "its verdict is lost: %.120s", why->text);
}

static void read_rung(const char *dir, struct ladder_run *run,
		      struct ladder_rung *r)
{
	struct err why = { 0 };
	char path[PATH_MAX];

	if (rung_dir(dir, r->row.rung, path, &why) == 0) {
		r->verdict = read_verdict(path, &why);
		read_netdevs(path, run->netdevs);
		read_heading(path, run, r->row.rung);
	}
	if (!r->verdict && r->row.outcome == OUTCOME_OK) {
		lose(r, &why);
	}
}

static void read_rungs(const char *dir, struct ladder_run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		struct ladder_rung *r = &run->rungs[i];

		/* whatever is there of others says nothing */
		if (r->row.outcome != OUTCOME_SKIPPED &&
		    r->row.outcome != OUTCOME_NOT_RUN) {
			read_rung(dir, run, r);
		}
	}
}

static int fill(const char *dir, struct ladder_run *run, struct err *e)
{
	struct ladder_facts facts;

	if (read_header(run, e) < 0 || read_rows(dir, run, e) < 0) {
		return -1;
	}
	add_missing(run);
	run->netdevs = json_object();
	read_rungs(dir, run);
	facts = (struct ladder_facts){ .drill = run->drill,
				       .n_nodes = run->n_nodes,
				       .netdevs = run->netdevs };
	run->verdict = ladder_verdict(run->rungs, run->n, &facts);
	return run->verdict ? 0 : err_set(e, ENOMEM, "cannot judge the run");
}

int ladder_run_read(const char *dir, struct ladder_run *run, struct err *e)
{
	*run = (struct ladder_run){
		.json = rundir_read_json(dir, RUN_JSON, e)
	};
	if (!run->json || fill(dir, run, e) < 0) {
		ladder_run_release(run);
		return -1;
	}
	return 0;
}

void ladder_run_release(struct ladder_run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		json_decref(run->rungs[i].verdict);
	}
	json_decref(run->netdevs);
	json_decref(run->verdict);
	json_decref(run->json);
	*run = (struct ladder_run){ 0 };
}

int ladder_run_exit(const struct ladder_run *run)
{
	return ladder_exit(run->rungs, run->n,
			   run->ended && !run->stop_reason[0], run->strict,
			   run->verdict);
}

int ladder_json(const struct ladder_run *run, FILE *out, struct err *e)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < run->n; i++) {
		json_array_append_new(rows, record_json(&schema_rung,
							&run->rungs[i].row));
	}
	return report_json_write(run->json, json_incref(run->verdict), rows,
				 out, e);
}
