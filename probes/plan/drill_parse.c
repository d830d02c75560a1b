/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/drill.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

#define FAULTS_MORE 64	/* room that is made at a time */
#define PATH_FRACTION 0.125	/* one link of eight, where nobody says */

static const char *const directions[] = {
	[DRILL_BOTH] = "both", [DRILL_TX] = "tx", [DRILL_RX] = "rx", NULL
};

/** The words of a fault, each of which comes once. */
enum place {
	AT_KIND, AT_PART, AT_VALUE, AT_DIRECTION, AT_FRACTION, AT_FROM,
	AT_UNLESS, AT_FACT, AT_SHAPE, AT_MEET, PLACES
};

/** A line and its fault while its words come in; they are cut out of @text in
 *  place. */
struct drill_reading {
	char text[DRILL_MAX_LINE + 1];
	char *next;
	int number;
	struct drill_fault fault;
	enum drill_shape shape;
	enum drill_meet meet;
	const char *at[PLACES];		/* in the line; NULL: not there */
};

/** "line L, column C: ..." for what stands @at; returns -1. */
__attribute__((format(printf, 4, 5))) static int
fail(struct err *e, const struct drill_reading *l, const char *at,
     const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, 0, "line %d, column %d: %s", l->number,
		       (int)(at - l->text) + 1, text);
}

#define QUOTE 40

/** @word of the file as an error may show it, in @buf. */
static const char *quote(const char *word, char buf[QUOTE])
{
	str_copy(buf, QUOTE, word);
	return buf;
}

/** The hint after an unknown @word, where @words are known. */
static int hint_nearest(struct err *e, const char *word,
			const char *const words[])
{
	const char *near = str_nearest(word, words);
	struct str all = STR_INIT;

	for (int i = 0; words[i]; i++) {
		str_addf(&all, "%s%s", i > 0 ? ", " : "", words[i]);
	}
	near ? err_hint(e, "did you mean '%s'?", near) :
	       err_hint(e, "one of %s", str_text(&all));
	str_release(&all);
	return -1;
}

/** Cut the next word out of the line; NULL at its end. */
static char *next_word(struct drill_reading *l)
{
	return strtok_r(NULL, " \t\r", &l->next);
}

/* One word each. */

/** Say where @word stands, unless there is one already. */
static int take_place(struct drill_reading *r, enum place place,
		      const char *word, struct err *e)
{
	if (r->at[place]) {
		return fail(e, r, word, "a second %s", word);
	}
	r->at[place] = word;
	return 0;
}

/** factor=, rate= or percent=, when it is the one of this kind of fault. */
static int parse_value(struct drill_reading *r, const char *word,
		       const char *value, struct err *e)
{
	const struct drill_kind_word *kind = &drill_kinds[r->fault.kind];
	char said[QUOTE];
	double x;

	if (!kind->value || strcmp(kind->value, word) != 0) {
		return fail(e, r, word, "'%s' does not go with '%s'",
			    word, kind->name);
	}
	if (take_place(r, AT_VALUE, word, e) < 0) {
		return -1;
	}
	if (units_parse_real(value, kind->min, kind->max, &x, NULL) < 0 ||
	    (x <= kind->min && !kind->min_too)) {
		return fail(e, r, value, "%s '%s' is not in %c%g, %g]",
			    word, quote(value, said), kind->min_too ? '[' : '(',
			    kind->min, kind->max);
	}
	r->fault.value = x;
	return 0;
}

static bool take_fraction(void *to, const char *value)
{
	return units_parse_real(value, 0, 1, to, NULL) == 0 &&
	       *(double *)to > 0;
}

/** NAME=VALUE, both of which fit. */
static bool take_named(void *to, const char *value)
{
	char (*named)[DRILL_NAME] = to;
	size_t len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (value[len] != '=' || len == 0 || len >= DRILL_NAME ||
	    isdigit((unsigned char)value[0]) || !value[len + 1] ||
	    strlen(value + len + 1) >= DRILL_NAME) {
		return false;
	}
	memcpy(named[0], value, len);
	named[0][len] = '\0';
	STR_COPY(named[1], value + len + 1);
	return true;
}

