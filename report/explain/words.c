/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/explain.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "report/base/wrap.h"
#include "report/symptoms/symptom.h"

#define INDENT 8

/** "means   ...", an indented paragraph. */
static void add_part(const struct wrap *w, const char *title, const char *text)
{
	str_addf(w->out, "%-*s", INDENT, title);
	wrap_text(w, INDENT, text);
}

/** 1234567 as 1,234,567. */
static void add_number(uint64_t n, struct str *out)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		str_add(out, i > 0 && (len - i) % 3 == 0 ? "," : "");
		str_addch(out, digits[i]);
	}
}

static const char *const effect_words[EFFECTS] = {
	[EFFECT_FAULT] = "",
	[EFFECT_WAIT] = ", ranks wait for another one",
	[EFFECT_SLOW] = ", works with reduced performance",
	[EFFECT_ECHO] = ", a consequence of an earlier or remote error",
	[EFFECT_FACT] = ", information only",
};

/** Replace a name in a remedy by the value that the line has. */
static bool name_of(void *user, const char *name, size_t len, struct str *out)
{
	const struct about *a = user;
	size_t from = out->len;

	if (len == 4 && memcmp(name, "logs", 4) == 0 && a->file && a->file[0] &&
	    strcmp(a->file, EXPLAIN_STDIN) != 0) {
		str_add_quoted(out, a->file);
		return true;
	}

	if (len == 4 && memcmp(name, "node", 4) == 0) {
		str_add(out, a->host);
	} else if (len == 3 && memcmp(name, "nic", 3) == 0) {
		str_add(out, a->hca);
	} else if (len == 3 && memcmp(name, "gpu", 3) == 0 && a->gpu >= 0) {
		str_addf(out, "%d", a->gpu);
	} else if (len == 3 && memcmp(name, "pid", 3) == 0 && a->pid > 0) {
		str_addf(out, "%ld", a->pid);
	}
	str_plain_from(out, from);	/* of a stranger */
	return out->len > from;
}

static void add_meaning(const struct wrap *w, const struct symptom *s,
			const struct about *a, const char *file)
{
	struct str remedy = STR_INIT;
	struct about about = { .gpu = -1 };

	about = a ? *a : about;
	about.file = file;
	add_part(w, "means", str_text(&s->cause));
	symptom_advice(s, name_of, &about, &remedy);
	str_addf(w->out, "%-*s", INDENT, "do");
	wrap_lines(w, INDENT, str_text(&remedy));
	if (s->source.len > 0) {
		add_part(w, "see", str_text(&s->source));
	}
	str_release(&remedy);
}

/** "2025-05-21 15:43:03", without a year where the log has none. */
static void add_time(const struct about *a, struct str *out)
{
	time_t s = (time_t)a->time;
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm)) {
		strftime(text, sizeof(text),
			 a->no_year ? "%b %d %H:%M:%S" : "%F %T", &tm);
	}
	str_add(out, text);
}

/** Add the known parts: "rank 3, n0, GPU 2 (0000:9b:00), ...". */
static void add_about(const struct met *m, struct str *out)
{
	const struct about *a = &m->about;
	size_t from = out->len;

#define COMMA (out->len > from ? ", " : "")
	for (size_t i = 0; i < m->n_ranks; i++) {
		str_addf(out, i == 0 ? m->n_ranks > 1 ? "ranks %d" : "rank %d" :
			 ", %d", m->ranks[i]);
	}
	if (m->n_ranks == 0 && a->rank >= 0) {
		str_addf(out, "rank %d", a->rank);
	}
	str_add(out, m->n_ranks == MET_RANKS ? " and more" : "");
	if (a->host[0]) {
		str_addf(out, "%s%s%s", COMMA, a->host,
			 m->elsewhere ? " and others" : "");
	}
	if (a->gpu >= 0) {
		str_addf(out, "%sGPU %d", COMMA, a->gpu);
	}
	if (a->bus[0]) {
		str_addf(out, a->gpu >= 0 ? "%s (%s)" : "%s%s",
			 a->gpu >= 0 ? "" : COMMA, a->bus);
	}
	if (a->hca[0]) {
		str_addf(out, "%s%s", COMMA, a->hca);
	}
	if (a->port > 0) {
		str_addf(out, ":%d", a->port);
	}
	if (a->pid > 0) {
		str_addf(out, "%spid %ld", COMMA, a->pid);
	}
	if (a->time > 0) {
		str_add(out, COMMA);
		add_time(a, out);
	}
#undef COMMA
}

