/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck bundle: pack a run, redacted, into an archive for support. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/help.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "lib/data/bundle.h"
#include "lib/data/rundir.h"
#include "lib/data/switches.h"
#include "report/show/judged.h"

/** Maximum bytes of the archive, and of its README. */
#define BUNDLE_MOST 5000000
#define BUNDLE_README 65536

/** Maximum directories in one archive. */
#define DIRS_MOST 8

/** The parts of runs that may leave the site. */
struct bundle {
	struct found runs[DIRS_MOST];
	char names[DIRS_MOST][80];	/* their folders in the archive */
	size_t n_dirs;
	const char *dir;	/* of the current one */
	struct redact hide;
	json_t *accused;	/* nodes of findings: a set */
	struct str members;	/* the archive without its README and end */
	struct str in, out;	/* a line per file: included, and left out */
	struct str parts;	/* serial numbers, firmware, ... of @accused */
	size_t n_out;
	struct bundled *files;	/* of the run, in the order of the archive */
	size_t n_files, more;	/* more: files that are not listed */
};

/* ---- bundle part --------------------------------------------------------- */

/* Takers of single files of a run: each redacts a file, and reduces one that is
 * too large to its important rows. */

#define PARTS_MOST 16384	/* bytes */

/** Appends up to @most bytes of the file @name of the run to @text, redacted,
 *  and describes in @note what is missing; -1 with @e. */
typedef int part_fn(struct bundle *b, const char *name, size_t most,
		    struct str *text, struct str *note, struct err *e);

/* Takes a whole JSON file, or nothing.  The nodes that findings of a verdict
 * name become b->accused. */
static int part_json(struct bundle *b, const char *name, size_t most,
		     struct str *text, struct str *note, struct err *e)
{
	json_t *json = rundir_read_json(b->dir, name, e);
	json_t *hidden = json ? redact_json(&b->hide, "", json) : NULL;
	const json_t *findings = json ? verdict_file(json).findings : NULL;

	if (!json) {
		return -1;
	}
	(void)note;
	for (size_t i = 0; i < 2 * json_array_size(findings); i++) {
		const struct run_entry f = run_entry(findings, i / 2);
		const char *node = i % 2 ? f.peer_node : f.node;

		if (node[0]) {
			json_object_set_new(b->accused, node, json_true());
		}
	}
	json_add(hidden, JSON_INDENT(2) | JSON_REAL_PRECISION(15), text);
	str_addch(text, '\n');
	json_decref(json);
	json_decref(hidden);
	return text->len > most ?
		       err_set(e, 0, "%zu bytes are too many", text->len) : 0;
}

/** Facts by which a vendor knows a part. */
static const char *const part_facts[] = {
	"name", "serial", "uuid", "bus", "board", "board_serial", "firmware",
	"vbios", "driver", "port_guid", "product", NULL
};

/** Return true if the row names a suspected node or a failed test. */
static bool matters(const struct bundle *b, const struct csv_row *head,
		    const struct csv_row *row)
{
	for (size_t i = 0; i < row->n && i < head->n; i++) {
		const char *column = head->field[i];
		const char *value = row->field[i];

		if (str_ends(column, "node") ?
			    json_object_get(b->accused, value) != NULL :
		    strcmp(column, "outcome") == 0 &&
			    strcmp(value, "ok") != 0) {
			return true;
		}
	}
	return false;
}

static void add_row(struct bundle *b, const struct csv_row *row, bool is_head,
		    struct str *line)
{
	const char *before = "";

	str_reset(line);
	for (size_t i = 0; i < row->n; i++) {
		struct str field = STR_INIT;

		/* in facts.csv the name of a fact precedes its value */
		redact_value(&b->hide, is_head ? "" : before, row->field[i],
			     &field);
		before = row->field[i];
		if (i > 0) {
			str_addch(line, ',');
		}
		csv_add_field(line, str_text(&field));
		str_release(&field);
	}
	str_addch(line, '\n');
}

