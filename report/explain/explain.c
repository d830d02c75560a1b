/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/explain.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/grow.h"
#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/data/json.h"

/* ---- works --------------------------------------------------------------- */

#define LINE_MAX_LEN 511
#define SHOWN	     16
/** The group of all ranks. */
#define DEFAULT_GROUP "0"

void works_release(struct works *w)
{
	free(w->list);
	str_release(&w->named);
	str_release(&w->behind);
	str_release(&w->silent);
	*w = (struct works){ 0 };
}

static long number_behind(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	at = at ? at + strlen(key) : "";
	return isdigit((unsigned char)*at) && strspn(at, "0123456789") < 16 ?
		       strtol(at, NULL, 10) : 0;
}

static struct work *work_of(struct works *w, const char *group, int rank)
{
	struct work new = { .rank = rank };

	/* ranks speak several times in a row */
	for (size_t i = w->n; i-- > 0;) {
		if (w->list[i].rank == rank &&
		    strcmp(w->list[i].group, group) == 0) {
			return &w->list[i];
		}
	}
	if (w->n == WORKS_MAX) {
		return NULL;
	}
	STR_COPY(new.group, group);
	return grow_add(&w->list, &w->n, &new, sizeof(new));
}

/**
 * Set @group to the one that the line names; the line with SeqNum= names none.
 * False: ranks cannot be joined by it. "PG ID 0" is a number of the process
 * itself, the GUID after it, or "PG 0" of earlier releases, that of the job.
 * "Rank 1" after those is a number within the group, "[rank5]" that of the job.
 */
static bool find_group(const char *line, char group[24])
{
	const char *at = strstr(line, "[PG ");
	const char *guid = at ? strstr(at, "PG GUID ") : NULL;

	group[0] = '\0';
	if (!at) {
		return true;
	}
	at = guid ? guid + 8 : at + 4;
	snprintf(group, 24, "%.*s", (int)(strcspn(at, "( ]") % 23), at);
	return isdigit((unsigned char)group[0]) &&
	       (strcmp(group, DEFAULT_GROUP) == 0 || strstr(line, "[rank"));
}

void works_line(struct works *w, const char *line, size_t len, int rank)
{
	char copy[LINE_MAX_LEN + 1], group[24];
	long waits, enqueued;
	bool joined;
	const char *at;
	struct work *x;

	about_copy(line, len, ' ', copy, sizeof(copy));
	/* "Ranks 4, 5 failed to pass", "[missing ranks: 0, 2]" */
	at = strstr(copy, "[missing ranks: ");
	at = at ? at + 16 : strstr(copy, "]: Ranks ");
	if (at && w->named.len == 0) {
		at += *at == ']' ? 9 : 0;
		len = strspn(at, "0123456789, ");
		while (len > 0 && !isdigit((unsigned char)at[len - 1])) {
			len--;
		}
		str_addmem(&w->named, at, len < 200 ? len : 0);
	}
	joined = find_group(copy, group);
	waits = number_behind(copy, "at work: ");
	waits = waits ? waits : number_behind(copy, "Timeout at NCCL work: ");
	enqueued = number_behind(copy, "last enqueued NCCL work: ");
	x = joined && enqueued && rank >= 0 ? work_of(w, group, rank) : NULL;
	if (x) {
		x->waits = waits > x->waits ? waits : x->waits;
		x->enqueued = enqueued > x->enqueued ? enqueued : x->enqueued;
	}
}

static const struct order_key by_group_and_rank[] = {
	ORDER_UP(struct work, group),
	ORDER_UP(struct work, rank),
	ORDER_END
};

static void works_add_rank(struct str *list, size_t *n, int rank)
{
	if (*n < SHOWN) {
		str_addf(list, "%s%d", *n ? ", " : "", rank);
	}
	++*n;
}

/** List the ranks of @w that are behind, or silent, in the group
 *  @list[0..@n]. */
