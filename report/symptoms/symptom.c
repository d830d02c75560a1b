/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/symptoms/symptom.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/limit.h"

/* ---- xids ---------------------------------------------------------------- */

#define NUMBER_MAX 99999
#define RANGE_MAX  100

/** data/xids.txt as text, part of the program. */
EMBED_TEXT(xids_text, "data/xids.txt");

/** A line of the table. */
struct row {
	struct symptoms *s;
	size_t own;	/* sections that are not of the table */
	char kind[8], numbers[160], action[24];
	const char *meaning;
	size_t meaning_len;
};

static bool add_number(const struct row *r, unsigned long number)
{
	struct symptom new = { .n_matches = 0 }, *x;
	const struct symptom *list;
	size_t kind, action;
	char name[48];

	snprintf(new.code, sizeof(new.code), "%s_%lu", r->kind, number);
	if (STR_FIND(r->s->list, r->own, code, new.code) < r->own) {
		return true;
	}
	x = grow_add(&r->s->list, &r->s->n, &new, sizeof(new));
	list = r->s->list;
	snprintf(name, sizeof(name), "%s %s", r->kind, r->action);
	kind = STR_FIND(list, r->own, code, r->kind);
	action = STR_FIND(list, r->own, code, name);
	if (!x || kind == r->own || action == r->own) {
		return false;
	}
	x->effect = list[action].effect;
	str_addmem(&x->cause, r->meaning, r->meaning_len);
	str_add(&x->remedy, str_text(&list[action].remedy));
	str_add(&x->source, str_text(&list[kind].source));
	return true;
}

/** Add the sections of a line "KIND NUMBERS ACTION MEANING", whose numbers are
 *  such as "12,10001-10002". */
static bool add_row(const struct row *r)
{
	const char *at = r->numbers;
	unsigned long from, to;
	char *end;

	do {
		if (*at < '0' || *at > '9') {
			return false;
		}
		from = to = strtoul(at, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
			to = strtoul(end + 1, &end, 10);
		}
		if (to > NUMBER_MAX || from > to || to - from >= RANGE_MAX) {
			return false;
		}
		for (; from <= to; from++) {
			if (!add_number(r, from)) {
				return false;
			}
		}
		at = end;
	} while (*at++ == ',');
	return at[-1] == '\0';
}

int xids_add(struct symptoms *s, const char *text, struct err *e)
{
	struct row r = { .s = s, .own = s->n };

	text = text ? text : xids_text;
	for (int line = 1; *text; line++) {
		size_t len = strcspn(text, "\n");
		char copy[256];
		int at = 0;
		bool good = true;

		snprintf(copy, sizeof(copy), "%.*s", (int)len, text);
		if (len > 0 && *text != '#') {
			good = len < sizeof(copy) &&
			       sscanf(copy, "%7s %159s %23s %n", r.kind,
				      r.numbers, r.action, &at) == 3;
			r.meaning = text + at;
			r.meaning_len = len - (size_t)at;
			good = good && at > 0 && r.meaning_len > 0 &&
			       add_row(&r);
		}
		if (!good) {
			return err_set(e, EINVAL, "line %d: not KIND NUMBERS "
				       "ACTION MEANING", line);
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* ---- symptom ------------------------------------------------------------- */

#define SYMPTOMS_MAX 1000
/** Beginning of a remedy's line that is a command. */
#define COMMAND "    "

/** data/symptoms.ini as text, part of the program. */
EMBED_TEXT(symptoms_text, "data/symptoms.ini");

bool symptom_lists(const struct str *list, const char *code)
{
	const char *at = str_text(list);
	size_t len = strlen(code);

	while (*at) {
		size_t n = strcspn(at, " ");

		if (n == len && memcmp(at, code, len) == 0) {
			return true;
		}
		at += n;
		at += strspn(at, " ");
	}
	return false;
}

static const struct symptom *find(const struct symptoms *s, const char *code)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->list[i].code, code) == 0 ||
		    symptom_lists(&s->list[i].alias, code)) {
			return &s->list[i];
		}
	}
	return NULL;
}