/** node,scope,fact,value of a part that a finding may name. */
static void note_part(struct bundle *b, const struct csv_row *row)
{
	struct str line = STR_INIT, hidden = STR_INIT;

	if (row->n < 4 || str_index(part_facts, row->field[2]) < 0 ||
	    !json_object_get(b->accused, row->field[0]) ||
	    b->parts.len > PARTS_MOST) {
		return;
	}
	str_addf(&line, "    %-12s %-10s %-10s %s\n", row->field[0],
		 row->field[1], row->field[2], row->field[3]);
	redact_text(&b->hide, str_text(&line), line.len, &hidden);
	/* each run of several has asked */
	if (!strstr(str_text(&b->parts), str_text(&hidden))) {
		str_add(&b->parts, str_text(&hidden));
	}
	str_release(&line);
	str_release(&hidden);
}

/** Count the rows of a table in @n, and the bytes of its important ones and its
 *  column names in @matter_B; with @text, which is not NULL, take the important
 *  rows, and as many of the others as fit, in the order of the file, and count
 *  these. */
static int read_rows(struct bundle *b, const char *name, size_t most,
		     size_t *n, size_t *matter_B, struct str *text,
		     struct err *e)
{
	const bool facts = str_ends(name, RUN_FACTS);
	FILE *f = rundir_open(b->dir, name, e);
	struct str line = STR_INIT;
	struct csv_row head = { .n = 0 }, row;
	struct csv_reader head_reader, r;
	size_t other_B = 0, raw_B;
	FILE *again;
	int got;

	if (!f) {
		return -1;
	}
	/* the names of the columns stay while the rows go by */
	again = rundir_open(b->dir, name, e);
	if (!again) {
		fclose(f);
		return -1;
	}
	csv_reader_init(&head_reader, again);
	csv_reader_init(&r, f);
	got = csv_next(&head_reader, &head, e);
	if (got == 1) {
		got = csv_next(&r, &row, e);
	}
	if (got == 1) {
		add_row(b, &row, true, &line);
		*matter_B += text ? 0 : line.len;
		if (text) {
			str_addmem(text, str_text(&line), line.len);
		}
	}
	while (got == 1 && (got = csv_next(&r, &row, e)) == 1) {
		const bool is_matter = matters(b, &head, &row);

		csv_raw(&r, &raw_B);
		if (!text) {
			++*n;
			*matter_B += is_matter ? raw_B : 0;
			continue;
		}
		if (facts) {
			note_part(b, &row);
		}
		if (!is_matter && *matter_B + other_B + raw_B > most) {
			continue;
		}
		add_row(b, &row, false, &line);
		if (text->len + line.len > most) {
			continue;
		}
		other_B += is_matter ? 0 : line.len;
		str_addmem(text, str_text(&line), line.len);
		++*n;
	}
	csv_reader_release(&head_reader);
	csv_reader_release(&r);
	str_release(&line);
	fclose(again);
	fclose(f);
	return got;
}

/* Takes the rows about accused nodes or failures, and as many of the others as
 * fit, in the order of the file. */
static int part_rows(struct bundle *b, const char *name, size_t most,
		     struct str *text, struct str *note, struct err *e)
{
	size_t all = 0, taken = 0, matter_B = 0;

	if (read_rows(b, name, most, &all, &matter_B, NULL, e) < 0 ||
	    read_rows(b, name, most, &taken, &matter_B, text, e) < 0) {
		return -1;
	}
	if (taken < all) {
		str_addf(note, "%zu of %zu rows", taken, all);
	}
	return 0;
}

/** @len bytes of @fd from @at, or fewer, redacted; of what does not begin with
 *  the file, whole lines. */
static int take_piece(struct bundle *b, int fd, off_t at, size_t len,
		      struct str *text)
{
	char *buf = malloc(len);
	const char *from = buf, *newline;
	ssize_t got = buf ? pread(fd, buf, len, at) : -1;