/** Words that stand for themselves, whatever the kind of fault. */
#define READING(member) offsetof(struct drill_reading, member)
static const struct plain_word {
	const char *name, *what;
	enum place place;
	const char *const *words; /* of the value; NULL: no list of them */
	size_t at;		  /* of the value, or of its number in that
				   * list, in the reading */
	bool (*take)(void *to, const char *value);
	const char *example;
} plain_words[] = {
	{ "direction", "direction", AT_DIRECTION, directions,
	  READING(fault.direction), NULL, NULL },
	{ "from", "layer", AT_FROM, drill_layers, READING(fault.from),
	  NULL, NULL },
	{ "unless", "unless", AT_UNLESS, NULL, READING(fault.unless),
	  take_named, "unless=NCCL_IB_GID_INDEX=3" },
	{ "fact", "fact", AT_FACT, NULL, READING(fault.fact), take_named,
	  "fact=acs=on" },
	{ "fraction", "fraction", AT_FRACTION, NULL, READING(fault.fraction),
	  take_fraction, "fraction=0.125" },
	{ "shape", "shape", AT_SHAPE, drill_shapes, READING(shape), NULL,
	  NULL },
	{ "meet", "meet", AT_MEET, drill_meets, READING(meet), NULL, NULL },
};

static int parse_plain(struct drill_reading *r,
		       const struct plain_word *p, const char *word,
		       const char *value, struct err *e)
{
	char said[QUOTE];
	int i;

	if (take_place(r, p->place, word, e) < 0) {
		return -1;
	}
	i = p->words ? str_index(p->words, value) : -1;
	if (i >= 0) {
		memcpy((char *)r + p->at, &i, sizeof(i));
		return 0;
	}
	if (p->take && p->take((char *)r + p->at, value)) {
		return 0;
	}
	if (p->words) {
		fail(e, r, value, "unknown %s '%s'", p->what,
		     quote(value, said));
		return hint_nearest(e, value, p->words);
	}
	fail(e, r, value, "'%s' cannot be '%s'", p->what,
	     quote(value, said));
	return err_hint(e, "write %s", p->example);
}

/** Numbers as @example has them, with the same between them; cuts @value. */
static bool parse_numbers(char *value, const char *example, int *at)
{
	for (int i = 0; i < DRILL_NUMBERS; i++) {
		char *end = value + strspn(value, "0123456789"), after = *end;
		int64_t n;

		example += 1 + strspn(example + 1, "0123456789");
		*end = '\0';
		if (after != *example ||
		    units_parse_int(value, 0, INT32_MAX, &n, NULL) < 0) {
			return false;
		}
		at[i] = (int)n;
		value = end + 1;
		if (!after) {
			return true;
		}
	}
	return false;
}

/** Return the error in the numbers of a part, next to each other; NULL: none.
 *  Two numbers joined by "-" are a range of nodes, or two that differ. */
static const char *odd_numbers(enum drill_part part, const int *at)
{
	switch (part) {
	case DRILL_PAIR:
	case DRILL_NODE_PAIR:
		return at[0] == at[1] ? "with itself" : NULL;
	case DRILL_CABLE_SWAP:
		return at[1] == at[2] ? "with itself" : NULL;
	case DRILL_NVLINK_DOMAIN:
		return at[0] >= at[1] ? "of one node" : NULL;
	case DRILL_RAIL_LEAF:
		return at[1] > at[2] ? "backwards" : NULL;
	case DRILL_LEAF_PAIR:
	case DRILL_FABRIC_PATH:
		return at[0] > at[1] || at[2] > at[3]  ? "backwards" :
		       at[0] <= at[3] && at[2] <= at[1] ? "with itself" : NULL;
	default:
		return NULL;
	}
}