static void list_ranks(struct works *w, const struct work *list, size_t n)
{
	/* the members of any other group are not known */
	const bool all = !list->group[0] ||
			 strcmp(list->group, DEFAULT_GROUP) == 0;
	const int ranks = all ? w->ranks : 0;
	int next = 0;

	STR_COPY(w->group, list->group);
	for (size_t i = 0; i < n; i++) {
		if (list[i].enqueued < w->work) {
			works_add_rank(&w->behind, &w->n_behind, list[i].rank);
		}
		for (; next < list[i].rank && next < ranks; next++) {
			works_add_rank(&w->silent, &w->n_silent, next);
		}
		next = list[i].rank + 1;
	}
	for (; next < ranks; next++) {
		works_add_rank(&w->silent, &w->n_silent, next);
	}
}

void works_judge(struct works *w)
{
	size_t first = 0, n = 0, most = 0;	/* ranks behind */

	order_sort(w->list, w->n, sizeof(*w->list), by_group_and_rank);
	for (size_t i = 0, end; i < w->n; i = end) {
		long work = 0;
		size_t waiting = 0, behind;

		for (end = i; end < w->n && strcmp(w->list[end].group,
						   w->list[i].group) == 0;
		     end++) {
			work = w->list[end].waits > work ? w->list[end].waits :
							   work;
		}
		for (size_t k = i; k < end; k++) {
			waiting += w->list[k].enqueued >= work;
		}
		behind = end - i - waiting;
		if (work && (n == 0 || behind > most ||
			     (behind == most && waiting > w->waiting))) {
			w->work = work;
			w->waiting = waiting;
			most = behind;
			first = i;
			n = end - i;
		}
	}
	if (n > 0) {
		list_ranks(w, &w->list[first], n);
	}
}

/* ---- unknown ------------------------------------------------------------- */

void unknown_line(struct unknown *u, const char *line, size_t len)
{
	uint64_t hash = HASH_START;
	struct unknown_kind *k = NULL, *rarest = u->kinds;

	len = len < sizeof(k->text) ? len : sizeof(k->text) - 1;
	/* lines that differ in numbers alone are one kind: a number, and the
	 * hexadecimal digits after it, count as 0 */
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (isdigit(c)) {
			while (i + 1 < len &&
			       (isxdigit((unsigned char)line[i + 1]) ||
				line[i + 1] == 'x')) {
				i++;
			}
			c = '0';
		}
		hash = hash_bytes(hash, &c, 1);
	}
	for (size_t i = 0; i < u->n && !k; i++) {
		k = u->kinds[i].hash == hash ? &u->kinds[i] : NULL;
		rarest = u->kinds[i].count < rarest->count ? &u->kinds[i] :
							     rarest;
	}
	if (!k) {
		k = u->n < UNKNOWN_KINDS ? &u->kinds[u->n++] : rarest;
	}
	u->lines++;
	if (k->count == 0 || k->hash != hash) {
		char text[sizeof(k->text)];

		about_copy(line, len, '?', text, sizeof(text));
		STR_COPY(k->text, text);
		k->hash = hash;
		k->before = k->count;
	}
	k->count++;
}

static int by_count(const void *a, const void *b)
{
	const struct unknown_kind *x = a, *y = b;

	uint64_t of_x = x->count - x->before, of_y = y->count - y->before;

	if (of_x != of_y) {
		return of_x > of_y ? -1 : 1;
	}
	return strcmp(x->text, y->text);
}

void unknown_sort(struct unknown *u)
{
	qsort(u->kinds, u->n, sizeof(*u->kinds), by_count);
}

/* ---- explain ------------------------------------------------------------- */

/** Bytes per read; longer lines count as several. */
#define CHUNK (1024 * 1024)
/** Parts of one symptom that are told apart, and of all. */
#define PARTS_MAX  64
#define MET_MAX	   4096
#define PLACES_MAX 16384
/** Bytes of a dump: 2,000 calls with stacks take 4 MB. */
#define DUMP_MAX ((size_t)256 << 20)

int explain_begin(struct explain *x, const struct symptoms *s, struct err *e)
{
	*x = (struct explain){ .symptoms = s, .file_rank = -1 };
	x->head = calloc(s->n + 1, sizeof(*x->head));
	if (!x->head) {
		return err_set(e, ENOMEM, "cannot hold the symptoms");
	}
	return 0;
}

