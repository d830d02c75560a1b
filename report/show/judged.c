/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "report/show/html_page.h"

/* ---- json ---------------------------------------------------------------- */

/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

/** Write a row as JSON to @rows->user; the run only counts them. */
static int dump_row(const struct run_rows *rows, const void *row)
{
	json_t *json = record_json(rows->schema, row);
	FILE *out = rows->user;
	int rc;

	fputs(rows->run->rows++ ? ",\n" : "\n", out);
	rc = json_print(json, out, ROW_FLAGS);
	json_decref(json);
	return rc;
}

int judged_json(const struct judged *j, bool rows, FILE *out, struct err *e)
{
	const struct {
		const char *name, *file;
		const struct schema *schema;
		bool there;
	} tables[] = {
		{ "diagnose", RUN_DIAGNOSE, &schema_diagnose,
		  j->run.n_diagnose > 0 },
		{ "facts", j->kind->csv, &schema_facts, j->kind->csv },
		{ "rows", RUN_RESULTS, j->run.schema, true },
	};
	json_t *verdict = verdict_json(&j->run, &j->verdict);
	int rc;

	fputs("{\"run\": ", out);
	rc = json_print(j->run.json, out, JSON_COMPACT);
	fputs(",\n\"verdict\": ", out);
	rc |= json_print(verdict, out, ROW_FLAGS);
	json_decref(verdict);
	if (rc < 0) {
		return err_set(e, errno, "cannot write JSON");
	}
	for (size_t i = 0; rows && i < sizeof(tables) / sizeof(*tables); i++) {
		struct run count = { .rows = 0 };
		const struct run_rows take = { .schema = tables[i].schema,
					       .take = dump_row, .user = out,
					       .run = &count };

		if (!tables[i].there) {
			continue;
		}
		/* no file, no rows */
		fprintf(out, ",\n\"%s\": [", tables[i].name);
		rc = run_take_rows(rundir_open(j->dir, tables[i].file, NULL),
				   &take, e);
		fputc(']', out);
		if (rc < 0) {
			return -1;
		}
	}
	fputs("}\n", out);
	return 0;
}

/* ---- a run of several probes --------------------------------------------- */

static const struct judged_kind *kind_of(const char *dir);

#define MAX_STEPS 16
#define MAX_WORDS (1024 * 1024)
/** "  allreduce  fail     ": columns of a probe, and of its result at least */
#define PROBE_WIDTH  10
#define RESULT_WIDTH 8

struct all {
	struct all_step steps[MAX_STEPS];
	size_t n;
	const char *note;	/* what was not tested; NULL = nothing */
	json_t *netdevs;	/* as all_judge() takes it */
	bool going;		/* the run has not ended */
};

static void release(void *more)
{
	struct all *all = more;

	for (size_t i = 0; i < all->n; i++) {
		verdict_release(&all->steps[i].verdict);
	}
	json_decref(all->netdevs);
}

/** A directory below DIR, by a name that others wrote. */
static int step_dir(const char *dir, const char *name, char path[PATH_MAX],
		    struct err *e)
{
	if (!name[0] || strchr(name, '/') || name[0] == '.') {
		return err_set(e, 0, "'%s' is not the name of a step", name);
	}
	return rundir_path(dir, name, path, e);
}

static int take_step(const struct run_rows *rows, const void *row)
{
	const struct step_row *step = row;
	struct all *all = rows->user;
	size_t i = STR_FIND(all->steps, all->n, row.rung, step->rung);

	/* of a run that was resumed the last row of a step counts */
	if (i < MAX_STEPS) {
		all->steps[i].row = *step;
		all->n += i == all->n;
	}
	return 0;
}

/** Its verdict as it stands there, or, if it is none or another is asked for,
 *  made anew; NULL with @e. */