	if (got > 0 && at > 0) {
		newline = memchr(buf, '\n', (size_t)got);
		from = newline ? newline + 1 : buf + got;
	}
	if (got > 0) {
		redact_text(&b->hide, from, (size_t)(buf + got - from), text);
	}
	free(buf);
	return got < 0 ? -1 : 0;
}

/* Takes the beginning of a log, and three times as much of its end. */
static int part_ends(struct bundle *b, const char *name, size_t most,
		     struct str *text, struct str *note, struct err *e)
{
	int fd = rundir_open_fd(b->dir, name, O_RDONLY, e), rc;
	struct stat st;
	off_t size;

	if (fd < 0) {
		return -1;
	}
	size = fstat(fd, &st) == 0 ? st.st_size : 0;
	if (size <= (off_t)most) {
		rc = take_piece(b, fd, 0, most, text);
	} else {
		rc = take_piece(b, fd, 0, most / 4, text);
		str_addf(note, "%zu of %" PRId64 " bytes: its begin and end",
			 most, (int64_t)size);
		str_addf(text, "\n[gpucheck bundle: bytes are left out "
			       "here]\n");
		rc |= take_piece(b, fd, size - (off_t)(most * 3 / 4),
				 most * 3 / 4, text);
	}
	close(fd);
	return rc < 0 ? err_set(e, errno, "cannot read '%s'", name) : 0;
}

/* ---- bundle -------------------------------------------------------------- */

#define FILES_MOST	10000	/* that are looked at */
#define DEPTH_MOST	4	/* all/p2p/diagnose/ping */
#define LINES_MOST	100	/* of what was left out */
#define FILE_NAME	1024
#define RECORD		"tree"	/* of info --record, in a folder per node */

/**
 * Kinds of files, by name or folder; the archive takes them in this order until
 * it is full.
 */
static const struct bundle_kind {
	const char *name;	/* or ".svg", the end of it, or "logs/" */
	part_fn *take;		/* NULL: it stays here, ... */
	const char *why;	/* ... why */
	size_t most, all;	/* bytes of one, of all of the kind */
} kinds[] = {
	{ RUN_JSON, .take = part_json, .most = 1000000, .all = 1200000 },
	{ RUN_VERDICT, .take = part_json, .most = 500000, .all = 800000 },
	{ RUN_DIAGNOSE, .take = part_rows, .most = 100000, .all = 200000 },
	{ RUN_EXPECTED, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_SWITCHES, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_ACCEPT, .take = part_ends, .most = 20000, .all = 50000 },
	{ "drill", .take = part_ends, .most = 20000, .all = 50000 },
	{ RUN_JOB_SCRIPT, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_JOB_OUT, .take = part_ends, .most = 100000, .all = 300000 },
	{ RUN_ABSENT, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_EVENTS, .take = part_rows, .most = 200000, .all = 400000 },
	{ RUN_LOGS "/", .take = part_ends, .most = 64000, .all = 800000 },
	{ RUN_FACTS, .take = part_rows, .most = 600000, .all = 1200000 },
	{ RUN_RESULTS, .take = part_rows, .most = BUNDLE_MOST,
	  .all = BUNDLE_MOST },
	{ "nvml", .take = part_ends, .most = 100000, .all = 300000 },
	{ RECORD, .take = part_ends, .most = 600000, .all = 1200000 },
	{ RUN_RENDEZVOUS, .why = "the key of the run" },
	{ RUN_RESUME, .why = "a --resume that has not started" },
	{ RUN_HOLDER, .why = "the process that works on it" },
	{ RUN_FINAL, .why = "gpucheck report makes it" },
	{ RUN_SCHEMA, .why = "gpucheck help csv has it" },
	{ ".png", .why = "a picture: gpucheck report makes it" },
	{ ".svg", .why = "a picture: gpucheck report makes it" },
	{ ".html", .why = "gpucheck report makes it" },
	{ "", .why = "not a file of gpucheck" },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct bundled {
	size_t kind, of;	/* of: the directory */
	char name[FILE_NAME];	/* below the run directory */
};

static size_t kind_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	size_t k;

	for (k = 0; k < KINDS - 1; k++) {
		const char *is = kinds[k].name;
		const size_t n = strlen(is);

		if (is[0] == '.'       ? str_ends(last, is) :
		    is[n - 1] == '/' ? (size_t)(last - name) >= n &&
					       memcmp(last - n, is, n) == 0 :
				       strcmp(last, is) == 0) {
			break;
		}
	}
	return k;
}