void explain_release(struct explain *x)
{
	for (size_t i = 0; i < x->n_files; i++) {
		str_release(&x->files[i]);
	}
	free(x->files);
	free(x->head);
	free(x->met);
	free(x->order);
	free(x->places);
	works_release(&x->works);
	flight_release(x->flight);
	str_release(&x->said);
	*x = (struct explain){ 0 };
}

static const char *end_of_line(const struct explain *x, const char *in)
{
	const char *end = memchr(in, '\n', (size_t)(x->end - in));

	return end ? end : x->end;
}

/** Return the number of @line, which is not before the last one asked for. */
static uint64_t number_of(struct explain *x, const char *line)
{
	const char *from = x->counted;

	while ((from = memchr(from, '\n', (size_t)(line - from)))) {
		from++;
		x->file_lines++;
	}
	x->counted = line;
	return x->file_lines + 1;
}

static size_t file_now(const struct explain *x)
{
	return x->n_files ? x->n_files - 1 : 0;
}

/** The entry of that symptom and part, a new one where there is none; NULL
 *  without memory.  Where there are too many, the last one of the symptom. */
static struct met *entry_of(struct explain *x, const struct symptom *s,
			    const struct about *a)
{
	uint32_t *head = &x->head[s - x->symptoms->list], at = *head;
	struct met new = { .symptom = s, .next = *head };
	size_t parts = 0;

	for (; at; at = x->met[at - 1].next, parts++) {
		const struct about *b = &x->met[at - 1].about;

		if (strcmp(a->bus, b->bus) == 0 &&
		    strcmp(a->hca, b->hca) == 0 && a->port == b->port &&
		    ((!a->bus[0] && !a->hca[0]) ||
		     strcmp(a->host, b->host) == 0)) {
			return &x->met[at - 1];
		}
	}
	if (*head && (parts >= PARTS_MAX || x->n_met >= MET_MAX)) {
		return &x->met[*head - 1];
	}
	if (!grow_add(&x->met, &x->n_met, &new, sizeof(new))) {
		return NULL;
	}
	*head = (uint32_t)x->n_met;
	return &x->met[x->n_met - 1];
}

/** 1972, of which lines without a year are, is in @year. */
static double in_year(double time, int year)
{
	time_t s = (time_t)time;
	struct tm tm;

	if (!gmtime_r(&s, &tm)) {
		return time;
	}
	tm.tm_year = year - 1900;
	return (double)timegm(&tm) + (time - (double)s);
}

/** Complete a line's part from its file and the lines before it. */
static void complete(struct explain *x, struct about *a)
{
	time_t s = (time_t)a->time;
	struct tm tm;

	/* the first line with a year gives it to those before it */
	if (!x->year && !a->no_year && a->time > 0 && gmtime_r(&s, &tm)) {
		x->year = tm.tm_year + 1900;
		for (size_t i = 0; i < x->n_met; i++) {
			struct about *of = &x->met[i].about;

			if (of->no_year) {
				of->time = in_year(of->time, x->year);
				of->no_year = false;
			}
		}
	}
	if (a->no_year && x->year) {
		a->time = in_year(a->time, x->year);
		a->no_year = false;
	}
	if (a->time > 0) {
		x->file_time = a->time;
	}
	if (a->rank < 0) {
		a->rank = x->file_rank;
	}
}

/** Take a line of NCCL that says where a rank is. */
static void add_mark(struct explain *x, const char *line, size_t len)
{
	struct about a, new = { .gpu = -1, .rank = -1 };
	unsigned long id;
	char copy[LINE_MAX_LEN + 1];
	const char *at;
	int all;

	about_copy(line, len, '\0', copy, sizeof(copy));
	at = strstr(copy, " rank ");
	if (x->n_places == PLACES_MAX || !at ||
	    sscanf(at, " rank %7d nranks %7d cudaDev %*d nvmlDev %4d busId %8lx",
		   &new.rank, &all, &new.gpu, &id) != 4) {
		return;
	}
	if (all > x->works.ranks && all < WORKS_MAX) {
		x->works.ranks = all;
	}
	about_nccl(line, len, &a);
	STR_COPY(new.host, a.host);
	/* 9b000 is 0000:9b:00 */
	snprintf(new.bus, sizeof(new.bus), "%04lx:%02lx:%02lx",
		 id >> 20 & 0xffff, id >> 12 & 0xff, id >> 4 & 0xff);
	grow_add(&x->places, &x->n_places, &new, sizeof(new));
}