static json_t *find_verdict(const char *dir, const char *rung,
			    const struct judged *of_all, struct err *e)
{
	struct judged_ask ask = {
		.reference = "", .going = of_all->ask.going,
		.slow_percent = of_all->ask.slow_percent,
	};
	const char *reference = of_all->ask.reference;
	/* the one by which the run and its steps were judged */
	const char *own = run_file(of_all->run.json).typed.reference;
	char beside[PATH_MAX];
	json_t *verdict;
	struct judged *j;

	/* of the run that it stands beside, that is of all as well, the same
	 * step; not what it stood beside when it was judged */
	if (strcmp(reference, own) != 0 &&
	    kind_of(dir)->references &&
	    reference_find(reference, rung, beside, NULL) == 0) {
		ask.reference = beside;
	}
	verdict = ask.slow_percent > 0 || ask.reference[0] ? NULL :
		  rundir_read_json(dir, RUN_VERDICT, e);

	if (!verdict && judged_make(dir, of_all->out ? dir : NULL, &ask, &j,
				    e) >= 0) {
		verdict = verdict_json(&j->run, &j->verdict);
		judged_free(j);
	}
	return verdict;
}

/** Note which interfaces belong to an HCA. */
static int take_netdev(const struct run_rows *rows, const void *data)
{
	const struct fact_row *f = data;
	char key[480];

	if (strcmp(f->fact, "netdev") == 0) {
		snprintf(key, sizeof(key), "%s/%s", f->node, f->value);
		json_object_set_new(rows->user, key, json_text(f->scope));
	}
	return 0;
}

/** Read the verdict of the step @s, its nodes, and what it did not test. */
static int read_step(struct judged *j, struct all_step *s)
{
	struct all *all = j->more;
	const struct run_rows netdevs = { .schema = &schema_facts,
					  .take = take_netdev,
					  .user = all->netdevs };
	struct err why = { 0 };
	char path[PATH_MAX];
	json_t *verdict = NULL;
	int rc = 0;

	if (step_dir(j->dir, s->row.rung, path, &why) == 0) {
		json_t *json = rundir_read_json(path, RUN_JSON, NULL);
		const struct run_file f = run_file(json);
		const char *note = caption_transport(f.transport, s->row.rung);
		struct sampled sample;

		verdict = find_verdict(path, s->row.rung, j, &why);
		run_take_rows(rundir_open(path, RUN_FACTS, NULL), &netdevs,
			      NULL);
		rc = run_list_nodes(&j->run, json);
		s->sampled = sampled_read(f.planned.sample, &sample);
		j->run.sampled_step = j->run.sampled_step || s->sampled;
		if (note && note != caption_transport(j->run.transport,
						      j->run.probe)) {
			all->note = note;
		}
		json_decref(json);
	}
	if (verdict) {
		s->judged = true;
		rc |= verdict_read(verdict, &j->run, &s->verdict);
	} else if (s->row.outcome == OUTCOME_OK) {
		/* A step that has measured, and whose answer cannot be had:
		 * not a good one */
		s->row.outcome = OUTCOME_ERROR;
		STR_COPY(s->row.code, STEP_FAILED);
		snprintf(s->row.detail, sizeof(s->row.detail),
			 "its verdict is lost: %.120s", why.text);
	}
	json_decref(verdict);
	return rc;
}

/** Add the tests that were planned and have no row, because the run ended
 *  before. */
static int end(const struct run_rows *rows, struct err *e)
{
	struct run *run = rows->run;
	const struct run_file f = run_file(run->json);
	const json_t *name;
	struct all *all = rows->user;
	size_t i;

	json_array_foreach(f.planned.rungs, i, name) {
		const char *text = json_string_value(name);
		struct step_row row;

		if (text && STR_FIND(all->steps, all->n, row.rung, text) ==
				    all->n) {
			record_init(&schema_step, &row);
			STR_COPY(row.rung, text);
			STR_COPY(row.code, STEP_STOPPED);
			STR_COPY(row.detail, all->going ?
					     "it has not ended yet" :
					     "the run ended before it");
			row.outcome = OUTCOME_NOT_RUN;
			take_step(rows, &row);
		}
	}
	run->rows = all->n;
	return json_opt_bool(f.options, "strict", &run->strict, e);
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	struct all *all = j->more;
	const struct run_rows rows = { .schema = &schema_step, .run = &j->run,
				       .take = take_step, .end = end,
				       .user = all };

	all->netdevs = json_object();
	all->going = j->ask.going;
	if (run_load(dir, &rows, e) < 0 ||
	    run_list_nodes(&j->run, j->run.json) < 0) {
		return -1;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct all_step *s = &all->steps[i];

		/* whatever is there of others says nothing */
		if (s->row.outcome != OUTCOME_SKIPPED &&
		    s->row.outcome != OUTCOME_NOT_RUN && read_step(j, s) < 0) {
			return -1;
		}
	}
	return all_judge(&j->run, all->steps, all->n, all->netdevs,
			 &j->verdict);
}