static const char *file_of(const struct explain *x, const struct met *m)
{
	return m->file < x->n_files ? str_text(&x->files[m->file]) : "";
}

static void add_met(const struct explain *x, const struct wrap *w,
		    const struct met *m, size_t number)
{
	const enum symptom_effect effect = m->symptom->effect;
	struct str about = STR_INIT;
	char logs[PATH_MAX], *slash;

	str_addf(w->out, "\n%2zu. ", number);
	if (w->color) {
		str_addf(w->out, "\033[1;%dm%s\033[0m",
			 effect <= EFFECT_WAIT ? 31 :
			 effect == EFFECT_SLOW ? 33 : 36, m->symptom->code);
	} else {
		str_add(w->out, m->symptom->code);
	}
	str_addf(w->out, "%s: ", effect_words[effect]);
	if (x->n_files > 1) {
		str_addf(w->out, "%s ", file_of(x, m));
	}
	str_add(w->out, "line ");
	add_number(m->line, w->out);
	if (m->count > 1) {
		str_add(w->out, ", and ");
		add_number(m->count - 1, w->out);
		str_add(w->out, " more");
	}
	str_addch(w->out, '\n');
	add_about(m, &about);
	if (about.len > 0) {
		add_part(w, "of", str_text(&about));
	}
	str_release(&about);
	add_part(w, "says", m->text);
	if (m->overruled_by) {
		str_addf(w->out, "%-*sruled out by line %" PRIu64 "\n", INDENT,
			 "but", m->overruled_by);
		return;
	}
	for (size_t i = 0; i + 1 < number; i++) {
		if (x->order[i]->symptom == m->symptom) {
			str_addf(w->out, "%-*sas %zu. above\n", INDENT,
				 "means", i + 1);
			return;
		}
	}
	/* of several logs, those of the other ranks as well */
	snprintf(logs, sizeof(logs), "%s", file_of(x, m));
	slash = strrchr(logs, '/');
	if (x->n_files > 1 && slash && slash > logs) {
		*slash = '\0';
	} else if (x->n_files > 1) {
		str_copy(logs, sizeof(logs), slash ? "/" : ".");
	}
	add_meaning(w, m->symptom, &m->about, logs);
}

/** Add the rank that the others wait for. */
static void add_waits(const struct explain *x, const struct wrap *w)
{
	const struct works *v = &x->works;
	struct str text = STR_INIT;

	if (v->named.len > 0) {
		str_addf(&text, "Not there, by the log: %s%s. ",
			 strchr(str_text(&v->named), ',') ? "ranks " : "rank ",
			 str_text(&v->named));
	}
	if (v->work && v->n_behind > 0) {
		str_addf(&text,
			 "Rank%s %s%s never enqueued work %ld%s%s, for "
			 "which %zu other%s wait%s.",
			 v->n_behind == 1 ? "" : "s", str_text(&v->behind),
			 v->n_behind > 16 ? ", ..." : "", v->work,
			 v->group[0] ? " of group " : "", v->group, v->waiting,
			 v->waiting == 1 ? "" : "s",
			 v->waiting == 1 ? "s" : "");
	} else if (v->work && v->n_silent > 0) {
		str_addf(&text,
			 "%zu rank%s wait%s for work %ld%s%s; nothing is "
			 "said by rank%s %s%s: look for their logs.",
			 v->waiting, v->waiting == 1 ? "" : "s",
			 v->waiting == 1 ? "s" : "", v->work,
			 v->group[0] ? " of group " : "", v->group,
			 v->n_silent == 1 ? "" : "s", str_text(&v->silent),
			 v->n_silent > 16 ? ", ..." : "");
	} else if (v->work && v->waiting > 1) {
		str_addf(&text, "All %zu ranks that speak have enqueued work "
			 "%ld: the network or a GPU holds it up, or a rank "
			 "whose log is not here.", v->waiting, v->work);
	}
	if (text.len > 0) {
		wrap_text(w, 0, str_text(&text));
	}
	str_release(&text);
}

/** Add the first error: a known one, or a line that only looks like one, and
 *  the messages that may follow from that. */