static void copy_text(struct met *m, const char *line, size_t len)
{
	char text[sizeof(m->text) + 8];

	/* STR_COPY() cuts between characters, and needs to see one more */
	about_copy(line, len, '?', text, sizeof(text));
	STR_COPY(m->text, text);
}

/** Keep the first line of all files that looks like an error. */
static void add_unknown(struct explain *x, const char *line, size_t len)
{
	struct met *m = &x->first_unknown;
	struct about a;

	unknown_line(&x->unknown, line, len);
	/* the error itself is below the head of a traceback */
	if (x->file_unknown || memmem(line, len, "Traceback (", 11) ||
	    memmem(line, len, "(core dumped)", 13)) {
		return;
	}
	x->file_unknown = true;
	about_line(line, len, &a);
	complete(x, &a);
	a.time = a.time > 0 ? a.time : x->file_time;
	if (m->count == 0 || (a.time > 0 && a.time < m->about.time)) {
		m->count = 1;
		m->about = a;
		m->line = number_of(x, line);
		m->file = file_now(x);
		copy_text(m, line, len);
	}
}

static void add_known(struct explain *x, const struct symptom *s,
		      const char *line, size_t len)
{
	struct about a;
	struct met *m;
	int rank;

	about_line(line, len, &a);
	m = entry_of(x, s, &a);
	if (!m) {
		return;
	}
	if (memmem(line, len, "exitcode", 8)) {
		about_exit(x->text, line, &a);
	}
	complete(x, &a);
	if (s->effect == EFFECT_WAIT) {
		works_line(&x->works, line, len, a.rank);
	}
	if (a.time <= 0) {
		a.time = x->file_time;
	}
	m->elsewhere = m->elsewhere ||
		       (m->count > 0 && a.host[0] &&
			strcmp(a.host, m->about.host) != 0);
	if (m->count++ == 0 ||
	    (m->file != file_now(x) && a.time > 0 && a.time < m->about.time)) {
		m->about = a;
		m->line = number_of(x, line);
		m->file = file_now(x);
		copy_text(m, line, len);
	}
	rank = a.rank;
	for (size_t i = 0; i < m->n_ranks; i++) {
		if (m->ranks[i] == rank) {
			return;
		}
	}
	if (rank >= 0 && m->n_ranks < MET_RANKS) {
		m->ranks[m->n_ranks++] = rank;
	}
}

void explain_feed(struct explain *x, const char *text, size_t len)
{
	const struct literals *l = &x->symptoms->anchors;
	const uint64_t before = x->file_lines;
	const char *p = text, *from, *end;

	x->text = x->counted = text;
	x->end = text + len;
	/* symptom_match_any() continues at the text that was found, so only the
	 * rest of the line is scanned a second time */
	while (x->symptoms->n_matches &&
	       (p = literals_find(l, text, p, x->end, NULL, NULL))) {
		const struct symptom *s;

		from = memrchr(text, '\n', (size_t)(p - text));
		from = from ? from + 1 : text;
		end = end_of_line(x, p);
		end -= end > from && end[-1] == '\r';
		s = symptom_match_any(x->symptoms, from, (size_t)(end - from),
				      p - LITERALS_STEP);
		if (s && s->effect == EFFECT_UNKNOWN) {
			add_unknown(x, from, (size_t)(end - from));
		} else if (s && s->effect == EFFECT_MARK) {
			add_mark(x, from, (size_t)(end - from));
		} else if (s) {
			add_known(x, s, from, (size_t)(end - from));
		}
		p = end_of_line(x, p);
	}
	number_of(x, x->end);
	x->lines += x->file_lines - before;
	x->bytes += len;
	x->open_line = len > 0 && x->end[-1] != '\n';
}

