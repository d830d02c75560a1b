/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/explain.h"

#include <inttypes.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "report/symptoms/symptom_pattern.h"
#include "report/base/wrap.h"

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

static const struct effect_words {
	int color;	/* ANSI */
	const char *words;
} effects[EFFECTS] = {
	[EFFECT_FAULT] = { .color = 31, .words = "" },
	[EFFECT_SLOW] = { .color = 33,
			  .words = ", works with reduced performance" },
	[EFFECT_ECHO] = { .color = 36, .words = ", a consequence of an earlier "
						"or remote error" },
	[EFFECT_FACT] = { .color = 36, .words = ", information only" },
};

static void add_meaning(const struct wrap *w, const struct symptom *s)
{
	struct str remedy = STR_INIT;

	add_part(w, "means", str_text(&s->cause));
	symptom_remedy(s, NULL, NULL, &remedy);
	str_addf(w->out, "%-*s", INDENT, "do");
	wrap_lines(w, INDENT, str_text(&remedy));
	if (s->source.len > 0) {
		add_part(w, "see", str_text(&s->source));
	}
	str_release(&remedy);
}

static void add_met(const struct wrap *w, const struct met *m, size_t number)
{
	const struct effect_words *effect = &effects[m->symptom->effect];

	str_addf(w->out, "\n%2zu. ", number);
	if (w->color) {
		str_addf(w->out, "\033[1;%dm%s\033[0m", effect->color,
			 m->symptom->code);
	} else {
		str_add(w->out, m->symptom->code);
	}
	str_addf(w->out, "%s: line ", effect->words);
	add_number(m->line, w->out);
	if (m->count > 1) {
		str_add(w->out, ", and ");
		add_number(m->count - 1, w->out);
		str_add(w->out, " more");
	}
	str_addch(w->out, '\n');
	add_part(w, "says", m->text);
	if (m->overruled_by) {
		str_addf(w->out, "%-*sruled out by line %" PRIu64 "\n", INDENT,
			 "but", m->overruled_by);
		return;
	}
	add_meaning(w, m->symptom);
}

void explain_words(const struct explain *x, const char *name, int width,
		   bool color, struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };

	if (x->n == 0) {
		str_addf(out, "%s: no known message in ", name);
	} else {
		str_addf(out, "%s: %zu known message%s in ", name, x->n,
			 x->n == 1 ? "" : "s");
	}
	add_number(x->lines, out);
	str_addf(out, " line%s\n", x->lines == 1 ? "" : "s");
	for (size_t i = 0; i < x->n; i++) {
		add_met(&w, x->order[i], i + 1);
	}
	if (x->n > 0 && x->order[0]->symptom->effect == EFFECT_ECHO) {
		str_add(out, "\n");
		wrap_text(&w, 0, "All of them are consequences of a remote error: "
			  "its cause is in the log of another rank or "
			  "node.");
	}
}

static json_t *symptom_json(const struct symptom *s)
{
	struct str remedy = STR_INIT;
	json_t *json;

	symptom_remedy(s, NULL, NULL, &remedy);
	json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "code", s->code,
			 "effect", symptom_effect_name(s->effect),
			 "cause", json_text(str_text(&s->cause)),
			 "remedy", json_text(str_text(&remedy)),
			 "source", json_text(str_text(&s->source)));
	str_release(&remedy);
	return json;
}

json_t *explain_json(const struct explain *x, const char *name)
{
	json_t *list = json_array();

	for (size_t i = 0; i < x->n; i++) {
		const struct met *m = x->order[i];
		json_t *one = symptom_json(m->symptom);
		json_t *met = json_pack(
			"{s:I, s:I, s:o, s:o}", "count", (json_int_t)m->count,
			"line", (json_int_t)m->line, "text", json_text(m->text),
			"overruled_by", m->overruled_by ?
				json_integer((json_int_t)m->overruled_by) :
				json_null());

		json_object_update(one, met);
		json_decref(met);
		json_array_append_new(list, one);
	}
	return json_pack("{s:o, s:I, s:I, s:o}", "file", json_text(name),
			 "lines", (json_int_t)x->lines, "bytes",
			 (json_int_t)x->bytes, "symptoms", list);
}

void explain_csv(const struct explain *x, struct str *out)
{
	str_add(out, "code,effect,count,line,overruled_by,text\n");
	for (size_t i = 0; i < x->n; i++) {
		const struct met *m = x->order[i];

		str_addf(out, "%s,%s,%" PRIu64 ",%" PRIu64 ",",
			 m->symptom->code,
			 symptom_effect_name(m->symptom->effect), m->count,
			 m->line);
		if (m->overruled_by) {
			str_addf(out, "%" PRIu64, m->overruled_by);
		}
		str_addch(out, ',');
		csv_add_field(out, m->text);
		str_addch(out, '\n');
	}
}

void explain_code_words(const struct symptom *s, int width, bool color,
			struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };

	str_addf(out, color ? "\033[1m%s\033[0m\n" : "%s\n", s->code);
	add_meaning(&w, s);
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