/* ---- files of a run ------------------------------------------------------ */

/** Add the files in @folder of the run to b->files. */
static int walk(struct bundle *b, const char *folder, int depth,
		struct err *e)
{
	DIR *d = rundir_folder(b->dir, folder);
	const struct dirent *entry;
	int rc = 0;

	while (rc == 0 && d && (entry = readdir(d))) {
		struct bundled p;
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0) {
			continue;
		}
		if (b->n_files >= FILES_MOST ||
		    snprintf(p.name, sizeof(p.name), "%s%s%s", folder,
			     folder[0] ? "/" : "", entry->d_name) >=
			    (int)sizeof(p.name)) {
			b->more++;
			continue;
		}
		if (fstatat(dirfd(d), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
			if (depth < DEPTH_MOST) {
				rc = walk(b, p.name, depth + 1, e);
			}
			continue;
		}
		p.kind = kind_of(p.name);
		p.of = b->n_dirs;
		if (!grow_add(&b->files, &b->n_files, &p, sizeof(p))) {
			rc = err_set(e, ENOMEM, "cannot list '%s'", b->dir);
		}
	}
	if (d) {
		closedir(d);
	}
	return rc;
}

static const struct order_key by_kind[] = {
	ORDER_UP(struct bundled, kind),
	ORDER_UP(struct bundled, of),
	ORDER_UP(struct bundled, name),
	ORDER_END
};

/* ---- names to replace ---------------------------------------------------- */

/** Learn the names in @json: nodes[].name, and values called "node", "host",
 *  "serial" and the like. */
static void learn_json(struct redact *hide, const char *key,
		       const json_t *json)
{
	const char *text = json_string_value(json), *name;
	json_t *value;
	size_t i;

	if (text) {
		redact_learn(hide, key, text);
	}
	json_array_foreach(json, i, value) {
		if (strcmp(key, "nodes") == 0) {
			redact_add(hide, REDACT_HOST, run_entry_of(value).name);
		}
		learn_json(hide, key, value);
	}
	json_object_foreach((json_t *)json, name, value) {
		learn_json(hide, name, value);
	}
}

/** Learn the names that nodes report for themselves. */
static void learn_facts(struct bundle *b, const char *name)
{
	FILE *f = rundir_open(b->dir, name, NULL);
	struct record_reader r;
	struct fact_row row;

	if (!f) {
		return;
	}
	if (record_reader_open(&r, &schema_facts, f, NULL) == 0) {
		while (record_reader_next(&r, &row, NULL) == 1) {
			redact_add(&b->hide, REDACT_HOST, row.node);
			redact_learn(&b->hide, row.fact, row.value);
		}
	}
	record_reader_close(&r);
	fclose(f);
}

/** Learns the users whose home directories @text names. */
static void learn_homes(struct bundle *b, const char *text)
{
	const size_t removed = b->hide.removed, replaced = b->hide.replaced;
	struct str unused = STR_INIT;

	redact_text(&b->hide, text, strlen(text), &unused);
	b->hide.removed = removed;	/* they are counted later */
	b->hide.replaced = replaced;
	str_release(&unused);
}

