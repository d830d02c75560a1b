/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/bundle_part.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/tar.h"

#define FILES_MOST	10000	/* that are looked at */
#define DEPTH_MOST	4	/* all/p2p/diagnose/ping */
#define LINES_MOST	100	/* of what was left out */
#define FILE_NAME	1024

/**
 * What is known of a file, by its name or its folder; first come, first
 * served, until the archive is full.
 */
static const struct kind {
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
	{ "drill", .take = part_ends, .most = 20000, .all = 50000 },
	{ RUN_JOB_SCRIPT, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_JOB_OUT, .take = part_ends, .most = 100000, .all = 300000 },
	{ RUN_ABSENT, .take = part_ends, .most = 50000, .all = 100000 },
	{ RUN_EVENTS, .take = part_rows, .most = 200000, .all = 400000 },
	{ RUN_LOGS "/", .take = part_ends, .most = 64000, .all = 800000 },
	{ RUN_FACTS, .take = part_rows, .most = 600000, .all = 1200000 },
	{ RUN_RESULTS, .take = part_rows, .most = BUNDLE_MOST,
	  .all = BUNDLE_MOST },
	{ RUN_RENDEZVOUS, .why = "the key of the run" },
	{ RUN_RESUME, .why = "a --resume that has not begun" },
	{ RUN_HOLDER, .why = "who is at work on it" },
	{ RUN_FINAL, .why = "gpucheck report makes it" },
	{ RUN_SCHEMA, .why = "gpucheck help csv has it" },
	{ ".png", .why = "a picture: gpucheck report makes it" },
	{ ".svg", .why = "a picture: gpucheck report makes it" },
	{ ".html", .why = "gpucheck report makes it" },
	{ "", .why = "not a file of gpucheck" },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct part {
	size_t kind;
	char name[FILE_NAME];	/* below the run directory */
};

struct parts {
	struct part *part;
	size_t n, more;
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

/* ---- what there is ------------------------------------------------------- */

static int walk(const char *dir, const char *folder, int depth,
		struct parts *all, struct err *e)
{
	DIR *d = rundir_folder(dir, folder);
	const struct dirent *entry;
	int rc = 0;

	while (rc == 0 && d && (entry = readdir(d))) {
		struct part p;
		struct stat st;
		void *grown;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0) {
			continue;
		}
		if (all->n >= FILES_MOST ||
		    snprintf(p.name, sizeof(p.name), "%s%s%s", folder,
			     folder[0] ? "/" : "", entry->d_name) >=
			    (int)sizeof(p.name)) {
			all->more++;
			continue;
		}
		if (fstatat(dirfd(d), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
			if (depth < DEPTH_MOST) {
				rc = walk(dir, p.name, depth + 1, all, e);
			}
			continue;
		}
		p.kind = kind_of(p.name);
		grown = realloc(all->part, (all->n + 1) * sizeof(p));
		if (!grown) {
			rc = err_set(e, ENOMEM, "cannot list '%s'", dir);
			break;
		}
		all->part = grown;
		all->part[all->n++] = p;
	}
	if (d) {
		closedir(d);
	}
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) :
				    strcmp(x->name, y->name);
}

/* ---- whose names they are ------------------------------------------------ */

/** Names of hosts in @json: nodes[].name, and all that is called node, host. */
static void learn_hosts(struct redact *hide, const char *key,
			const json_t *json)
{
	const char *text = json_string_value(json), *name;
	json_t *value;
	size_t i;

	if (text && (strcmp(key, "node") == 0 || strcmp(key, "host") == 0)) {
		redact_add_host(hide, text);
	}
	json_array_foreach(json, i, value) {
		if (strcmp(key, "nodes") == 0) {
			redact_add_host(hide, json_member(value, "name"));
		}
		learn_hosts(hide, key, value);
	}
	json_object_foreach((json_t *)json, name, value) {
		learn_hosts(hide, name, value);
	}
}

/** What nodes say that they are called. */
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
			redact_add_host(&b->hide, row.node);
			if (strcmp(row.fact, "host") == 0) {
				redact_add_host(&b->hide, row.value);
			}
		}
	}
	record_reader_close(&r);
	fclose(f);
}

/** Those whose homes @text names. */
static void learn_homes(struct bundle *b, const char *text)
{
	const size_t removed = b->hide.removed;
	struct str unused = STR_INIT;

	redact_text(&b->hide, text, strlen(text), &unused);
	b->hide.removed = removed;	/* they are counted later */
	str_release(&unused);
}

static void learn_user(struct bundle *b, uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	redact_add_user(&b->hide, p ? p->pw_name : "");
}