/** The section KIND_DIGITS; NULL for none. */
static const struct symptom *find_number(const struct symptoms *s,
					 const char *kind, const char *digits)
{
	char code[48];

	snprintf(code, sizeof(code), "%.16s_%.8s", kind, digits);
	return find(s, code);
}

static struct symptom *section(struct symptoms *s, const char *code)
{
	struct symptom new = { .n_matches = 0 }, *x;

	if (s->n > 0 && strcmp(s->list[s->n - 1].code, code) == 0) {
		return &s->list[s->n - 1];
	}
	if (find(s, code) || s->n == SYMPTOMS_MAX) {
		s->why = "section twice, or too many of them";
		return NULL;
	}
	if (!STR_COPY(new.code, code)) {
		s->why = "the name of the section is too long";
		return NULL;
	}
	x = grow_add(&s->list, &s->n, &new, sizeof(new));
	s->why = x ? s->why : "no memory";
	return x;
}

/** A value, or the next line of one: joined by a blank. */
static void add_text(struct str *to, const char *value)
{
	str_add(to, to->len ? " " : "");
	str_add(to, value);
}

static const struct {
	const char *name;
	size_t offset;
} keys[] = {
	{ .name = "alias", .offset = offsetof(struct symptom, alias) },
	{ .name = "overrules", .offset = offsetof(struct symptom, overrules) },
	{ .name = "again", .offset = offsetof(struct symptom, again) },
	{ .name = "numbered", .offset = offsetof(struct symptom, numbered) },
	{ .name = "cause", .offset = offsetof(struct symptom, cause) },
	{ .name = "source", .offset = offsetof(struct symptom, source) },
};

#define KEYS (sizeof(keys) / sizeof(*keys))

static struct str *text_of(struct symptom *x, size_t key)
{
	return (struct str *)((char *)x + keys[key].offset);
}

const char *const symptom_effect_names[EFFECTS + 1] = {
	[EFFECT_FAULT] = "fault", [EFFECT_WAIT] = "wait",
	[EFFECT_SLOW] = "slow", [EFFECT_ECHO] = "echo",
	[EFFECT_FACT] = "fact", [EFFECT_MARK] = "mark",
	[EFFECT_UNKNOWN] = "unknown",
};

static const char *const drain_names[] = {
	[DRAIN_BY_TESTS] = "tests", [DRAIN_NEVER] = "never",
	[DRAIN_ALONE] = "alone", [DRAIN_MEASURED] = "measured",
	[DRAIN_AT_ONCE] = "at_once", NULL
};

/** inih's handler: 1 is good. */
static int take(void *user, const char *code, const char *name,
		const char *value)
{
	struct symptoms *s = user;
	struct symptom *x = section(s, code);

	if (!x) {
		return 0;
	}
	if (strcmp(name, "match") == 0) {
		const char *wrong = symptom_pattern_wrong(value);

		if (x->n_matches == SYMPTOM_MATCHES || wrong) {
			s->why = wrong ? wrong : "too many matches";
			return 0;
		}
		add_text(&x->match[x->n_matches++], value);
		return 1;
	}
	if (strcmp(name, "effect") == 0) {
		int effect = str_index(symptom_effect_names, value);

		if (effect < 0) {
			s->why = "no such effect";
			return 0;
		}
		x->effect = (enum symptom_effect)effect;
		return 1;
	}
	if (strcmp(name, "by") == 0 && strcmp(value, "part") == 0) {
		x->by_part = true;
		return 1;
	}
	if (strcmp(name, "drain") == 0 && str_index(drain_names, value) >= 0) {
		x->drain = (enum symptom_drain)str_index(drain_names, value);
		return 1;
	}
	if (strcmp(name, "remedy") == 0 || strcmp(name, "run") == 0) {
		str_addf(&x->remedy, "%s%s%s", x->remedy.len ? "\n" : "",
			 strcmp(name, "run") == 0 ? COMMAND : "", value);
		return 1;
	}
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(name, keys[i].name) == 0) {
			add_text(text_of(x, i), value);
			return 1;
		}
	}
	s->why = "no such key";
	return 0;
}