static int code(const struct judged *j)
{
	const struct all *all = j->more;

	return all_exit(&j->run, all->steps, all->n, &j->verdict);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	static const struct {
		enum outcome outcome;
		const char *word;
	} others[] = {
		{ .outcome = OUTCOME_SKIPPED, .word = "skipped" },
		{ .outcome = OUTCOME_ERROR, .word = "could not" },
		{ .outcome = OUTCOME_NOT_RUN, .word = "not run" },
	};
	const struct all *all = j->more;
	size_t count[OUTCOME_COUNT] = { 0 };
	struct str text = STR_INIT;
	double wall_s = 0;

	for (size_t k = 0; k < all->n; k++) {
		double s = all->steps[k].row.wall_s;

		wall_s += isfinite(s) ? s : 0;
		count[all->steps[k].row.outcome]++;
	}
	str_addf(&text, "all on %d node%s: %zu of %zu probes measured",
		 j->run.n_nodes, j->run.n_nodes == 1 ? "" : "s",
		 count[OUTCOME_OK], all->n);
	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
		if (count[others[k].outcome] > 0) {
			str_addf(&text, ", %zu %s", count[others[k].outcome],
				 others[k].word);
		}
	}
	str_addf(&text, ", %.1f s", wall_s);
	str_copy(buf, size, str_text(&text));
	str_release(&text);
	return i == 0;
}

static bool note(const struct judged *j, int i, char *buf, size_t size)
{
	const struct all *all = j->more;

	snprintf(buf, size, "note: %s", all->note ? all->note : "");
	return i == 0 && all->note;
}

/** "pass", "fail", "skipped", ...; */
static const char *result(const struct all_step *s)
{
	return s->row.outcome != OUTCOME_OK ? outcome_name(s->row.outcome) :
	       s->sampled && s->verdict.status == VERDICT_PASS ?
					      CAPTION_PASS_SAMPLE :
					      verdict_status_name(
						      s->verdict.status);
}

/** Put the steps into @t. */
static void list_steps(const struct all *all, struct table *t)
{
	static const struct table_column columns[] = {
		{ .name = "probe", .width = PROBE_WIDTH, .link = true },
		{ .name = "verdict", .width = RESULT_WIDTH },
		{ .name = "findings", .right = true, .page = true },
		{ .name = "tests, or why not" },
	};

	*t = (struct table){ .columns = columns, .n_columns = 4, .indent = 2,
			     .bare = true };
	for (size_t i = 0; i < all->n; i++) {
		const struct all_step *s = &all->steps[i];
		const bool ok = s->row.outcome == OUTCOME_OK;
		struct str text = STR_INIT;

		table_add(t, s->row.rung);
		table_add(t, result(s));
		table_addf(t, "%zu", s->verdict.n);
		/* "56 pass, 1.2 s", or why there is nothing */
		str_add(&text, ok ? "" : s->row.detail);
		for (unsigned k = 1; ok && k <= CELL_CLASSES; k++) {
			unsigned c = k % CELL_CLASSES;	/* not_run comes last */

			if (s->verdict.cells[c] > 0) {
				str_addf(&text, "%s%s %s", text.len ? ", " : "",
					 UNITS_COUNT(s->verdict.cells[c]),
					 cell_class_name(c));
			}
		}
		if (ok && isfinite(s->row.wall_s)) {
			str_addf(&text, "%s%.1f s", text.len ? ", " : "",
				 s->row.wall_s);
		}
		table_add(t, str_text(&text));
		t->text.failed |= text.failed;
		str_release(&text);
	}
}