static int parse_part(struct drill_reading *r, enum drill_part part,
		      const char *word, char *value, struct err *e)
{
	const struct drill_part_word *p = &drill_parts[part];
	struct drill_fault *f = &r->fault;
	const char *odd;
	char said[QUOTE];
	bool good;

	if (r->at[AT_PART]) {
		fail(e, r, word, "a second part '%s'", word);
		return err_hint(e, "write one fault per line");
	}
	quote(value ? value : "", said);
	good = !p->example[0] ?
		       !value :
		       value && parse_numbers(value, p->example, f->at);
	if (!good) {
		fail(e, r, value ? value : word, "'%s' cannot be '%s'",
		     word, said);
		return err_hint(e, "write %s%s", word, p->example);
	}
	odd = odd_numbers(part, f->at);
	if (odd) {
		return fail(e, r, value, "%s '%s' %s", word, said,
			    odd);
	}
	f->part = part;
	f->line = r->number;
	f->column = (int)(word - r->text) + 1;
	r->at[AT_PART] = word;
	return 0;
}

/** Any word after the first: a part, or name=value. */
static int parse_word(struct drill_reading *r, char *word, struct err *e)
{
	/* the parts first, in the order of drill_parts */
	static const char *const words[] = { "node", "gpu", "nic", "pair",
		"node_pair", "rail", "cross_rail", "rank", "node_network",
		"intra_node", "gpu_nvlink", "rail_leaf", "fabric_path", "paths",
		"leaf_pair", "cable_swap", "socket", "nvlink_domain", "h2d",
		"d2h", "compute", "direction", "factor", "rate", "percent",
		"from", "unless", "fact", "fraction", "shape", "meet", NULL };
	char *equals = strchr(word, '=');
	char *value = equals ? equals + 1 : NULL;
	const char *text = value ? value : word + strlen(word);
	char said[QUOTE];
	int known;

	if (equals) {
		*equals = '\0';
	}
	known = str_index(words, word);
	if (known < 0) {
		fail(e, r, word, "unknown keyword '%s'",
		     quote(word, said));
		return hint_nearest(e, word, words);
	}
	if (known <= DRILL_COMPUTE) {
		return parse_part(r, (enum drill_part)known, word, value, e);
	}
	for (size_t i = 0; i < sizeof(plain_words) / sizeof(*plain_words);
	     i++) {
		if (strcmp(plain_words[i].name, word) == 0) {
			return parse_plain(r, &plain_words[i], word, text, e);
		}
	}
	return parse_value(r, word, text, e);
}

/** Check that the words so far make one whole fault. */
static int check_whole(const struct drill_reading *r, struct err *e)
{
	const struct drill_kind_word *kind = &drill_kinds[r->fault.kind];
	const struct drill_part_word *part = &drill_parts[r->fault.part];
	const bool whole_run = kind->whole_run;
	const bool fits[PLACES] = {
		[AT_KIND] = true, [AT_PART] = true, [AT_VALUE] = true,
		[AT_DIRECTION] = !whole_run && part->directed,
		[AT_FRACTION] = !whole_run && part->partly,
		[AT_FROM] = !whole_run, [AT_UNLESS] = !whole_run,
		[AT_FACT] = !whole_run &&
			    (KIND(NODE) | KIND(NODE_NETWORK) | KIND(GPU) |
			     KIND(NIC)) & 1U << part->kind,
		[AT_SHAPE] = whole_run, [AT_MEET] = whole_run,
	};
	int odd = 0;	/* the first word that its fault cannot have */

	if (whole_run && r->at[AT_PART]) {
		return fail(e, r, r->at[AT_PART], "'%s' does not take a part",
			    kind->name);
	}
	if (!whole_run && !r->at[AT_PART]) {
		fail(e, r, r->at[AT_KIND], "'%s' without a part", kind->name);
		return err_hint(e, "specify what is %s: node=3, gpu=1:4, "
				   "nic=0:2, pair=0-9, node_pair=0-2, rail=1, "
				   "cross_rail or another of gpucheck(1)",
				kind->name);
	}
	if (kind->value && !r->at[AT_VALUE]) {
		return fail(e, r, r->at[AT_KIND], "'%s' without %s=",
			    kind->name, kind->value);
	}
	while (odd < PLACES && (!r->at[odd] || fits[odd])) {
		odd++;
	}
	return odd == PLACES ? 0 :
		fail(e, r, r->at[odd], "'%s' does not go with '%s'",
		     r->at[odd], whole_run ? kind->name : part->name);
}

