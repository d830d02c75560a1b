/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a history: append the lines of a run, read them all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "lib/data/schema.h"
#include "report/history/history.h"

#define MAX_GB_S 1e9

/* ---- lines of a run ------------------------------------------------------ */

/** Names of the columns of a file, whose first line stays as it was made. */
struct header {
	char line[1024];
	const char *names[CSV_MAX_FIELDS];
	size_t n;
};

static void add_row(const struct header *h, struct history_row *row,
		    struct str *out)
{
	STR_COPY(row->end, HISTORY_END);
	record_add_named(&schema_history, row, h->names, h->n, out);
}

static void begin_row(struct history_row *row, const char *line,
		      const char *run)
{
	record_init(&schema_history, row);
	STR_COPY(row->line, line);
	STR_COPY(row->run, run);
}

/** "44.1;;45.2": five digits are more than runs have in common. */
static void write_levels(const double *v, size_t n, char *buf, size_t size)
{
	struct str out = STR_INIT;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		str_add(&out, i ? ";" : "");
		if (isfinite(v[i])) {
			number_add_real(&out, v[i], 5);
			any = true;
		}
	}
	str_copy(buf, size, any ? str_text(&out) : "");
	str_release(&out);
}

static void add_node(const struct header *h, const char *run,
		     const struct summary_node *n, struct str *out)
{
	const char *list = n->tested_with;
	struct history_row row;

	begin_row(&row, HISTORY_NODE, run);
	STR_COPY(row.node, n->name);
	STR_COPY(row.status, n->tested ? "tested" : "untested");
	row.bw_GB_s = n->bw_GB_s;
	write_levels(n->gpu_GB_s, n->n_gpus, row.gpu_GB_s,
		     sizeof(row.gpu_GB_s));
	write_levels(n->nic_GB_s, n->n_nics, row.nic_GB_s,
		     sizeof(row.nic_GB_s));
	add_row(h, &row, out);
	while (list && *list) {
		const size_t len = strcspn(list, "\n");

		begin_row(&row, HISTORY_PAIRS, run);
		STR_COPY(row.node, n->name);
		snprintf(row.tested_with, sizeof(row.tested_with), "%.*s",
			 (int)len, list);
		add_row(h, &row, out);
		list += len + (list[len] == '\n');
	}
}

static void add_run(const struct header *h, const struct summary *s,
		    struct str *out)
{
	struct history_row row;

	begin_row(&row, HISTORY_RUN, s->id);
	STR_COPY(row.probe, s->probe);
	STR_COPY(row.version, s->version);
	STR_COPY(row.status, s->status);
	STR_COPY(row.started_utc, s->started_utc);
	STR_COPY(row.ended_utc, s->ended_utc);
	row.drill = s->drill;
	row.model = s->model;
	STR_COPY(row.transport, s->transport);
	STR_COPY(row.schedule, s->schedule);
	STR_COPY(row.nic_choice, s->nic_choice);
	row.size_B = s->size_B;
	row.ranks = s->ranks;
	row.nodes = s->of_nodes;
	row.inter_GB_s = s->inter_GB_s;
	row.intra_GB_s = s->intra_GB_s;
	row.busbw_GB_s = s->busbw_GB_s;
	write_levels(s->rail_GB_s, s->n_rails, row.rail_GB_s,
		     sizeof(row.rail_GB_s));
	add_row(h, &row, out);
	for (size_t i = 0; i < s->n_nodes; i++) {
		add_node(h, s->id, &s->nodes[i], out);
	}
	for (size_t i = 0; i < s->n_findings; i++) {
		const struct summary_finding *f = &s->findings[i];

		begin_row(&row, HISTORY_FINDING, s->id);
		STR_COPY(row.status, f->fail ? "fail" : "warn");
		STR_COPY(row.kind, f->kind);
		STR_COPY(row.code, f->code);
		STR_COPY(row.node, f->node);
		STR_COPY(row.peer_node, f->peer_node);
		STR_COPY(row.name, f->name);
		row.index = f->index >= 0 ? f->index : RECORD_NONE;
		row.peer_index = f->peer_index >= 0 ? f->peer_index :
						      RECORD_NONE;
		add_row(h, &row, out);
	}
}

