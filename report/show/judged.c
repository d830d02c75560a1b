/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/model/run_read.h"

/* ---- json ---------------------------------------------------------------- */

/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

struct dump {
	const struct schema *schema;
	const char *before;	/* the next row */
	FILE *out;
};

static int dump_row(void *user, const void *row)
{
	struct dump *d = user;
	json_t *json = record_json(d->schema, row);
	int rc;

	fputs(d->before, d->out);
	rc = json_print(json, d->out, ROW_FLAGS);
	json_decref(json);
	d->before = ",\n";
	return rc;
}

/** DIR/@file as a member @name of the object; no file, no rows. */
static int dump_table(const char *name, const char *dir, const char *file,
		      const struct schema *schema, FILE *out, struct err *e)
{
	struct dump d = { .schema = schema, .before = "\n", .out = out };
	const struct run_rows rows = { .schema = schema, .take = dump_row,
				       .user = &d };
	int rc;

	fprintf(out, ",\n\"%s\": [", name);
	rc = run_take_rows(rundir_open(dir, file, NULL), &rows, e);
	fputc(']', out);
	return rc < 0 ? -1 : 0;
}

/** Add the tables that judged_json() has besides run and verdict. */
static int dump_tables(const struct judged *j, FILE *out, struct err *e)
{
	if ((j->run.n_diagnose > 0 &&
	     dump_table("diagnose", j->dir, RUN_DIAGNOSE, &schema_diagnose, out,
			e) < 0) ||
	    (j->kind->csv && dump_table("facts", j->dir, j->kind->csv,
					&schema_facts, out, e) < 0)) {
		return -1;
	}
	return dump_table("rows", j->dir, RUN_RESULTS, j->run.schema, out, e);
}

int judged_json(const struct judged *j, bool rows, FILE *out, struct err *e)
{
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
	if (rows && dump_tables(j, out, e) < 0) {
		return -1;
	}
	fputs("}\n", out);
	return 0;
}

/* ---- judged -------------------------------------------------------------- */

/** The first stands for every probe that has none of its own. */
static const struct judged_kind *const kinds[] = {
	&judged_pairs, &judged_memlock, &judged_collective,
	&judged_ping, &judged_all, &judged_info, &judged_hang, &judged_gpu, NULL
};

static bool takes(const struct judged_kind *k, const char *probe)
{
	return k->takes ? k->takes(probe) : strcmp(k->probe, probe) == 0;
}

static const struct judged_kind *kind_of(const char *dir)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	char probe[32] = "";
	int i = 0;

	json_opt_text(run, "probe", probe, sizeof(probe), NULL);
	json_decref(run);
	while (kinds[i] && !takes(kinds[i], probe)) {
		i++;
	}
	return kinds[i] ? kinds[i] : kinds[0];
}

bool judged_has_references(const char *dir)
{
	return kind_of(dir)->references;
}

/** 0, or -1 with @e: what others put into a directory that they may write to
 *  could redirect our writes. */
static int check_owner(const char *dir, struct err *e)
{
	struct err why;

	if (rundir_check_own(dir, &why) == 0 || why.code) {
		return 0;	/* what it lacks the first write says */
	}
	err_set(e, EPERM, "verdict.json, report.html and pictures are not "
			  "written: %s", why.text);
	return err_hint(e, "\"gpucheck report -o NEW DIR\" writes them "
			   "elsewhere");
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

/** The files of one report that could not be written. */
struct unwritten {
	struct str names;
	struct err first;	/* why the first of them was not */
	size_t n;
};

static void note_unwritten(struct unwritten *u, const char *name,
			   const struct err *e)
{
	u->first = u->n++ ? u->first : *e;
	str_addf(&u->names, "%s%s", u->n > 1 ? ", " : "", name);
}

/** Remove what can be made again, as writing @f failed with @e: the file that
 *  it replaces, which is out of date, and for the verdict the rows, as it can
 *  say that they are missing.  Return true if there is more room now. */
static bool make_room(struct judged *j, const struct report_file *f,
		      struct unwritten *u, const struct err *e)
{
	const char *name = rundir_has(j->out, f->name) ? f->name : RUN_FINAL;
	struct err why;

	if ((e->code != ENOSPC && e->code != EDQUOT) ||
	    (name != f->name && f->write != write_verdict) ||
	    !rundir_has(j->out, name)) {
		return false;
	}
	rundir_remove(j->out, name);
	if (name != f->name) {
		err_set(&why, e->code, "cannot write '%s/%s'", j->out, name);
		note_unwritten(u, name, &why);
		verdict_set_unsaved(&j->run, &j->verdict, name);
	}
	return true;
}

static void write_file(struct judged *j, const struct report_file *f,
		       struct unwritten *u)
{
	struct err e = { 0 };
	int rc;

	do {
		rc = f->write(j, &e);
	} while (rc < 0 && make_room(j, f, u, &e));
	if (rc < 0) {
		note_unwritten(u, f->name, &e);
	}
	if (rc < 0 && f->answer && !err_is_read_only(&e)) {
		verdict_set_unsaved(&j->run, &j->verdict, f->name);
	}
}

/** Find what this report of @dir or an earlier one could not save. */
static void find_unsaved(struct judged *j, const char *dir)
{
	json_t *json = rundir_read_json(dir, RUN_VERDICT, NULL);

	if (strcmp(verdict_file(json).unwritten, RUN_FINAL) == 0 &&
	    !rundir_has(dir, RUN_FINAL)) {
		verdict_set_unsaved(&j->run, &j->verdict, RUN_FINAL);
	}
	json_decref(json);
}

/** The files of a run that was judged.  Each is tried, whatever became of the
 *  others.  0; 1, and where a file should be there, 2, with @e. */
static int write_files(struct judged *j, struct err *e)
{
	struct unwritten u = { .names = STR_INIT };
	struct drawn maps = { 0 };
	struct err why = { 0 };
	int drawn = 0, rc;

	if (check_owner(j->out, e) < 0) {
		return 1;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (files[i].write == write_page) {
			j->drawn = &maps;
			drawn = j->kind->draw ?
					j->kind->draw(j, j->out, &why) : 0;
			if (drawn < 0) {
				note_unwritten(&u, "pictures", &why);
			}
		}
		write_file(j, &files[i], &u);
	}
	j->drawn = NULL;
	drawn_release(&maps);
	rc = u.n == 0 ? drawn != 0 : err_is_read_only(&u.first) ? 1 : 2;
	*e = u.n > 0 ? u.first : why;
	if (u.n > 1) {
		err_set(e, u.first.code, "cannot write %s in '%s'",
			str_text(&u.names), j->out);
	}
	str_release(&u.names);
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
			rc = out ? write_files(made, &why) : rc;
			find_unsaved(made, out ? out : dir);
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
	if (j->kind->below && !j->ask.brief && !empty &&
	    j->kind->below(j, width, style, out) < 0) {
		return -1;
	}
	return out->failed ? -1 : 0;
}