static int effect_of(const struct met *m)
{
	return (int)m->symptom->effect + (m->overruled_by ? EFFECTS : 0);
}

/** Sort faults first, excluded causes last; in one file by line. */
static int by_place(const void *a, const void *b)
{
	const struct met *x = *(struct met *const *)a;
	const struct met *y = *(struct met *const *)b;

	if (effect_of(x) != effect_of(y)) {
		return effect_of(x) - effect_of(y);
	}
	if (x->file == y->file) {
		return x->line < y->line ? -1 : x->line > y->line;
	}
	return x->file < y->file ? -1 : 1;
}

/** Sort several files by time; files without times come last. */
static int by_time(const void *a, const void *b)
{
	const struct met *x = *(struct met *const *)a;
	const struct met *y = *(struct met *const *)b;

	if (effect_of(x) != effect_of(y)) {
		return effect_of(x) - effect_of(y);
	}
	if ((x->about.time > 0) != (y->about.time > 0)) {
		return x->about.time > 0 ? -1 : 1;
	}
	if (x->about.time < y->about.time || x->about.time > y->about.time) {
		return x->about.time < y->about.time ? -1 : 1;
	}
	return by_place(a, b);
}

/** True if @m rules out @of, whose code it lists: a fact does so anywhere,
 *  anything else only for lines that follow it in the same file. */
static bool overrules(const struct met *m, const struct met *of)
{
	return symptom_lists(&m->symptom->overrules, of->symptom->code) &&
	       (m->symptom->effect == EFFECT_FACT ||
		(m->file == of->file && m->line < of->line));
}

/** Find the GPU of the node, and its rank, by the bus address. */
static void find_place(const struct explain *x, struct about *a)
{
	for (size_t i = 0; a->bus[0] && i < x->n_places; i++) {
		const struct about *p = &x->places[i];
		bool here = strcmp(p->host, a->host) == 0;

		if (strcmp(p->bus, a->bus) == 0 && (here || !a->host[0])) {
			a->gpu = a->gpu < 0 ? p->gpu : a->gpu;
			a->rank = a->rank < 0 && here ? p->rank : a->rank;
			return;
		}
	}
}

/** A new file begins, to which further lines belong. */
static void begin_file(struct explain *x, const char *name)
{
	struct str copy = STR_INIT;

	x->lines += x->open_line;
	x->open_line = false;
	x->file_lines = 0;
	x->file_time = 0;
	x->file_unknown = false;
	x->file_rank = about_file(name);
	str_add(&copy, name);
	str_harmless_from(&copy, 0, 0);
	if (!grow_add(&x->files, &x->n_files, &copy, sizeof(copy))) {
		str_release(&copy);
	}
}

void explain_end(struct explain *x)
{
	char name[64];

	/* all dumps are one file: what comparing them says */
	if (x->n_dumps > 0 && x->flight) {
		flight_judge(x->flight, &x->said);
	}
	if (x->said.len > 0) {
		snprintf(name, sizeof(name), "%zu dump%s", x->n_dumps,
			 x->n_dumps == 1 ? "" : "s");
		begin_file(x, name);
		explain_feed(x, str_text(&x->said), x->said.len);
	}
	x->lines += x->open_line;
	x->open_line = false;
	x->order = calloc(x->n_met + 1, sizeof(*x->order));
	for (size_t i = 0; x->order && i < x->n_met; i++) {
		x->order[x->n++] = &x->met[i];
		find_place(x, &x->met[i].about);
	}
	for (size_t i = 0; i < x->n; i++) {
		for (size_t k = 0; k < x->n; k++) {
			if (overrules(x->order[i], x->order[k]) &&
			    !x->order[k]->overruled_by) {
				x->order[k]->overruled_by = x->order[i]->line;
			}
		}
	}
	if (x->n > 0) {
		qsort(x->order, x->n, sizeof(struct met *),
		      x->n_files > 1 ? by_time : by_place);
	}
	works_judge(&x->works);
	unknown_sort(&x->unknown);
}

/** Return true if a file that begins with @text is a dump of PyTorch's flight
 *  recorder, whole or not. */