/* ---- append -------------------------------------------------------------- */

/** Time to wait for another process of this user. */
#define LOCK_NS (10 * NS_PER_S)
#define NAME_SIZE 32	/* of "history-4294967295.csv" */

/**
 * Open the file of this user in @dir, or make it, for whoever may read the
 * directory.  Others may write there too, so that only a file which is this
 * user's alone is written, and no link is followed.  Returns a descriptor, or
 * -1 with @e.
 */
static int open_own(const char *dir, struct err *e)
{
	int at, fd;
	struct stat folder, st;
	char name[NAME_SIZE];

	*e = (struct err){ 0 };
	at = rundir_find(AT_FDCWD, dir, 0, e);
	if (at < 0 || fstat(at, &folder) < 0) {
		rundir_shut(at);
		return e->text[0] ? -1 : err_set(e, errno, "cannot open the "
						 "history '%s'", dir);
	}
	if (folder.st_mode & S_IWOTH && !(folder.st_mode & S_ISVTX)) {
		rundir_shut(at);
		err_set(e, 0, "all users may remove files from the history "
			"'%s'", dir);
		return err_hint(e, "chmod o-w or +t '%s', or name another "
				   "directory with --history=DIR", dir);
	}
	snprintf(name, sizeof(name), "history-%u.csv", (unsigned)geteuid());
	fd = openat(at, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
		    O_CLOEXEC, 0600);
	rundir_shut(at);
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(e, errno, "cannot open '%s/%s'", dir, name);
	} else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		   st.st_nlink != 1) {
		err_set(e, 0, "'%s/%s' is not a file of this user alone", dir,
			name);
	} else if (st.st_size > 0 ||
		   fchmod(fd, 0600 | (folder.st_mode & 0044)) == 0) {
		return fd;
	} else {
		err_set(e, errno, "cannot set the mode of '%s/%s'", dir, name);
	}
	rundir_shut(fd);
	return -1;
}

/** Read the columns of the file, of *@size bytes, which is cut where it has not
 *  even its first line.  Returns 0, or -1 with @e: it is another file. */
static int read_header(int fd, off_t *size, struct header *h, struct err *e)
{
	struct str own = STR_INIT;
	const ssize_t n = pread(fd, h->line, sizeof(h->line) - 1, 0);
	char *at = h->line, *name, *end;
	int rc = 0;

	record_add_header(&schema_history, &own);
	h->line[n > 0 ? n : 0] = '\0';
	h->n = 0;
	end = strchr(h->line, '\n');
	if (own.failed || n < 0) {
		rc = err_set(e, n < 0 ? errno : ENOMEM, "cannot read it");
	} else if (!end && str_starts(str_text(&own), h->line) &&
		   ftruncate(fd, 0) == 0) {
		*size = 0;
		str_copy(h->line, sizeof(h->line), str_text(&own));
		end = h->line + own.len - 1;
	}
	if (rc == 0 && (!end || !str_starts(h->line, "line,run,"))) {
		rc = err_set(e, 0, "its first line is not that of a history");
	}
	if (rc == 0) {
		*end = '\0';
	}
	while (rc == 0 && h->n < CSV_MAX_FIELDS && (name = strsep(&at, ","))) {
		h->names[h->n++] = name;
	}
	str_release(&own);
	return rc;
}

/** Return true if the file, of @size bytes, ends with @text. */
static bool ends_with(int fd, off_t size, const struct str *text)
{
	const off_t from = size - (off_t)text->len;
	char *end = malloc(text->len + 1);
	const bool is = end && from >= 0 &&
			pread(fd, end, text->len, from) ==
				(ssize_t)text->len &&
			memcmp(end, str_text(text), text->len) == 0;

	free(end);
	return is;
}