static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	const struct all_step *shown = NULL;	/* the first that failed, or
						 * the last */
	char path[PATH_MAX];
	const struct all *all = j->more;
	struct table t;

	(void)style;	/* the pictures are those of the steps */
	list_steps(all, &t);
	str_addch(out, '\n');
	table_text(&t, width > 0 ? width : JUDGED_FILE_WIDTH, out);
	table_release(&t);
	for (size_t i = 0; i < all->n; i++) {
		if (all->steps[i].judged &&
		    (!shown || shown->verdict.status != VERDICT_FAIL)) {
			shown = &all->steps[i];
		}
	}
	if (shown && step_dir(j->dir, shown->row.rung, path, NULL) == 0) {
		str_add(out, "  more of a probe: gpucheck report ");
		str_add_quoted(out, path);
		str_addch(out, '\n');
	}
	return 0;
}

/** The pictures, tables and words of a step. */
static void add_step(const struct all_step *s, const char *dir,
		     struct str *out)
{
	static const char *const pictures[] = {
		"heatmap-nodes.svg", "heatmap-bw.svg", "heatmap-lat.svg",
		"curves.svg", "bars.svg", NULL
	};
	const struct judged_ask ask = { .reference = "" };
	char name[64], path[PATH_MAX], *text;
	const char *rung = s->row.rung;
	struct judged *step;

	str_add(out, "<h2 id=\"");
	html_text(out, rung);
	str_add(out, "\">");
	html_text(out, rung);
	str_add(out, "</h2>\n");
	html_element(out, "p", result(s));
	str_add(out, "<div class=\"step\">");
	if (s->judged && step_dir(dir, rung, path, NULL) == 0) {
		for (int k = 0; pictures[k]; k++) {
			html_picture(path, pictures[k], rung, out);
		}
		/* its tables: the rows are read again */
		if (kind_of(path)->tables &&
		    judged_make(path, NULL, &ask, &step, NULL) >= 0) {
			html_tables(step, "h3", out);
			judged_free(step);
		}
		str_add(out, "<p><a href=\"");
		html_text(out, rung);
		str_add(out, "/report.html\">The full report of ");
		html_text(out, rung);
		str_add(out, "</a></p>\n");
	}
	str_add(out, "</div>\n");
	snprintf(name, sizeof(name), "%s/%s.txt", RUN_LOGS, rung);
	text = rundir_read_text(dir, name, MAX_WORDS, NULL, NULL);
	if (text) {
		str_add(out, "<details><summary>What it printed, as in ");
		html_text(out, name);
		str_add(out, "</summary>\n");
		html_element(out, "pre", text);
		str_add(out, "</details>\n");
	}
	free(text);
}

static void html(const struct judged *j, const char *dir, struct str *out)
{
	const struct all *all = j->more;
	struct table t;

	list_steps(all, &t);
	t.title = "Probes";
	table_html(&t, "h2", out);
	table_release(&t);
	for (size_t i = 0; i < all->n; i++) {
		add_step(&all->steps[i], dir, out);
	}
}

static const char *figure(const struct judged *j, int i, char *buf,
			  size_t size)
{
	const struct all *all = j->more;
	size_t ok = 0;

	for (size_t k = 0; k < all->n; k++) {
		ok += all->steps[k].row.outcome == OUTCOME_OK;
	}
	if (i == 0) {
		snprintf(buf, size, "%d", j->run.n_nodes);
		return "nodes";
	}
	snprintf(buf, size, "%zu of %zu", ok, all->n);
	return i == 1 ? "probes measured" : NULL;
}

static const struct judged_kind judged_all = {
	.probe = "all",
	.references = true,
	.more_size = sizeof(struct all),
	.judge = judge,
	.release = release,
	.code = code,
	.head = head,
	.note = note,
	.below = below,
	.html = html,
	.figure = figure,
};

/* ---- judged -------------------------------------------------------------- */

/** The first stands for every probe that has none of its own. */
static const struct judged_kind *const kinds[] = {
	&judged_pairs, &judged_memlock, &judged_collective,
	&judged_ping, &judged_all, &judged_info, &judged_hang, &judged_gpu,
	&judged_rows, &judged_targets, NULL
};

static const struct judged_kind *kind_of(const char *dir)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	char probe[32] = "";
	int i = 0;

	json_opt_text(run, "probe", probe, sizeof(probe), NULL);
	json_decref(run);
	while (kinds[i] && (kinds[i]->takes ?
				    !kinds[i]->takes(probe) :
				    strcmp(kinds[i]->probe, probe) != 0)) {
		i++;
	}
	return kinds[i] ? kinds[i] : kinds[0];
}