int symptoms_parse(const char *text, struct symptoms *s, struct err *e)
{
	struct literal *list = NULL;
	size_t n = 0;
	int line, rc = -1;

	*s = (struct symptoms){ .why = "not KEY=VALUE" };
	line = ini_parse_string(text, take, s);
	for (size_t i = 0; i < s->n; i++) {
		s->n_matches += s->list[i].n_matches;
	}
	if (line == 0) {
		list = calloc(s->n_matches + 1, sizeof(*list));
		s->anchor_of = calloc(s->n_matches + 1, sizeof(*s->anchor_of));
	}
	if (list && s->anchor_of) {
		/* the search for the anchors of all matches */
		for (size_t i = 0; i < s->n; i++) {
			for (size_t k = 0; k < s->list[i].n_matches; k++) {
				s->anchor_of[n] =
					(uint32_t)(i * SYMPTOM_MATCHES + k);
				list[n++] = symptom_pattern_anchor(
					str_text(&s->list[i].match[k]));
			}
		}
		rc = literals_make(list, n, &s->anchors);
	}
	free(list);
	if (rc < 0) {
		rc = line ? err_set(e, EINVAL, "line %d: %s", line, s->why) :
			    err_set(e, ENOMEM, "too many matches for the "
				    "memory");
		symptoms_release(s);
	}
	return rc;
}

void symptoms_release(struct symptoms *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct symptom *x = &s->list[i];

		for (size_t k = 0; k < x->n_matches; k++) {
			str_release(&x->match[k]);
		}
		for (size_t k = 0; k < KEYS; k++) {
			str_release(text_of(x, k));
		}
		str_release(&x->remedy);
	}
	free(s->list);
	literals_release(&s->anchors);
	free(s->anchor_of);
	*s = (struct symptoms){ 0 };
}

const struct symptoms *symptoms_builtin(void)
{
	static struct symptoms all;

	if (all.n == 0 && symptoms_parse(symptoms_text, &all, NULL) == 0) {
		xids_add(&all, NULL, NULL);
	}
	return &all;
}

const struct symptom *symptom_find(const struct symptoms *s, const char *code)
{
	const struct symptom *x = find(s, code);

	if (!x && code[0] && !code[strspn(code, "0123456789")]) {
		x = find_number(s, "xid", code);
		x = x ? x : find_number(s, "sxid", code);
		x = x ? x : find(s, "xid");
	}
	/* the driver has a hundred names for its errors */
	return x || !str_starts(code, "cuda_") ? x : find(s, "cuda_error");
}

/** The first section "CODE WHERE"; NULL for none. */
static const struct symptom *find_where(const struct symptoms *s,
					const char *code,
					const char *const *where)
{
	const struct symptom *x = NULL;
	char name[96];

	for (; *where && !x; where++) {
		snprintf(name, sizeof(name), "%s %s", code, *where);
		x = find(s, name);
	}
	return x;
}

const struct symptom *symptom_for(const struct symptoms *s, const char *code,
				  const char *const *where)
{
	const struct symptom *own = symptom_find(s, code), *x = NULL;
	char part[64];

	if (own) {
		x = find_where(s, own->code, where);
	}
	if (x || (own && !own->by_part)) {
		return x ? x : own;
	}
	/* a part of the transport or probe, all parts of it, that part */
	snprintf(part, sizeof(part), "part %s", where[0]);
	x = find_where(s, part, where + 1);
	x = x ? x : find_where(s, "part", where + 1);
	return x ? x : find(s, part);
}

void symptom_remedy(const struct symptom *x, symptom_name name, void *user,
		    struct str *out)
{
	const char *text = str_text(&x->remedy), *open;

	while ((open = strchr(text, '{')) != NULL) {
		size_t len = strcspn(open + 1, "}");

		str_addmem(out, text, (size_t)(open - text));
		if (!name || !name(user, open + 1, len, out)) {
			for (size_t i = 1; i <= len; i++) {
				str_addch(out, (char)toupper(open[i]));
			}
		}
		text = open + len + 1 + (open[len + 1] == '}');
	}
	str_add(out, text);
}