/** The same below the lock of the file @fd. */
static int append(int fd, const struct summary *s, size_t n, struct err *e)
{
	struct header h;
	struct str text = STR_INIT, all = STR_INIT;
	struct stat st;
	char last = '\n';
	size_t done = 0;
	ssize_t put = 0;
	int rc = 0;

	/* the end as it is now, which another process may have moved */
	if (fstat(fd, &st) < 0) {
		return err_set(e, errno, "cannot look at it");
	}
	if (read_header(fd, &st.st_size, &h, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		add_run(&h, &s[i], &text);
	}
	if (st.st_size == 0) {
		record_add_header(&schema_history, &all);
	} else if (pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n') {
		/* a process was killed: its line loses only itself */
		str_addch(&all, '\n');
	}
	str_addmem(&all, str_text(&text), text.len);
	if (text.failed || all.failed) {
		rc = err_set(e, ENOMEM, "cannot write it");
	} else if (!ends_with(fd, st.st_size, &text)) {
		while (done < all.len &&
		       ((put = pwrite(fd, str_text(&all) + done,
				      all.len - done,
				      st.st_size + (off_t)done)) > 0 ||
			errno == EINTR)) {
			done += put > 0 ? (size_t)put : 0;
		}
		if (done < all.len || fsync(fd) < 0) {
			rc = err_set(e, errno, "cannot write it");
			/* the file is as it was; where that fails, the next
			 * process completes the line */
			rc = ftruncate(fd, st.st_size) < 0 ? -1 : rc;
		}
	}
	str_release(&text);
	str_release(&all);
	return rc;
}

int store_append(const char *dir, const struct summary *s, size_t n,
		 struct err *e)
{
	struct err why = { 0 };
	int fd;

	for (size_t i = 0; i < n; i++) {
		if (!s[i].id[0] || clock_utc_s(s[i].started_utc) < 0) {
			return err_set(e, 0, "the run has no time and no ID by "
				       "which the history could know it");
		}
	}
	fd = open_own(dir, e);
	if (fd < 0) {
		return -1;
	}
	if (rundir_lock(fd, LOCK_NS, &why) == 0) {
		append(fd, s, n, &why);
	}
	if (why.code != ETIMEDOUT) {
		close(fd);
	}
	return why.text[0] ? err_set(e, why.code, "history '%s': %s", dir,
				     why.text) : 0;
}

/* ---- read ---------------------------------------------------------------- */

/** Parse "44.1;;45.2", empty: no level. */
static int read_levels(const char *text, double **list, size_t *n,
		       struct err *e)
{
	size_t most = *text != '\0', len = 0;
	char word[UNITS_REAL_SIZE];

	for (const char *c = text; *c; c++) {
		most += *c == ';';
	}
	if (most > SPEC_MAX_GPUS) {
		return err_set(e, 0, "more than %d levels", SPEC_MAX_GPUS);
	}
	*list = malloc((most + 1) * sizeof(**list));
	for (*n = 0; *list && *n < most; text += len + 1, ++*n) {
		double *v = &(*list)[*n];

		for (len = 0; text[len] && text[len] != ';'; len++) {
			word[len < sizeof(word) ? len : 0] = text[len];
		}
		word[len < sizeof(word) ? len : 0] = '\0';
		*v = NAN;
		if (len > 0 && units_parse_real(word, 0, MAX_GB_S, v, e) < 0) {
			return -1;
		}
	}
	return *list ? 0 : err_set(e, ENOMEM, "no memory");
}

static int read_run(const struct history_row *row, struct summary *s,
		    struct err *e)
{
	*s = (struct summary)SUMMARY_INIT;
	STR_COPY(s->id, row->run);
	STR_COPY(s->probe, row->probe);
	STR_COPY(s->version, row->version);
	STR_COPY(s->status, row->status);
	STR_COPY(s->transport, row->transport);
	STR_COPY(s->schedule, row->schedule);
	STR_COPY(s->nic_choice, row->nic_choice);
	STR_COPY(s->started_utc, row->started_utc);
	STR_COPY(s->ended_utc, row->ended_utc);
	s->started_s = clock_utc_s(row->started_utc);
	s->drill = row->drill > 0;
	s->model = row->model > 0;
	s->size_B = row->size_B > 0 ? row->size_B : 0;
	s->ranks = row->ranks > 0 ? row->ranks : 0;
	s->of_nodes = row->nodes > 0 ? row->nodes : 0;
	s->inter_GB_s = row->inter_GB_s;
	s->intra_GB_s = row->intra_GB_s;
	s->busbw_GB_s = row->busbw_GB_s;
	if (!s->id[0] || !s->probe[0] || !s->status[0] || s->started_s < 0) {
		return err_set(e, 0, "a run without an ID, a probe, a status "
				     "or a time");
	}
	if (s->ranks > INT32_MAX || s->of_nodes > SUMMARY_NODES) {
		return err_set(e, 0, "a run of too many nodes or ranks");
	}
	return read_levels(row->rail_GB_s, &s->rail_GB_s, &s->n_rails, e);
}

static int read_node(const struct history_row *row, struct summary *s,
		     struct err *e)
{
	struct summary_node n = { .tested = strcmp(row->status, "tested") == 0,
				  .bw_GB_s = row->bw_GB_s };

	STR_COPY(n.name, row->node);
	if (!n.name[0] || s->n_nodes >= SUMMARY_NODES) {
		return err_set(e, 0, "a node without a name, or too many");
	}
	if (read_levels(row->gpu_GB_s, &n.gpu_GB_s, &n.n_gpus, e) == 0 &&
	    read_levels(row->nic_GB_s, &n.nic_GB_s, &n.n_nics, e) == 0 &&
	    grow_add(&s->nodes, &s->n_nodes, &n, sizeof(n))) {
		return 0;
	}
	free(n.gpu_GB_s);
	free(n.nic_GB_s);
	return -1;
}

static int read_finding(const struct history_row *row, struct summary *s,
			struct err *e)
{
	struct summary_finding f = {
		.fail = strcmp(row->status, "fail") == 0,
		.index = row->index >= 0 ? row->index : -1,
		.peer_index = row->peer_index >= 0 ? row->peer_index : -1,
	};

	STR_COPY(f.kind, row->kind);
	STR_COPY(f.code, row->code);
	STR_COPY(f.node, row->node);
	STR_COPY(f.peer_node, row->peer_node);
	STR_COPY(f.name, row->name);
	return f.kind[0] && s->n_findings < SUMMARY_FINDINGS &&
	       grow_add(&s->findings, &s->n_findings, &f, sizeof(f)) ? 0 :
	       err_set(e, 0, "a finding without a kind, or too many");
}

/** Nodes that the last node of @s was tested with. */
static int read_pairs(const struct history_row *row, struct summary *s,
		      struct err *e)
{
	struct summary_node *n = s->n_nodes > 0 ? &s->nodes[s->n_nodes - 1] :
						  NULL;
	struct str list = STR_INIT;

	if (!n || strcmp(n->name, row->node) != 0) {
		return err_set(e, 0, "pairs of a node that the line before "
				     "does not have");
	}
	str_addf(&list, "%s%s%s", n->tested_with ? n->tested_with : "",
		 n->tested_with ? "\n" : "", row->tested_with);
	if (list.failed) {
		str_release(&list);
		return err_set(e, ENOMEM, "no memory");
	}
	free(n->tested_with);
	n->tested_with = list.data;
	return 0;
}

/** Add what @row says to @r, whose last run it is about.  -1 with @e: it is no
 *  line of a history. */
static int take_row(const struct history_row *row, struct store_runs *r,
		    size_t from, struct err *e)
{
	struct summary *last = r->n > from ? &r->runs[r->n - 1] : NULL, s;
	/* if there are too many, those that were read first are forgotten */
	const size_t gone = r->n - from >= STORE_RUNS ? (r->n - from) / 2 : 0;

	if (strcmp(row->end, HISTORY_END) != 0) {
		return err_set(e, 0, "its end is missing");
	}
	if (strcmp(row->line, HISTORY_RUN) == 0) {
		if (read_run(row, &s, e) < 0) {
			summary_release(&s);
			return -1;
		}
		for (size_t i = from; i < from + gone; i++) {
			summary_release(&r->runs[i]);
		}
		r->n -= gone;
		if (gone > 0) {
			memmove(&r->runs[from], &r->runs[from + gone],
				(r->n - from) * sizeof(*r->runs));
		}
		s.place = r->place++;
		if (!grow_add(&r->runs, &r->n, &s, sizeof(s))) {
			summary_release(&s);
			return err_set(e, ENOMEM, "no memory");
		}
		return 0;
	}
	if (!last || strcmp(last->id, row->run) != 0) {
		return err_set(e, 0, "it is about another run than the line "
				     "before");
	}
	return strcmp(row->line, HISTORY_NODE) == 0 ? read_node(row, last, e) :
	       strcmp(row->line, HISTORY_FINDING) == 0 ?
		       read_finding(row, last, e) :
	       strcmp(row->line, HISTORY_PAIRS) == 0 ?
		       read_pairs(row, last, e) :
	       err_set(e, 0, "'%s' is not a kind of line", row->line);
}

int store_read_file(FILE *f, struct store_runs *r, struct err *e)
{
	struct history_row *row = malloc(sizeof(*row));
	struct record_reader reader;
	struct err why = { 0 };
	const size_t from = r->n;
	int got;

	if (!row || record_reader_open(&reader, &schema_history, f, e) < 0) {
		free(row);
		return row ? -1 : err_set(e, ENOMEM, "no memory");
	}
	while ((got = record_reader_next(&reader, row, e)) > 0) {
		if (take_row(row, r, from, &why) < 0) {
			r->unread++;
			snprintf(r->why, sizeof(r->why), "line %zu: %.300s",
				 reader.csv.line, why.text);
		}
	}
	if (reader.bad_rows > 0) {
		r->unread += reader.bad_rows;
		STR_COPY(r->why, reader.bad_why);
	}
	record_reader_close(&reader);
	free(row);
	return got;
}

/** Read DIR/@name, if it is one; what cannot be read is counted. */
static void read_name(const char *dir, const char *name, struct store_runs *r)
{
	const size_t unread = r->unread;
	struct err why = { 0 };
	char text[sizeof(r->why)];
	struct stat st;
	FILE *f = rundir_open(dir, name, &why);
	int rc = f && fstat(fileno(f), &st) == 0 ? 0 : -1;

	if (rc == 0 && st.st_size > STORE_BYTES) {
		rc = err_set(&why, EFBIG, "it is too large");
	} else if (rc == 0 && st.st_size > 0) {
		rc = store_read_file(f, r, &why);
	}
	if (f) {
		fclose(f);
	}
	if (rc < 0) {
		r->unread++;
		STR_COPY(r->why, why.text);
	}
	if (r->unread > unread) {
		STR_COPY(text, r->why);
		snprintf(r->why, sizeof(r->why), "%.60s: %.330s", name, text);
	}
}

static const struct order_key by_time[] = {
	ORDER_UP(struct summary, started_utc),
	ORDER_UP(struct summary, id),
	ORDER_UP(struct summary, ended_utc),
	ORDER_UP(struct summary, place),
	ORDER_END
};

void store_release(struct store_runs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		summary_release(&r->runs[i]);
	}
	free(r->runs);
	*r = (struct store_runs){ 0 };
}