static bool is_dump(const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text;
	bool pickle = len > 2 && at[0] == 0x80 && at[1] >= 2 && at[1] <= 5;
	bool json = len > 2 && at[strspn(text, " \t\r\n")] == '{';

	return (pickle || json) &&
	       (memmem(text, len, "collective_seq_id", 17) ||
		(pickle && memmem(text, len, "pg_config", 9)));
}

/** Take whole lines of NCCL Inspector. */
static void feed_inspector(struct explain *x, const char *text, size_t len)
{
	const char *end = text + len;

	while (x->flight && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		if (n > 0) {
			flight_add_line(x->flight, text, n);
		}
		text += n + 1;
	}
}

/** Read the dump that begins with the @len bytes of @text. */
static int read_dump(struct explain *x, const char *name, const char *text,
		     size_t len, FILE *f, struct err *e)
{
	struct str all = STR_INIT;
	char *more;
	json_t *json = NULL;
	int rc = -1;

	str_addmem(&all, text, len);
	while (all.len < DUMP_MAX && !all.failed &&
	       (more = str_more(&all, CHUNK))) {
		size_t got = fread(more, 1, CHUNK, f);

		str_cut(&all, all.len - CHUNK + got);
		if (got == 0) {
			break;
		}
	}
	if (all.failed || all.len >= DUMP_MAX) {
		err_set(e, EFBIG, "the dump has more than %zu MiB",
			DUMP_MAX >> 20);
	} else {
		json = text[0] & 0x80 ?
			       json_parse_pickle(str_text(&all), all.len, e) :
			       json_parse(str_text(&all), all.len, e);
	}
	x->flight = x->flight ? x->flight : flight_new();
	if (json) {
		rc = flight_add(x->flight, json, name, e);
	}
	x->n_dumps += rc == 0;
	if (rc < 0 && e->code != ENOMEM) {
		e->code = 0;
	}
	json_decref(json);
	str_release(&all);
	return rc;
}

void explain_refuse(struct explain *x, const char *name, const struct err *e)
{
	size_t from = x->said.len;

	str_addf(&x->said, FLIGHT_SAYS "dump refused: %s: %s", name, e->text);
	str_harmless_from(&x->said, from, 0);
	str_addch(&x->said, '\n');
}

int explain_file(struct explain *x, const char *name, FILE *f, struct err *e)
{
	char *buf = malloc(CHUNK + 1);
	void (*feed)(struct explain *, const char *, size_t) = explain_feed;
	size_t have = 0, got;
	bool first = true;
	int rc = 0;

	if (!buf) {
		return err_set(e, ENOMEM, "cannot read the log");
	}
	while ((got = fread(buf + have, 1, CHUNK - have, f)) > 0) {
		const char *last;
		size_t whole;

		have += got;
		buf[have] = '\0';
		if (first && is_dump(buf, have)) {
			rc = read_dump(x, name, buf, have, f, e);
			free(buf);
			return rc;
		}
		if (first && buf[0] == '{' &&
		    memmem(buf, have, "\"coll_perf\"", 11)) {
			x->flight = x->flight ? x->flight : flight_new();
			x->n_dumps++;
			feed = feed_inspector;
		} else if (first) {
			begin_file(x, name);
		}
		first = false;
		last = memrchr(buf, '\n', have);
		whole = last ? (size_t)(last - buf) + 1 :
			have == CHUNK ? have : 0;
		feed(x, buf, whole);
		have -= whole;
		memmove(buf, buf + whole, have);
	}
	if (first) {
		begin_file(x, name);
	}
	if (ferror(f)) {
		rc = err_set(e, errno, "cannot read '%s'", name);
	}
	if (have > 0) {
		feed(x, buf, have);
	}
	free(buf);
	return rc;
}

bool explain_fault(const struct explain *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->order[i]->symptom->effect != EFFECT_FACT) {
			return true;
		}
	}
	return false;
}

const struct met *explain_first(const struct explain *x)
{
	const struct met *m = x->n > 0 ? x->order[0] : NULL;

	return m && m->symptom->effect <= EFFECT_WAIT && !m->overruled_by ?
		       m : NULL;
}