/** Learn the names in the file @x, before anything is written. */
static void learn_file(struct bundle *b, const struct bundled *x)
{
	const char *kind = kinds[x->kind].name;
	const bool json = kinds[x->kind].take == part_json;
	const bool links = strcmp(kind, RUN_SWITCHES) == 0;
	char *text = NULL;

	b->dir = b->runs[x->of].dir;
	if (json || links || strcmp(kind, RUN_JOB_SCRIPT) == 0) {
		text = rundir_read_text(b->dir, x->name, 1 << 20, NULL, NULL);
	}
	if (json) {
		json_t *parsed = rundir_read_json(b->dir, x->name, NULL);

		learn_json(&b->hide, "", parsed);
		json_decref(parsed);
	} else if (links && text) {
		struct switch_link *list;
		const long n = switches_parse(text, strlen(text), &list);

		for (long i = 0; i < n; i++) {
			redact_add(&b->hide, REDACT_HOST, list[i].node);
			redact_learn(&b->hide, "switch", list[i].name);
		}
		free(list);
	} else if (strcmp(kind, RUN_FACTS) == 0) {
		learn_facts(b, x->name);
	} else if (strcmp(kind, RECORD) == 0) {
		char node[256];

		snprintf(node, sizeof(node), "%.*s",
			 (int)strcspn(x->name, "/"), x->name);
		redact_add(&b->hide, REDACT_HOST, node);
	}
	learn_homes(b, text ? text : "");
	free(text);
}

/** Learn the names to replace: those of the owners, of this user and host, and
 *  all that the files have. */
static void learn_names(struct bundle *b)
{
	const struct passwd *p = getpwuid(getuid());
	char host[256] = "";
	struct stat st;

	redact_add(&b->hide, REDACT_USER, p ? p->pw_name : "");
	for (size_t i = 0; i < b->n_dirs; i++) {
		p = stat(b->runs[i].dir, &st) == 0 ? getpwuid(st.st_uid) : NULL;
		redact_add(&b->hide, REDACT_USER, p ? p->pw_name : "");
		learn_homes(b, b->runs[i].dir);
	}
	for (size_t i = 0; i < b->n_files; i++) {
		learn_file(b, &b->files[i]);
	}
	gethostname(host, sizeof(host) - 1);
	redact_add(&b->hide, REDACT_HOST, host);
}

/* ---- the archive --------------------------------------------------------- */

/** List the file @p as left out; below its folder if there are several. */
static void leave_out(struct bundle *b, const struct bundled *p,
		      const char *why)
{
	struct str line = STR_INIT;

	if (b->n_out++ < LINES_MOST) {
		str_addf(&line, "    %s%s%s: %s\n",
			 b->n_dirs > 1 ? b->names[p->of] : "",
			 b->n_dirs > 1 ? "/" : "", p->name, why);
		redact_text(&b->hide, str_text(&line), line.len, &b->out);
	}
	str_release(&line);
}

/** Bytes that a file may still have, of 512 that its end may lose. */
static size_t room(const struct bundle *b)
{
	const size_t used = b->members.len + tar_size(BUNDLE_README) +
			    tar_size(0) + 512 + tar_end_size;

	return used < BUNDLE_MOST ? BUNDLE_MOST - used : 0;
}