static int put_csv(void *arg, FILE *f)
{
	return judged_csv(arg, f, NULL);
}

static int put_schema(void *arg, FILE *f)
{
	judged_schema(arg, f);
	return 0;
}

/** The rows that count, or nothing where @j has none. */
static int write_final(struct judged *j, struct err *e)
{
	if (!run_has_final(&j->run)) {
		rundir_remove(j->out, RUN_FINAL);	/* of an older report */
		return 0;
	}
	return rundir_write_with(j->out, RUN_FINAL, 0666, put_csv, j, e);
}

static int write_verdict(struct judged *j, struct err *e)
{
	json_t *json = verdict_json(&j->run, &j->verdict);
	int rc = json ? rundir_write_json(j->out, RUN_VERDICT, json, e) :
			err_set(e, ENOMEM, "cannot write the verdict");

	json_decref(json);
	return rc;
}

static int write_schema(struct judged *j, struct err *e)
{
	return rundir_write_with(j->out, RUN_SCHEMA, 0666, put_schema, j, e);
}

static int write_page(struct judged *j, struct err *e)
{
	return show_html(j, j->out, e);
}

/** The files of a report, in the order in which they are written: the verdict
 *  says whether its rows were saved, the page shows the pictures. */
static const struct report_file {
	const char *name;
	int (*write)(struct judged *j, struct err *e);
	bool answer;		/* without it the answer is unknown */
} files[] = {
	{ .name = RUN_FINAL, .write = write_final, .answer = true },
	{ .name = RUN_VERDICT, .write = write_verdict, .answer = true },
	{ .name = RUN_SCHEMA, .write = write_schema },
	{ .name = "report.html", .write = write_page },
};

/** Add @name to the files that could not be written; @first becomes why the
 *  first of them was not. */
static void note_unwritten(struct str *names, struct err *first,
			   const char *name, const struct err *e)
{
	if (names->len == 0) {
		*first = *e;
	}
	str_addf(names, "%s%s", names->len > 0 ? ", " : "", name);
}

/** Write the file @f.  If there is no room for it, first remove what can be
 *  made again: the file that it replaces, which is out of date, and for the
 *  verdict the rows, as it can say that they are missing.  @unwritten and
 *  @first are those of note_unwritten(). */
static void write_file(struct judged *j, const struct report_file *f,
		       struct str *unwritten, struct err *first)
{
	struct err e = { 0 }, why;
	int rc;

	while ((rc = f->write(j, &e)) < 0 &&
	       (e.code == ENOSPC || e.code == EDQUOT)) {
		const char *name = rundir_has(j->out, f->name) ? f->name :
								 RUN_FINAL;

		if ((name != f->name && f->write != write_verdict) ||
		    !rundir_has(j->out, name)) {
			break;
		}
		rundir_remove(j->out, name);
		if (name != f->name) {
			err_set(&why, e.code, "cannot write '%s/%s'", j->out,
				name);
			note_unwritten(unwritten, first, name, &why);
			verdict_set_unsaved(&j->run, &j->verdict, name);
		}
	}
	if (rc < 0) {
		note_unwritten(unwritten, first, f->name, &e);
	}
	if (rc < 0 && f->answer && !err_is_read_only(&e)) {
		verdict_set_unsaved(&j->run, &j->verdict, f->name);
		/* an empty one needs no room, and later readers know */
		rundir_write_text(j->out, RUN_VERDICT, "", 0666, NULL);
	}
}

/** The files of a run that was judged.  Each is tried, whatever became of the
 *  others.  0; 1, and where a file should be there, 2, with @e. */