/** Before the first name is written. */
static void learn_names(struct bundle *b, const struct parts *all)
{
	char host[256] = "";
	struct stat st;

	if (stat(b->dir, &st) == 0) {
		learn_user(b, st.st_uid);
	}
	learn_user(b, getuid());
	learn_homes(b, b->dir);
	gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < all->n; i++) {
		const struct part *x = &all->part[i];

		if (kinds[x->kind].take == part_json) {
			json_t *json = rundir_read_json(b->dir, x->name, NULL);

			learn_hosts(&b->hide, "", json);
			json_decref(json);
		}
		if (kinds[x->kind].take == part_json ||
		    strcmp(kinds[x->kind].name, RUN_JOB_SCRIPT) == 0) {
			char *text = rundir_read_text(b->dir, x->name,
						      1 << 20, NULL, NULL);

			learn_homes(b, text ? text : "");
			free(text);
		} else if (strcmp(kinds[x->kind].name, RUN_FACTS) == 0) {
			learn_facts(b, x->name);
		}
	}
	redact_add_host(&b->hide, host);
}

/* ---- the archive --------------------------------------------------------- */

static void leave_out(struct bundle *b, const char *name, const char *why)
{
	struct str line = STR_INIT;

	if (b->n_out++ < LINES_MOST) {
		str_addf(&line, "    %s: %s\n", name, why);
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

static void add(struct bundle *b, const struct part *p, size_t *all)
{
	const struct kind *k = &kinds[p->kind];
	struct str text = STR_INIT, note = STR_INIT, name = STR_INIT;
	size_t most = k->most;
	struct err e = { 0 };

	most = most < k->all - *all ? most : k->all - *all;
	most = most < room(b) ? most : room(b);
	if (most < 512) {
		err_set(&e, 0, "no room for it");
	} else if (k->take(b, p->name, most, &text, &note, &e) == 0) {
		str_addf(&name, "%s/", b->name);
		redact_text(&b->hide, p->name, strlen(p->name), &name);
		/* what was removed may be shorter than what tells of it */
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

		leave_out(b, p->name, err_str(&e, why, sizeof(why)));
	} else {
		*all += text.len;
		str_addf(&b->in, "    %s, %zu bytes%s%s\n",
			 str_text(&name) + strlen(b->name) + 1, text.len,
			 note.len ? ": " : "", str_text(&note));
	}
	b->members.failed |= text.failed || name.failed;
	str_release(&text);
	str_release(&note);
	str_release(&name);
}

static void collect(struct bundle *b, const struct parts *all)
{
	size_t used[KINDS] = { 0 };

	for (size_t i = 0; i < all->n; i++) {
		const struct part *p = &all->part[i];

		if (kinds[p->kind].take) {
			add(b, p, &used[p->kind]);
		} else {
			leave_out(b, p->name, kinds[p->kind].why);
		}
	}
	b->n_out += all->more;
	if (b->n_out > LINES_MOST) {
		str_addf(&b->out, "    and %zu more\n", b->n_out - LINES_MOST);
	}
}

int bundle_collect(struct bundle *b, const char *dir, bool anonymous,
		   struct err *e)
{
	const char *slash = strrchr(dir, '/');
	struct parts all = { 0 };
	struct str name = STR_INIT;
	int rc;

	*b = (struct bundle){ .dir = dir, .accused = json_object() };
	if (!b->accused || (anonymous && redact_names(&b->hide) < 0)) {
		return err_set(e, ENOMEM, "cannot collect '%s'", dir);
	}
	rc = walk(dir, "", 0, &all, e);
	if (rc == 0) {
		qsort(all.part, all.n, sizeof(*all.part), compare);
		if (anonymous) {
			learn_names(b, &all);
		}
		slash = slash && slash[1] ? slash + 1 : "run";
		redact_text(&b->hide, slash, strlen(slash), &name);
		STR_COPY(b->name, str_text(&name));
		collect(b, &all);
	}
	if (rc == 0 && b->members.failed) {
		rc = err_set(e, ENOMEM, "cannot collect '%s'", dir);
	}
	str_release(&name);
	free(all.part);
	return rc;
}

int bundle_finish(const struct bundle *b, const char *readme,
		  struct str *archive, struct err *e)
{
	const size_t len = strlen(readme);
	char name[sizeof(b->name) + sizeof("/README")];

	snprintf(name, sizeof(name), "%s/README", b->name);
	tar_add(archive, name, readme,
		len < BUNDLE_README ? len : BUNDLE_README, time(NULL));
	str_addmem(archive, str_text(&b->members), b->members.len);
	tar_end(archive);
	return archive->failed ? err_set(e, ENOMEM, "cannot make the archive") :
				 0;
}

void bundle_release(struct bundle *b)
{
	redact_release(&b->hide);
	json_decref(b->accused);
	str_release(&b->members);
	str_release(&b->in);
	str_release(&b->out);
	str_release(&b->parts);
	*b = (struct bundle){ 0 };
}