/* ---- summaries of an earlier version ------------------------------------- */

#define OLD_BYTES (8 << 20)

#define HEAD(member, key, ...) FIELD(summary, member, key, __VA_ARGS__)
#define HEAD_GB_S(member) \
	HEAD(member, #member, REAL, 0, MAX_GB_S, "10^9 bytes per second", \
	     .optional = FIELD_NULL)
#define KEPT .optional = FIELD_KEPT

#define LEVELS(tag, list, count, key) \
	FIELD_LIST(tag, list, count, key, REALS, 0, MAX_GB_S, "medians", \
		   .most = SPEC_MAX_GPUS)

static const struct field node_fields[] = {
	FIELD(summary_node, name, "node", TEXT, 0, 0, "name"),
	FIELD(summary_node, tested, "tested", BOOL, 0, 0,
	      "it was measured", KEPT),
	FIELD(summary_node, bw_GB_s, "bw_GB_s", REAL, 0, MAX_GB_S, "median",
	      .optional = FIELD_NULL),
	LEVELS(summary_node, gpu_GB_s, n_gpus, "gpu_GB_s"),
	LEVELS(summary_node, nic_GB_s, n_nics, "nic_GB_s"),
	{ 0 }
};

static const char *const severities[] = { "warn", "fail", NULL };