static int write_files(struct judged *j, struct err *e)
{
	struct str unwritten = STR_INIT;
	struct drawn maps = { 0 };
	struct err why = { 0 };
	char dir[sizeof(e->hint) / 2];
	int drawn = 0, rc;

	/* refuse a directory of another user: what it has could redirect our
	 * writes; what it lacks the first write reports */
	if (rundir_check_own(j->out, &why) < 0 && !why.code) {
		err_set(e, EPERM, "verdict.json, report.html and pictures are "
				  "not written: %s", why.text);
		err_hint(e, "\"gpucheck report -o NEW %s\" writes them "
			 "elsewhere", str_quoted_dir(j->run.dir, dir,
						     sizeof(dir)));
		return 1;
	}
	why = (struct err){ 0 };
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (files[i].write == write_page) {
			j->drawn = &maps;
			drawn = j->kind->draw ?
					j->kind->draw(j, j->out, &why) : 0;
			if (drawn < 0) {
				note_unwritten(&unwritten, e, "pictures", &why);
			}
		}
		write_file(j, &files[i], &unwritten, e);
	}
	j->drawn = NULL;
	drawn_release(&maps);
	if (unwritten.len == 0) {
		*e = why;
		rc = drawn != 0;
	} else {
		rc = err_is_read_only(e) ? 1 : 2;
	}
	if (strchr(str_text(&unwritten), ',')) {
		err_set(e, e->code, "cannot write %s in '%s'",
			str_text(&unwritten), j->out);
	}
	str_release(&unwritten);
	return rc;
}

int judged_make(const char *dir, const char *out, const struct judged_ask *ask,
		struct judged **j, struct err *e)
{
	struct judged *made = calloc(1, sizeof(*made));
	struct err why = { 0 };
	int rc = -1;

	if (made) {
		made->kind = kind_of(dir);
		made->dir = dir;
		made->out = out;
		made->ask = *ask;
		made->more = calloc(1, made->kind->more_size + 1);
	}
	if (made && ask->reference[0] && !made->kind->references) {
		err_set(&why, 0, "a run of this probe has no reference");
	} else if (made && made->more) {
		rc = made->kind->judge(dir, made, &why);
	}
	if (rc < 0) {
		judged_free(made);
		if (!why.text[0]) {
			err_set(&why, ENOMEM, "cannot judge the run");
		}
	} else {
		if (ask->going) {
			made->verdict.going = ask->going;
			made->verdict.hint = ask->hint;
			made->verdict.status = ask->pending ? VERDICT_PENDING :
							      VERDICT_RUNNING;
		} else {
			const char *at = out ? out : dir;
			json_t *json;

			rc = out ? write_files(made, &why) : rc;
			/* what this report or an earlier one could not save */
			json = rundir_read_json(at, RUN_VERDICT, NULL);
			if (((!json && rundir_has(at, RUN_VERDICT)) ||
			     strcmp(verdict_file(json).unwritten,
				    RUN_FINAL) == 0) &&
			    !rundir_has(at, RUN_FINAL)) {
				verdict_set_unsaved(&made->run, &made->verdict,
						    RUN_FINAL);
			}
			json_decref(json);
		}
		*j = made;
	}
	if (rc != 0 && e) {
		*e = why;
	}
	return rc;
}

void judged_free(struct judged *j)
{
	if (!j) {
		return;
	}
	verdict_release(&j->verdict);
	run_release(&j->run);
	if (j->more && j->kind->release) {
		j->kind->release(j->more);
	}
	free(j->more);
	free(j);
}

int judged_exit(const struct judged *j)
{
	return j->ask.going	     ? CODE_PARTIAL :
	       j->kind->code ? j->kind->code(j) :
			       verdict_exit(&j->run, &j->verdict);
}

int judged_words(const struct judged *j, int width, bool color,
		 enum term_style style, struct str *out)
{
	bool empty = j->run.n_nodes == 0 && j->run.rows == 0;

	show_words(j, width > 0 ? width : JUDGED_FILE_WIDTH, color, out);
	if (j->ask.brief || empty) {
		return out->failed ? -1 : 0;
	}
	if (j->kind->below) {
		return j->kind->below(j, width, style, out) < 0 ||
				       out->failed ? -1 : 0;
	}
	if (j->kind->tables) {
		struct tables t = { .n = 0 };

		j->kind->tables(j, &t);
		for (size_t i = 0; i < t.n; i++) {
			str_add(out, table_rows(&t.list[i]) > 0 ? "\n" : "");
			table_text(&t.list[i], width, out);
		}
		tables_release(&t);
	}
	return out->failed ? -1 : 0;
}