static void add(struct bundle *b, const struct bundled *p, size_t *all)
{
	const struct bundle_kind *k = &kinds[p->kind];
	struct str text = STR_INIT, note = STR_INIT, name = STR_INIT;
	size_t most = k->most;
	struct err e = { 0 };

	b->dir = b->runs[p->of].dir;
	most = most < k->all - *all ? most : k->all - *all;
	most = most < room(b) ? most : room(b);
	if (most < 512) {
		err_set(&e, 0, "no room for it");
	} else if (k->take(b, p->name, most, &text, &note, &e) == 0) {
		str_addf(&name, "%s/", b->names[p->of]);
		redact_text(&b->hide, p->name, strlen(p->name), &name);
		/* removed text may be shorter than its replacement */
		if (text.len > room(b)) {
			str_cut(&text, room(b));
			str_addf(&note, "%scut at its end",
				 note.len ? "; " : "");
		}
		if (!text.failed && !tar_add(&b->members, str_text(&name),
					     str_text(&text), text.len,
					     time(NULL))) {
			err_set(&e, 0, "its name is too long");
		}
	}
	if (e.text[0] || e.code) {
		char why[512];

		leave_out(b, p, err_str(&e, why, sizeof(why)));
	} else {
		*all += text.len;
		str_addf(&b->in, "    %s, %zu bytes%s%s\n",
			 str_text(&name) +
				 (b->n_dirs > 1 ? 0 : strlen(b->names[0]) + 1),
			 text.len,
			 note.len ? ": " : "", str_text(&note));
	}
	b->members.failed |= text.failed || name.failed;
	str_release(&text);
	str_release(&note);
	str_release(&name);
}

/* Collects the files of the directories b->runs, which any user may own:
 * symbolic links are not followed.  @share: replaces names and identifiers.
 * Files that cannot be read are left out and listed in @out.  Returns 0, or -1
 * with @e (no memory). */
static int bundle_collect(struct bundle *b, bool share, struct err *e)
{
	size_t used[KINDS] = { 0 };
	struct str name = STR_INIT;

	b->accused = json_object();
	if (!b->accused || (share && redact_names(&b->hide) < 0)) {
		return err_set(e, ENOMEM, "cannot collect '%s'", b->dir);
	}
	order_sort(b->files, b->n_files, sizeof(*b->files), by_kind);
	if (share) {
		learn_names(b);
	}
	for (size_t i = 0; i < b->n_dirs; i++) {
		const char *slash = strrchr(b->runs[i].dir, '/');

		str_reset(&name);
		slash = slash && slash[1] ? slash + 1 : "run";
		redact_text(&b->hide, slash, strlen(slash), &name);
		STR_COPY(b->names[i], str_text(&name));
		for (size_t k = 0; k < i; k++) {
			if (strcmp(b->names[k], b->names[i]) == 0) {
				snprintf(b->names[i], sizeof(b->names[i]),
					 "%.50s-%zu", str_text(&name), i + 1);
			}
		}
	}
	str_release(&name);
	for (size_t i = 0; i < b->n_files; i++) {
		const struct bundled *p = &b->files[i];

		if (kinds[p->kind].take) {
			add(b, p, &used[p->kind]);
		} else {
			leave_out(b, p, kinds[p->kind].why);
		}
	}
	b->n_out += b->more;
	if (b->n_out > LINES_MOST) {
		str_addf(&b->out, "    and %zu more\n", b->n_out - LINES_MOST);
	}
	return b->members.failed ?
		       err_set(e, ENOMEM, "cannot collect '%s'", b->dir) : 0;
}

/* ---- bundle -------------------------------------------------------------- */

/** Append the report of a run, or the reason why there is none. */
static void add_report(struct bundle *b, const struct found *f,
		       struct str *out)
{
	const struct run_file run = run_file(f->run);
	struct str words = STR_INIT;
	struct judged_ask ask;
	struct judged *j = NULL;
	struct err e = { 0 };
	char why[1024];

	str_addf(&words,
		 "A run of gpucheck %s, command \"%s\", started at %s:\n\n",
		 run.version, run.probe, run.started_utc);
	found_ask(f, &ask);
	ask.brief = true;
	if (judged_make(f->dir, NULL, &ask, &j, &e) < 0 ||
	    judged_words(j, JUDGED_FILE_WIDTH, false, TERM_ASCII, &words) < 0) {
		str_addf(&words, "There is no report: %s\n",
			 err_str(&e, why, sizeof(why)));
	}
	judged_free(j);
	redact_text(&b->hide, str_text(&words), words.len, out);
	str_addch(out, '\n');
	str_release(&words);
}