static void add_first(const struct explain *x, const struct wrap *w)
{
	const struct met *first = explain_first(x), *m = &x->first_unknown;
	struct str about = STR_INIT, text = STR_INIT;

	add_about(first ? first : m, &about);
	if (first && about.len > 0) {
		str_addf(&text, "First: %s, %s", first->symptom->code,
			 str_text(&about));
		wrap_text(w, 0, str_text(&text));
	} else if (!first && m->count > 0) {
		str_addf(&text, "First error, not known to gpucheck: %s%sline "
			 "%" PRIu64 "%s%s", x->n_files > 1 ? file_of(x, m) : "",
			 x->n_files > 1 ? " " : "", m->line,
			 about.len > 0 ? ", " : "", str_text(&about));
		wrap_text(w, 0, str_text(&text));
		add_part(w, "says", m->text);
	}
	str_release(&about);
	str_release(&text);
}

void explain_words(const struct explain *x, const char *name, int width,
		   bool color, struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };
	const struct unknown *u = &x->unknown;

	if (x->n == 0) {
		str_addf(out, "%s: no known message in ", name);
	} else {
		str_addf(out, "%s: %zu known message%s in ", name, x->n,
			 x->n == 1 ? "" : "s");
	}
	add_number(x->lines, out);
	str_addf(out, " line%s\n", x->lines == 1 ? "" : "s");
	add_first(x, &w);
	add_waits(x, &w);
	for (size_t i = 0; i < x->n; i++) {
		add_met(x, &w, x->order[i], i + 1);
	}
	if (x->n > 0 && x->order[0]->symptom->effect == EFFECT_ECHO) {
		str_add(out, "\n");
		wrap_text(&w, 0,
			  u->lines > 0 ?
			  "All of them follow from another error, such as the "
			  "first one above." :
			  "All of them follow from another error: its cause is "
			  "in an earlier line, or in the log of another rank "
			  "or node.");
	}
	if (u->lines == 0) {
		return;
	}
	str_add(out, "\n");
	add_number(u->lines, out);
	str_addf(out, " line%s like error%s and %s not known%s\n",
		 u->lines == 1 ? " looks" : "s look", u->lines == 1 ? "" : "s",
		 u->lines == 1 ? "is" : "are",
		 u->n > UNKNOWN_SHOWN ? "; the most frequent:" : ":");
	for (size_t i = 0; i < u->n && i < UNKNOWN_SHOWN; i++) {
		char count[24];

		snprintf(count, sizeof(count), "%" PRIu64,
			 u->kinds[i].count - u->kinds[i].before);
		add_part(&w, count, u->kinds[i].text);
	}
}

static json_t *symptom_json(const struct symptom *s)
{
	struct str remedy = STR_INIT;
	json_t *json;

	symptom_advice(s, NULL, NULL, &remedy);
	json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "code", s->code,
			 "effect", symptom_effect_names[s->effect],
			 "cause", json_text(str_text(&s->cause)),
			 "remedy", json_text(str_text(&remedy)),
			 "source", json_text(str_text(&s->source)));
	str_release(&remedy);
	return json;
}

/** NULL for what the line does not say. */
static json_t *number_or_null(json_int_t n, bool said)
{
	return said ? json_integer(n) : json_null();
}

static json_t *met_json(const struct explain *x, const struct met *m)
{
	const struct about *a = &m->about;
	struct str time = STR_INIT;
	json_t *met, *ranks = json_array();

	for (size_t i = 0; i < m->n_ranks; i++) {
		json_array_append_new(ranks, json_integer(m->ranks[i]));
	}
	if (a->time > 0) {
		add_time(a, &time);
	}
	met = json_pack(
		"{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o}",
		"count", (json_int_t)m->count, "line", (json_int_t)m->line,
		"text", json_text(m->text), "overruled_by",
		number_or_null((json_int_t)m->overruled_by, m->overruled_by),
		"file", json_text_or_null(file_of(x, m)),
		"host", json_text_or_null(a->host),
		"rank", number_or_null(a->rank, a->rank >= 0), "ranks", ranks,
		"gpu", number_or_null(a->gpu, a->gpu >= 0),
		"bus", json_text_or_null(a->bus), "hca",
		json_text_or_null(a->hca),
		"port", number_or_null(a->port, a->port > 0),
		"pid", number_or_null(a->pid, a->pid > 0),
		"time", json_text_or_null(str_text(&time)));
	str_release(&time);
	return met;
}