#define FINDING(member, ...) FIELD(summary_finding, member, __VA_ARGS__)

static const struct field finding_fields[] = {
	FINDING(kind, "kind", TEXT, 0, 0, "of the part"),
	FINDING(node, "node", TEXT, 0, 0, "name", .optional = FIELD_NULL),
	FINDING(index, "index", INT, 0, INT32_MAX, "of a GPU or NIC",
		.optional = FIELD_NULL),
	FINDING(peer_node, "peer_node", TEXT, 0, 0, "name",
		.optional = FIELD_NULL),
	FINDING(peer_index, "peer_index", INT, 0, INT32_MAX, "the other's",
		.optional = FIELD_NULL),
	FINDING(name, "name", TEXT, 0, 0, "of a NIC or switch",
		.optional = FIELD_NULL),
	FIELD_WORDS(summary_finding, fail, "severity", severities,
		    "of the finding"),
	FINDING(code, "code", TEXT, 0, 0, "as in verdict.json"),
	{ 0 }
};

static const struct summary_node node_usual = { .tested = true,
						.bw_GB_s = NAN };
static const struct summary_finding finding_usual = { .index = -1,
						      .peer_index = -1 };

static const struct field summary_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	HEAD(id, "id", TEXT, 0, 0, "of the run"),
	HEAD(probe, "probe", TEXT, 0, 0, "name"),
	HEAD(version, "version", TEXT, 0, 0, "of gpucheck", KEPT),
	HEAD(started_utc, "started_utc", TEXT, 0, 0, "RFC 3339"),
	HEAD(ended_utc, "ended_utc", TEXT, 0, 0, "RFC 3339", KEPT),
	HEAD(status, "status", TEXT, 0, 0, "of the verdict"),
	HEAD(drill, "drill", BOOL, 0, 0, "a fault was made on purpose"),
	HEAD(model, "model", BOOL, 0, 0, "no machine was measured"),
	HEAD(transport, "transport", TEXT, 0, 0, "name", KEPT),
	HEAD(schedule, "schedule", TEXT, 0, 0, "name", KEPT),
	HEAD(size_B, "size_B", INT, 0, INT64_MAX, "of the messages", KEPT),
	HEAD(ranks, "ranks", INT, 0, INT32_MAX, "of all nodes", KEPT),
	HEAD(of_nodes, "node_count", INT, 0, SUMMARY_NODES, "that took part"),
	HEAD_GB_S(inter_GB_s), HEAD_GB_S(intra_GB_s), HEAD_GB_S(busbw_GB_s),
	LEVELS(summary, rail_GB_s, n_rails, "rail_GB_s"),
	FIELD_ROWS(summary, findings, n_findings, "findings", finding_fields,
		   SUMMARY_FINDINGS, "of the verdict",
		   .usual = &finding_usual),
	FIELD_ROWS(summary, nodes, n_nodes, "nodes", node_fields,
		   SUMMARY_NODES, "that took part",
		   .usual = &node_usual),
	{ 0 }
};