/** Append the README, redacted. */
static void add_readme(struct bundle *b, struct str *out)
{
	const struct redact *r = &b->hide;
	bool recorded = false;

	for (size_t i = 0; i < b->n_files; i++) {
		recorded |= strcmp(kinds[b->files[i].kind].name, RECORD) == 0;
	}
	str_add(out, "gpucheck tests the GPUs, NICs and links of a cluster.\n\n");
	for (size_t i = 0; i < b->n_dirs; i++) {
		if (b->runs[i].run) {
			add_report(b, &b->runs[i], out);
		}
	}
	if (b->parts.len) {
		str_addf(out, "The nodes that it names, and their parts "
			      "(facts.csv: all):\n\n%s\n", str_text(&b->parts));
	}
	str_addf(out, "Files in this archive:\n\n%s", str_text(&b->in));
	str_addf(out,
		 "\nTables are CSV files; \"gpucheck help csv\" explains their "
		 "columns. A table that\nis too large has the rows of failed "
		 "tests and of the nodes above. To see tables\nand "
		 "pictures:\n\n"
		 "    tar xf FILE.tar && gpucheck report -o shown %s\n",
		 b->names[0]);
	if (recorded) {
		str_add(out, "\nA file \"" RECORD "\" has the files of /sys, /proc "
			     "and /etc that gpucheck read on\nthe node of its "
			     "folder, as lines; \"nvml\" has the answer of its "
			     "GPU driver\n(gpucheck info --record).\n");
	}
	if (b->n_out) {
		str_addf(out, "\nLeft out:\n\n%s", str_text(&b->out));
	}
	str_addf(out,
		 "\nReplaced by \"" REDACT_GONE "\": %zu values that look like "
		 "keys, tokens or passwords.\n", r->removed);
	if (!r->names) {
		str_add(out, "Names and addresses are not replaced.\n");
		return;
	}
	str_addf(out,
		 "\nReplaced in all files, the same name by the same "
		 "substitute:\n\n"
		 "    hosts (node1, ...): %zu    users (user1, ...): %zu\n"
		 "    switches (switch1, ...): %zu    domains (site1, ...): "
		 "%zu\n"
		 "    serial numbers (serial1, ...): %zu\n"
		 "    IP and MAC addresses, GUIDs, GIDs and UUIDs: in %zu "
		 "places\n\n"
		 "Addresses of one subnet are still in one subnet; the last "
		 "number of an IPv4\naddress is kept. Also kept: names of "
		 "Slurm partitions and accounts, job numbers,\npaths, times, "
		 "versions, and names that gpucheck cannot know to be such.\n",
		 r->n[REDACT_HOST], r->n[REDACT_USER], r->n[REDACT_SWITCH],
		 r->n[REDACT_SITE], r->n[REDACT_SERIAL], r->replaced);
}

/** A new file of its owner alone; 0, or -1 with @e and no file. */
static int write_new(const char *path, const struct str *data, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t at = 0;
	ssize_t n = 0;
	int why = 0;

	if (fd < 0) {
		err_set(e, errno, "cannot create '%s'", path);
		if (errno == EEXIST) {
			err_hint(e, "name a new file with -o FILE");
		}
		return -1;
	}
	while (at < data->len && !why) {
		n = write(fd, data->data + at, data->len - at);
		at += n > 0 ? (size_t)n : 0;
		why = n < 0 && errno != EINTR ? errno : 0;
	}
	if (!why && fsync(fd) < 0 && errno != EINVAL) {
		why = errno;
	}
	if (close(fd) < 0 && !why) {
		why = errno;	/* NFS reports a full disk here */
	}
	if (why) {
		unlink(path);
		return err_set(e, why, "cannot write '%s'", path);
	}
	return 0;
}

/** Write the archive: its README, which is truncated if it is too long, and
 *  @b's files. */