json_t *explain_json(const struct explain *x, const char *name)
{
	const struct met *first = explain_first(x);
	const struct unknown *u = &x->unknown;
	const struct works *v = &x->works;
	json_t *list = json_array(), *frequent = json_array();
	json_t *waits, *unknown;

	for (size_t i = 0; i < x->n; i++) {
		json_t *one = symptom_json(x->order[i]->symptom);
		json_t *met = met_json(x, x->order[i]);

		json_object_update(one, met);
		json_decref(met);
		json_array_append_new(list, one);
	}
	waits = json_pack("{s:o, s:o, s:I, s:o, s:o, s:o}",
			  "work", number_or_null(v->work, v->work > 0),
			  "group", json_text_or_null(v->group),
			  "waiting", (json_int_t)v->waiting,
			  "behind", json_text_or_null(str_text(&v->behind)),
			  "silent", json_text_or_null(str_text(&v->silent)),
			  "named", json_text_or_null(str_text(&v->named)));
	for (size_t i = 0; i < u->n && i < UNKNOWN_SHOWN; i++) {
		json_array_append_new(frequent, json_pack(
			"{s:I, s:o}", "count",
			(json_int_t)(u->kinds[i].count - u->kinds[i].before),
			"text", json_text(u->kinds[i].text)));
	}
	unknown = json_pack("{s:I, s:o, s:o}", "lines", (json_int_t)u->lines,
			    "frequent", frequent, "first",
			    x->first_unknown.count > 0 ?
				    met_json(x, &x->first_unknown) :
				    json_null());
	return json_pack("{s:o, s:I, s:I, s:o, s:I, s:o, s:o, s:o}",
			 "file", json_text(name),
			 "lines", (json_int_t)x->lines, "bytes",
			 (json_int_t)x->bytes, "symptoms", list,
			 "files", (json_int_t)x->n_files,
			 "first", first ? json_text(first->symptom->code) :
					  json_null(),
			 "waits", waits, "unknown", unknown);
}

static void add_csv_number(struct str *out, long n, bool said)
{
	str_addch(out, ',');
	if (said) {
		str_addf(out, "%ld", n);
	}
}

void explain_csv(const struct explain *x, struct str *out)
{
	str_add(out, "code,effect,count,line,overruled_by,text,file,host,rank,"
		     "gpu,bus,hca,port,pid,time\n");
	for (size_t i = 0; i < x->n; i++) {
		const struct met *m = x->order[i];
		const struct about *a = &m->about;

		str_addf(out, "%s,%s,%" PRIu64 ",%" PRIu64,
			 m->symptom->code,
			 symptom_effect_names[m->symptom->effect], m->count,
			 m->line);
		add_csv_number(out, (long)m->overruled_by, m->overruled_by);
		csv_add_text(out, m->text);
		csv_add_text(out, file_of(x, m));
		csv_add_text(out, a->host);
		add_csv_number(out, a->rank, a->rank >= 0);
		add_csv_number(out, a->gpu, a->gpu >= 0);
		csv_add_text(out, a->bus);
		csv_add_text(out, a->hca);
		add_csv_number(out, a->port, a->port > 0);
		add_csv_number(out, a->pid, a->pid > 0);
		str_addch(out, ',');
		if (a->time > 0) {
			add_time(a, out);
		}
		str_addch(out, '\n');
	}
}

void explain_code_words(const struct symptom *s, int width, bool color,
			struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };

	str_addf(out, color ? "\033[1m%s\033[0m\n" : "%s\n", s->code);
	add_meaning(&w, s, NULL, NULL);
	for (size_t i = 0; i < s->n_matches; i++) {
		struct str sample = STR_INIT;

		symptom_pattern_sample(str_text(&s->match[i]), &sample);
		add_part(&w, i ? "" : "says", str_text(&sample));
		str_release(&sample);
	}
}

json_t *explain_code_json(const struct symptom *s)
{
	json_t *json = symptom_json(s), *says = json_array();

	for (size_t i = 0; i < s->n_matches; i++) {
		struct str sample = STR_INIT;

		symptom_pattern_sample(str_text(&s->match[i]), &sample);
		json_array_append_new(says, json_text(str_text(&sample)));
		str_release(&sample);
	}
	json_object_set_new(json, "says", says);
	return json;
}