int store_parse_old(const char *text, size_t len, struct summary *s,
		    struct err *e)
{
	json_t *obj = json_parse(text, len, e);
	int rc = obj ? 0 : -1;

	*s = (struct summary)SUMMARY_INIT;
	if (rc == 0) {
		rc = schema_read(summary_fields, s, obj, e);
	}
	if (rc == 0) {
		s->started_s = clock_utc_s(s->started_utc);
		rc = s->started_s >= 0 ? 0 :
		     err_set(e, 0, "'started_utc' is not a time: '%s'",
			     s->started_utc);
	}
	json_decref(obj);
	if (rc < 0) {
		schema_release(summary_fields, s);
		*s = (struct summary){ 0 };
	}
	return rc;
}

/** Return true if @name is "20260131T091502Z-p2p-04d3b7dc.json", or alike. */
static bool is_old(const char *name)
{
	unsigned id;
	char probe[16];
	int end = 0;

	return sscanf(name, "%*8[0-9]T%*6[0-9]Z-%15[a-z0-9_]-%8x.json%n",
		      probe, &id, &end) == 2 && end > 0 && !name[end];
}

static void read_old(const char *dir, const char *name, struct store_runs *r)
{
	struct summary s;
	struct err why = { 0 };
	size_t len = 0;
	char *text = rundir_read_text(dir, name, OLD_BYTES, &len, &why);

	if (text && store_parse_old(text, len, &s, &why) == 0) {
		s.place = r->place++;
		if (grow_add(&r->runs, &r->n, &s, sizeof(s))) {
			free(text);
			return;
		}
		summary_release(&s);
		err_set(&why, ENOMEM, "no memory");
	}
	free(text);
	r->unread++;
	snprintf(r->why, sizeof(r->why), "%.60s: %.300s", name, why.text);
}