/* Lines. */

static int add_fault(struct drill *d, const struct drill_reading *r,
		     struct err *e)
{
	if (d->n == DRILL_MAX_FAULTS) {
		return fail(e, r, r->at[AT_KIND], "more than %d faults",
			    DRILL_MAX_FAULTS);
	}
	if (d->n % FAULTS_MORE == 0) {
		struct drill_fault *faults;

		faults = realloc(d->faults,
				 (d->n + FAULTS_MORE) * sizeof(*faults));
		if (!faults) {
			return err_set(e, ENOMEM, "no memory for the drill");
		}
		d->faults = faults;
	}
	d->faults[d->n++] = r->fault;
	return 0;
}

static int parse_line(struct drill_reading *r, struct drill *d, struct err *e)
{
	static const char *const words[] = { "dead", "hang", "crash", "corrupt",
					     "flaky", "slow", "wrong", "busy",
					     "noise", NULL };
	char *word = next_word(r), said[QUOTE];
	int kind;

	if (!word) {
		return 0;
	}
	kind = str_index(words, word);
	if (kind < 0) {
		fail(e, r, word, "unknown fault '%s'", quote(word, said));
		return hint_nearest(e, word, words);
	}
	r->fault = (struct drill_fault){ .fraction = PATH_FRACTION };
	r->fault.kind = (enum drill_kind)(DRILL_DEAD + kind);
	r->shape = DRILL_UNIFORM;
	r->meet = DRILL_PRODUCT;
	memset(r->at, 0, sizeof(r->at));
	r->at[AT_KIND] = word;
	while ((word = next_word(r))) {
		if (parse_word(r, word, e) < 0) {
			return -1;
		}
	}
	if (check_whole(r, e) < 0) {
		return -1;
	}
	if (!drill_kinds[r->fault.kind].whole_run) {
		return add_fault(d, r, e);
	}
	if (d->noise >= 0) {
		return fail(e, r, r->at[AT_KIND], "a second '%s'",
			    r->at[AT_KIND]);
	}
	d->noise = r->fault.value / 100;
	d->shape = r->shape;
	d->meet = r->meet;
	return 0;
}

int drill_parse(const char *text, size_t len, struct drill *d, struct err *e)
{
	const char *end = text + len, *eol, *nul, *comment;
	struct drill_reading r = { .number = 0 };
	int rc = 0;

	*d = (struct drill)DRILL_INIT;
	for (; rc == 0 && text < end; text = eol < end ? eol + 1 : end) {
		eol = memchr(text, '\n', (size_t)(end - text));
		eol = eol ? eol : end;
		len = (size_t)(eol - text);
		nul = memchr(text, '\0', len);
		comment = memchr(text, '#', len);
		r.number++;
		if (len > DRILL_MAX_LINE) {
			rc = fail(e, &r, r.text + DRILL_MAX_LINE,
				  "line of more than %d bytes", DRILL_MAX_LINE);
			continue;
		}
		if (nul) {
			fail(e, &r, r.text + (nul - text), "a NUL byte");
			rc = err_hint(e, "a drill is a text file");
			continue;
		}
		len = comment ? (size_t)(comment - text) : len;
		memcpy(r.text, text, len);
		r.text[len] = '\0';
		r.next = r.text;
		rc = parse_line(&r, d, e);
	}
	if (rc < 0) {
		drill_release(d);
	}
	return rc;
}

void drill_release(struct drill *d)
{
	if (d) {
		free(d->faults);
		*d = (struct drill)DRILL_INIT;
	}
}