static int make(const struct session *s, struct bundle *b, struct str *tar,
		struct err *e)
{
	struct str readme = STR_INIT;
	char path[PATH_MAX], name[sizeof(b->names[0]) + sizeof("/README")];

	if (bundle_collect(b, s->spec.share, e) < 0) {
		return CODE_UNABLE;
	}
	add_readme(b, &readme);
	snprintf(name, sizeof(name), "%s/README", b->names[0]);
	tar_add(tar, name, str_text(&readme),
		readme.len < BUNDLE_README ? readme.len : BUNDLE_README,
		time(NULL));
	str_addmem(tar, str_text(&b->members), b->members.len);
	tar_end(tar);
	tar->failed |= readme.failed;
	str_release(&readme);
	if (tar->failed) {
		err_set(e, ENOMEM, "cannot create the archive");
		return CODE_UNABLE;
	}
	if (s->spec.out[0]) {
		STR_COPY(path, s->spec.out);
	} else {
		snprintf(path, sizeof(path), "%s.tar", b->names[0]);
	}
	if (write_new(path, tar, e) < 0) {
		return e->code == EEXIST ? CODE_USAGE : CODE_UNABLE;
	}
	talk("wrote %s, %zu bytes; its README says what is in there", path,
	     tar->len);
	return CODE_HEALTHY;
}

/** Find the run @name, or, except as the first directory, what "info --record"
 *  has written, and list its files. */
static int open_dir(struct bundle *b, const char *name, struct err *e)
{
	struct found *f = &b->runs[b->n_dirs];
	const size_t before = b->n_files;
	int code = CODE_HEALTHY;

	b->dir = name;
	if (b->n_dirs > 0 && !rundir_has(name, RUN_JSON)) {
		if (walk(b, "", 0, e) < 0) {
			return CODE_UNABLE;
		}
		for (size_t i = before; i < b->n_files; i++) {
			if (strcmp(kinds[b->files[i].kind].name, RECORD) == 0 &&
			    realpath(name, f->dir)) {
				b->n_dirs++;
				return CODE_HEALTHY;
			}
		}
		b->n_files = before;
	}
	code = found_open(name, f, e);
	b->dir = f->dir;
	if (code == CODE_HEALTHY && walk(b, "", 0, e) < 0) {
		code = CODE_UNABLE;
	}
	b->n_dirs++;
	return code;
}

static int run_bundle(struct session *s)
{
	struct bundle *b = calloc(1, sizeof(*b));
	struct str tar = STR_INIT;
	struct err e = { 0 };
	int code = CODE_HEALTHY;

	if (!b) {
		err_set(&e, ENOMEM, "cannot collect '%s'", s->args[0]);
		return talk_fail(&e, CODE_UNABLE);
	}
	for (int i = 0; code == CODE_HEALTHY && i < s->n_args; i++) {
		code = open_dir(b, s->args[i], &e);
	}
	if (code == CODE_HEALTHY) {
		code = make(s, b, &tar, &e);
	}
	redact_release(&b->hide);
	json_decref(b->accused);
	str_release(&b->members);
	str_release(&b->in);
	str_release(&b->out);
	str_release(&b->parts);
	free(b->files);
	for (size_t i = 0; i < DIRS_MOST; i++) {
		found_release(&b->runs[i]);
	}
	free(b);
	str_release(&tar);
	return code ? talk_fail(&e, code) : code;
}

static const char *const examples[] = {
	"gpucheck bundle gpucheck-p2p-20260131T091502Z-7f3a12",
	"gpucheck bundle --share -o case.tar /home/alice/DIR",
	NULL
};

const struct command cmd_bundle = {
	.name = "bundle",
	.summary = "Pack a run for a vendor, without secrets.",
	.usage = "[OPTION...] DIR|JOB ...",
	.examples = examples,
	.takes = SPEC_CMD_BUNDLE,
	.min_args = 1,
	.needs = "a run directory or a job",
	.max_args = DIRS_MOST,
	.run = run_bundle,
};
