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

/** One line while it is read: words are cut out of @text in place. */
struct drill_parse_line {
	char text[DRILL_MAX_LINE + 1];
	char *next;
	int number;
};

/** The words of a fault, each of which comes once. */
enum place {
	AT_KIND, AT_PART, AT_VALUE, AT_DIRECTION, AT_FRACTION, AT_FROM,
	AT_UNLESS, AT_SHAPE, AT_MEET, PLACES
};

/** A fault while its words come in. */
struct drill_parse_reading {
	struct drill_parse_line *line;
	struct drill_fault fault;
	enum drill_shape shape;
	enum drill_meet meet;
	const char *at[PLACES];		/* in the line; NULL: not there */
};

/** "line L, column C: ..." for what stands @at; returns -1. */
__attribute__((format(printf, 4, 5))) static int
fail(struct err *e, const struct drill_parse_line *l, const char *at,
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

/** A word of the file as an error may show it. */
struct quote {
	char text[40];
};

static struct quote quote(const char *word)
{
	struct quote q;

	STR_COPY(q.text, word);
	return q;
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
static char *next_word(struct drill_parse_line *l)
{
	return strtok_r(NULL, " \t\r", &l->next);
}

/* One word each. */

static int parse_kind(struct drill_parse_reading *r, const char *word,
		      struct err *e)
{
	static const char *const words[] = { "dead", "hang", "crash", "corrupt",
					     "flaky", "slow", "wrong", "busy",
					     "noise", NULL };
	int i = str_index(words, word);

	if (i < 0) {
		fail(e, r->line, word, "unknown fault '%s'", quote(word).text);
		return hint_nearest(e, word, words);
	}
	r->fault.kind = (enum drill_kind)(DRILL_DEAD + i);
	r->at[AT_KIND] = word;
	return 0;
}

/** Say where @word stands, unless there is one already. */
static int take_place(struct drill_parse_reading *r, enum place place,
		      const char *word, struct err *e)
{
	if (r->at[place]) {
		return fail(e, r->line, word, "a second %s", word);
	}
	r->at[place] = word;
	return 0;
}

/** factor=, rate= or percent=, when it is the one of this kind of fault. */
static int parse_value(struct drill_parse_reading *r, const char *word,
		       const char *value, struct err *e)
{
	const struct drill_kind_word *kind = &drill_kinds[r->fault.kind];
	double x;

	if (!kind->value || strcmp(kind->value, word) != 0) {
		return fail(e, r->line, word, "'%s' does not go with '%s'",
			    word, kind->name);
	}
	if (take_place(r, AT_VALUE, word, e) < 0) {
		return -1;
	}
	if (units_parse_real(value, kind->min, kind->max, &x, NULL) < 0 ||
	    (x <= kind->min && !kind->min_too)) {
		return fail(e, r->line, value, "%s '%s' is not in %c%g, %g]",
			    word, quote(value).text, kind->min_too ? '[' : '(',
			    kind->min, kind->max);
	}
	r->fault.value = x;
	return 0;
}

static bool take_fraction(struct drill_parse_reading *r, const char *value)
{
	return units_parse_real(value, 0, 1, &r->fault.fraction, NULL) == 0 &&
	       r->fault.fraction > 0;
}

/** NAME=VALUE, both of which fit. */
static bool take_unless(struct drill_parse_reading *r, const char *value)
{
	struct drill_when *w = &r->fault.when;
	size_t len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (value[len] != '=' || len == 0 || len >= sizeof(w->name) ||
	    isdigit((unsigned char)value[0]) || !value[len + 1] ||
	    strlen(value + len + 1) >= sizeof(w->value)) {
		return false;
	}
	memcpy(w->name, value, len);
	w->name[len] = '\0';
	STR_COPY(w->value, value + len + 1);
	return true;
}

/** Words that stand for themselves, whatever the kind of fault. */
#define READING(member) offsetof(struct drill_parse_reading, member)
static const struct plain_word {
	const char *name, *what;
	enum place place;
	const char *const *words; /* of the value; NULL: no list of them */
	size_t at;		  /* then its number, in the reading */
	bool (*take)(struct drill_parse_reading *r, const char *value);
	const char *example;
} plain_words[] = {
	{ "direction", "direction", AT_DIRECTION, directions,
	  READING(fault.direction), NULL, NULL },
	{ "from", "layer", AT_FROM, drill_layers, READING(fault.when.from),
	  NULL, NULL },
	{ "unless", "unless", AT_UNLESS, NULL, 0, take_unless,
	  "unless=NCCL_IB_GID_INDEX=3" },
	{ "fraction", "fraction", AT_FRACTION, NULL, 0, take_fraction,
	  "fraction=0.125" },
	{ "shape", "shape", AT_SHAPE, drill_shapes, READING(shape), NULL,
	  NULL },
	{ "meet", "meet", AT_MEET, drill_meets, READING(meet), NULL, NULL },
};

static int parse_plain(struct drill_parse_reading *r,
		       const struct plain_word *p, const char *word,
		       const char *value, struct err *e)
{
	int i;

	if (take_place(r, p->place, word, e) < 0) {
		return -1;
	}
	i = p->words ? str_index(p->words, value) : -1;
	if (i >= 0) {
		memcpy((char *)r + p->at, &i, sizeof(i));
		return 0;
	}
	if (p->take && p->take(r, value)) {
		return 0;
	}
	if (p->words) {
		fail(e, r->line, value, "unknown %s '%s'", p->what,
		     quote(value).text);
		return hint_nearest(e, value, p->words);
	}
	fail(e, r->line, value, "'%s' cannot be '%s'", p->what,
	     quote(value).text);
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

static int parse_part(struct drill_parse_reading *r, enum drill_part part,
		      const char *word, char *value, struct err *e)
{
	const struct drill_part_word *p = &drill_parts[part];
	struct drill_fault *f = &r->fault;
	struct quote said = quote(value ? value : "");
	const char *odd;
	bool good;

	if (r->at[AT_PART]) {
		fail(e, r->line, word, "a second part '%s'", word);
		return err_hint(e, "write one fault a line");
	}
	good = !p->example[0] ?
		       !value :
		       value && parse_numbers(value, p->example, f->at);
	if (!good) {
		fail(e, r->line, value ? value : word, "'%s' cannot be '%s'",
		     word, said.text);
		return err_hint(e, "write %s%s", word, p->example);
	}
	odd = odd_numbers(part, f->at);
	if (odd) {
		return fail(e, r->line, value, "%s '%s' %s", word, said.text,
			    odd);
	}
	f->part = part;
	f->line = r->line->number;
	f->column = (int)(word - r->line->text) + 1;
	r->at[AT_PART] = word;
	return 0;
}

/** Any word after the first: a part, or name=value. */
static int parse_word(struct drill_parse_reading *r, char *word, struct err *e)
{
	/* the parts first, in the order of drill_parts */
	static const char *const words[] = { "node", "gpu", "nic", "pair",
		"node_pair", "rail", "cross_rail", "rank", "node_network",
		"intra_node", "gpu_nvlink", "rail_leaf", "fabric_path",
		"leaf_pair", "cable_swap", "socket", "nvlink_domain", "h2d",
		"d2h", "compute", "direction", "factor", "rate", "percent", "from", "unless", "fraction",
		"shape", "meet", NULL };
	char *equals = strchr(word, '=');
	char *value = equals ? equals + 1 : NULL;
	const char *text = value ? value : word + strlen(word);
	int known;

	if (equals) {
		*equals = '\0';
	}
	known = str_index(words, word);
	if (known < 0) {
		fail(e, r->line, word, "unknown keyword '%s'",
		     quote(word).text);
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

/** The first word of the line that its fault cannot have. */
static const char *odd_word(const struct drill_parse_reading *r)
{
	const struct drill_part_word *part = &drill_parts[r->fault.part];
	bool whole_run = drill_kinds[r->fault.kind].whole_run;
	const bool fits[PLACES] = {
		[AT_KIND] = true, [AT_PART] = true, [AT_VALUE] = true,
		[AT_DIRECTION] = !whole_run && part->directed,
		[AT_FRACTION] = !whole_run && part->partly,
		[AT_FROM] = !whole_run, [AT_UNLESS] = !whole_run,
		[AT_SHAPE] = whole_run, [AT_MEET] = whole_run,
	};

	for (int i = 0; i < PLACES; i++) {
		if (r->at[i] && !fits[i]) {
			return r->at[i];
		}
	}
	return NULL;
}

/** Check that the words so far make one whole fault. */
static int check_whole(const struct drill_parse_reading *r, struct err *e)
{
	const struct drill_kind_word *kind = &drill_kinds[r->fault.kind];
	const struct drill_part_word *part = &drill_parts[r->fault.part];
	const char *odd = odd_word(r);

	if (kind->whole_run && r->at[AT_PART]) {
		return fail(e, r->line, r->at[AT_PART], "'%s' takes no part",
			    kind->name);
	}
	if (!kind->whole_run && !r->at[AT_PART]) {
		fail(e, r->line, r->at[AT_KIND], "'%s' without a part",
		     kind->name);
		return err_hint(e, "name what is %s: node=3, gpu=1:4, nic=0:2, "
				   "pair=0-9, node_pair=0-2, rail=1, "
				   "cross_rail or another of gpucheck(1)",
				kind->name);
	}
	if (kind->value && !r->at[AT_VALUE]) {
		return fail(e, r->line, r->at[AT_KIND], "'%s' without %s=",
			    kind->name, kind->value);
	}
	if (odd) {
		return fail(e, r->line, odd, "'%s' does not go with '%s'",
			    odd, kind->whole_run ? kind->name : part->name);
	}
	return 0;
}

/* Lines. */

static int add_fault(struct drill *d, const struct drill_parse_reading *r,
		     struct err *e)
{
	if (d->n == DRILL_MAX_FAULTS) {
		return fail(e, r->line, r->at[AT_KIND], "more than %d faults",
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

static int parse_line(struct drill_parse_line *l, struct drill *d,
		      struct err *e)
{
	struct drill_parse_reading r = { .line = l,
					 .fault.fraction = PATH_FRACTION };
	char *word = next_word(l);

	if (!word) {
		return 0;
	}
	if (parse_kind(&r, word, e) < 0) {
		return -1;
	}
	while ((word = next_word(l))) {
		if (parse_word(&r, word, e) < 0) {
			return -1;
		}
	}
	if (check_whole(&r, e) < 0) {
		return -1;
	}
	if (!drill_kinds[r.fault.kind].whole_run) {
		return add_fault(d, &r, e);
	}
	if (d->noise >= 0) {
		return fail(e, l, r.at[AT_KIND], "a second '%s'",
			    r.at[AT_KIND]);
	}
	d->noise = r.fault.value / 100;
	d->shape = r.shape;
	d->meet = r.meet;
	return 0;
}

/** Bring a line of @len bytes into @l, without its comment. */
static int take_line(struct drill_parse_line *l, const char *text, size_t len,
		     struct err *e)
{
	const char *nul = memchr(text, '\0', len);
	const char *comment = memchr(text, '#', len);

	if (len > DRILL_MAX_LINE) {
		return fail(e, l, l->text + DRILL_MAX_LINE,
			    "line of more than %d bytes", DRILL_MAX_LINE);
	}
	if (nul) {
		fail(e, l, l->text + (nul - text), "a NUL byte");
		return err_hint(e, "a drill is a text file");
	}
	len = comment ? (size_t)(comment - text) : len;
	memcpy(l->text, text, len);
	l->text[len] = '\0';
	l->next = l->text;
	return 0;
}

int drill_parse(const char *text, size_t len, struct drill *d, struct err *e)
{
	const char *end = text + len;
	struct drill_parse_line l = { 0 };

	*d = (struct drill)DRILL_INIT;
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		eol = eol ? eol : end;
		l.number++;
		if (take_line(&l, text, (size_t)(eol - text), e) < 0 ||
		    parse_line(&l, d, e) < 0) {
			drill_release(d);
			return -1;
		}
		text = eol < end ? eol + 1 : end;
	}
	return 0;
}

void drill_release(struct drill *d)
{
	if (d) {
		free(d->faults);
		*d = (struct drill)DRILL_INIT;
	}
}