void symptom_drain_line(const char *node, const char *why, struct str *out)
{
	str_addf(out, "scontrol -o show node %s | grep -q Reason= || "
		 "scontrol update nodename=%s state=drain "
		 "reason='gpucheck: %s'", node, node, why);
}

void symptom_advice(const struct symptom *x, symptom_name name, void *user,
		    struct str *out)
{
	struct str node = STR_INIT;

	if (x->drain == DRAIN_AT_ONCE) {
		if (!name || !name(user, "node", 4, &node)) {
			str_add(&node, "NODE");
		}
		str_add(out, "Drain the node (needs Slurm operator rights):\n"
			COMMAND);
		symptom_drain_line(str_text(&node), x->code, out);
		str_addch(out, '\n');
		str_release(&node);
	}
	symptom_remedy(x, name, user, out);
}

/** A line on its way through the matches whose anchors it has. */
struct symptom_matching {
	const struct symptoms *s;
	const char *line;
	size_t len;
	bool faults;		/* nothing else counts */
	size_t best;		/* lowest match that is in the line */
	uint64_t *tried;	/* one bit a match: each costs a line once */
};

static void try_match(void *user, size_t number)
{
	struct symptom_matching *m = user;
	uint64_t bit = UINT64_C(1) << (number % 64);
	uint32_t at = m->s->anchor_of[number];
	const struct symptom *x = &m->s->list[at / SYMPTOM_MATCHES];

	if (number >= m->best || (m->tried[number / 64] & bit) ||
	    (m->faults && x->effect != EFFECT_FAULT)) {
		return;
	}
	m->tried[number / 64] |= bit;
	if (symptom_pattern_in(str_text(&x->match[at % SYMPTOM_MATCHES]),
			       m->line,
		       m->len)) {
		m->best = number;
	}
}

static const struct symptom *match_some(const struct symptoms *s,
					const char *line, size_t len,
					const char *p, bool faults)
{
	uint64_t tried[SYMPTOMS_MAX * SYMPTOM_MATCHES / 64 + 1];
	struct symptom_matching m = {
		.s = s, .line = line, .len = len, .faults = faults,
		.best = s->n_matches, .tried = tried,
	};
	const struct symptom *x, *of_number = NULL;
	const char *end = line + len;
	char digits[8] = "";

	memset(tried, 0, (s->n_matches / 64 + 1) * sizeof(*tried));
	while (s->n_matches && (p = literals_find(&s->anchors, line, p, end,
						  try_match, &m))) {
		/* the next one */
	}
	if (m.best == s->n_matches) {
		return NULL;
	}
	x = &s->list[s->anchor_of[m.best] / SYMPTOM_MATCHES];
	/* the number after "): " may have a section of its own */
	p = x->numbered.len ? memmem(line, len, "): ", 3) : NULL;
	for (size_t i = 0; p && i + 1 < sizeof(digits) && p + 3 + i < end &&
	     isdigit((unsigned char)p[3 + i]); i++) {
		digits[i] = p[3 + i];
	}
	if (digits[0]) {
		of_number = find_number(s, str_text(&x->numbered), digits);
	}
	return of_number ? of_number : x;
}

const struct symptom *symptom_match_any(const struct symptoms *s,
					const char *line, size_t len,
					const char *from)
{
	return match_some(s, line, len, from, false);
}

const struct symptom *symptom_match(const struct symptoms *s, const char *line,
				    size_t len)
{
	const struct symptom *x = symptom_match_any(s, line, len, line);

	return x && x->effect <= EFFECT_FACT ? x : NULL;
}

bool symptom_echoes(const char *code)
{
	const struct symptom *s = symptom_find(symptoms_builtin(), code);

	return s && s->effect == EFFECT_ECHO;
}

const char *symptom_refine(const char *code, const char *detail)
{
	const struct symptoms *all = symptoms_builtin();
	/* beside it, a row has NCCL's "unhandled system error" */
	const struct symptom *said = match_some(all, detail, strlen(detail),
						detail, true);
	const struct symptom *own = symptom_find(all, code);
	bool telling = limit_is(code) || (own && own->n_matches > 0 &&
					  own->effect == EFFECT_FAULT);

	return said && said->effect == EFFECT_FAULT && !telling ? said->code :
								  code;
}