/* ---- directory ----------------------------------------------------------- */

/** Read the files of @dir: those of now, or with @old the old ones. */
static int read_all(const char *dir, bool old, struct store_runs *r,
		    struct err *e)
{
	DIR *d = rundir_folder(dir, "");
	const struct dirent *entry;

	*r = (struct store_runs){ 0 };
	if (!d) {
		return err_set(e, errno, "cannot read the history '%s'", dir);
	}
	while ((entry = readdir(d))) {
		const char *name = entry->d_name;

		if (is_old(name)) {
			r->old++;
			if (old && r->n < STORE_RUNS) {
				read_old(dir, name, r);
			}
		} else if (!old && str_starts(name, "history") &&
			   str_ends(name, ".csv")) {
			read_name(dir, name, r);
		}
	}
	closedir(d);
	return 0;
}

int store_read(const char *dir, size_t last, bool drills, struct store_runs *r,
	       struct err *e)
{
	const int rc = read_all(dir, false, r, e);
	const size_t all = r->n;
	size_t first;

	order_sort(r->runs, all, sizeof(*r->runs), by_time);
	/* keep the last entry of each run, and the runs that count */
	r->n = 0;
	for (size_t i = 0; i < all; i++) {
		struct summary *s = &r->runs[i];
		const bool again = i + 1 < all &&
				   strcmp(s->id, s[1].id) == 0 &&
				   strcmp(s->started_utc, s[1].started_utc) ==
					   0;

		if (!again && summary_counts(s, drills)) {
			const struct summary kept = *s;

			*s = (struct summary){ 0 };
			r->runs[r->n++] = kept;
			continue;
		}
		r->left_out += !again && summary_counts(s, true);
		r->no_result += !again && !summary_counts(s, true);
		summary_release(s);
	}
	first = r->n > last ? r->n - last : 0;
	for (size_t i = 0; i < first; i++) {
		summary_release(&r->runs[i]);
	}
	if (first > 0) {
		memmove(r->runs, &r->runs[first],
			(r->n - first) * sizeof(*r->runs));
		r->n -= first;
	}
	return rc;
}

int store_read_old(const char *dir, struct store_runs *r, struct err *e)
{
	const int rc = read_all(dir, true, r, e);

	order_sort(r->runs, r->n, sizeof(*r->runs), by_time);
	return rc;
}
