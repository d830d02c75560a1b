/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of one option: set by a text, written as one, kept in run.json. */
#include "lib/spec/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/hosts.h"

/** Characters of a host list. */
#define NODE_CHARS                                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"      \
	"._-[],"
/** More than any option has words. */
#define WORDS_MAX 16

/**
 * Operations of a type of option. set() and text() are inverse: run.json keeps
 * an option as the text that sets it again.
 */
struct type_ops {
	json_type json;		/* how run.json keeps it */
	const char *argh;	/* what --help calls the value */
	int (*set)(struct spec *s, const struct spec_option *o,
		   const char *text, struct err *e);
	void (*text)(const struct spec *s, const struct spec_option *o,
		     char *buf, size_t size);
};

static void *field(struct spec *s, const struct spec_option *o)
{
	return (char *)s + o->offset;
}

static const void *const_field(const struct spec *s,
			       const struct spec_option *o)
{
	return (const char *)s + o->offset;
}

static int64_t int_value(const struct spec *s, const struct spec_option *o)
{
	return *(const int64_t *)const_field(s, o);
}

/* ---- flags: no value on the command line, 0 or 1 elsewhere ------------- */

static int set_bool(struct spec *s, const struct spec_option *o,
		    const char *text, struct err *e)
{
	text = text ? text : "1";
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
		return err_set(e, 0, "'%s' is neither 0 nor 1", text);
	}
	*(bool *)field(s, o) = text[0] == '1';
	return 0;
}

static void text_bool(const struct spec *s, const struct spec_option *o,
		      char *buf, size_t size)
{
	snprintf(buf, size, "%d", *(const bool *)const_field(s, o));
}

/* ---- numbers ----------------------------------------------------------- */

/** A count without a value is one more, as in -vv. */
static int set_int(struct spec *s, const struct spec_option *o,
		   const char *text, struct err *e)
{
	int64_t *n = field(s, o);

	if (text) {
		return units_parse_int(text, o->min, o->max, n, e);
	}
	if (*n < o->max) {
		++*n;
	}
	return 0;
}

static void text_int(const struct spec *s, const struct spec_option *o,
		     char *buf, size_t size)
{
	snprintf(buf, size, "%" PRId64, int_value(s, o));
}

static const char *quantity(const struct spec_option *o, int64_t n, char *buf,
			    size_t size)
{
	return o->type == SPEC_SIZE ?
		       units_size_arg((uint64_t)n, buf, size) :
		       units_duration_arg(n, buf, size);
}

static int set_quantity(struct spec *s, const struct spec_option *o,
			const char *text, struct err *e)
{
	char min[32], max[32];
	uint64_t bytes = 0;
	int64_t n;

	if (o->type == SPEC_SIZE ? units_parse_size(text, &bytes, e) < 0 :
				   units_parse_duration(text, &n, e) < 0) {
		return -1;
	}
	n = o->type == SPEC_SIZE ? (int64_t)bytes : n;
	if (n < o->min || n > o->max) {
		return err_set(e, 0, "%s is not within %s to %s", text,
			       quantity(o, o->min, min, sizeof(min)),
			       quantity(o, o->max, max, sizeof(max)));
	}
	*(int64_t *)field(s, o) = n;
	return 0;
}

static void text_quantity(const struct spec *s, const struct spec_option *o,
			  char *buf, size_t size)
{
	quantity(o, int_value(s, o), buf, size);
}

/* ---- words ------------------------------------------------------------- */

static int set_text(struct spec *s, const struct spec_option *o,
		    const char *text, struct err *e)
{
	size_t len;

	text = o->optional_value && (!text || !text[0]) ? "-" : text;
	len = strlen(text);

	if (len == 0) {
		return err_set(e, 0, "the value is empty");
	}
	if (len >= o->size) {
		return err_set(e, 0, "the value is longer than %zu bytes",
			       o->size - 1);
	}
	memcpy(field(s, o), text, len + 1);
	return 0;
}

static int set_nodes(struct spec *s, const struct spec_option *o,
		     const char *text, struct err *e)
{
	size_t n = 0;
	char **names;

	if (text[strspn(text, NODE_CHARS)] || text[0] == '-') {
		err_set(e, 0, "'%.100s' is not a list of nodes", text);
		return err_hint(e, "write a list such as gpu[01-04,07]; to "
				   "skip interfaces, addresses and subnets of "
				   "ping: --skip");
	}
	names = hostlist_expand(text, &n, e);
	hostlist_free(names, n);
	return names ? set_text(s, o, text, e) : -1;
}

static int set_ports(struct spec *s, const struct spec_option *o,
		     const char *text, struct err *e)
{
	struct net_ports ports;

	return net_ports_parse(text, &ports, e) < 0 ? -1 :
						      set_text(s, o, text, e);
}

struct net_ports spec_ports(const struct spec *s)
{
	struct net_ports ports = { 0 };

	net_ports_parse(s->port_range, &ports, NULL);
	return ports;
}

/** One more line. */
static int set_list(struct spec *s, const struct spec_option *o,
		    const char *text, struct err *e)
{
	char *list = field(s, o);
	size_t old = strlen(list), len = strlen(text);

	if (len == 0) {
		return err_set(e, 0, "the value is empty");
	}
	if (old + len + 2 > o->size) {
		return err_set(e, 0, "all values together are longer than %zu "
			       "bytes", o->size - 2);
	}
	snprintf(list + old, o->size - old, "%s%s", old > 0 ? "\n" : "", text);
	return 0;
}

const struct spec_word *spec_word(const struct spec_option *o,
				  const char *text)
{
	for (const struct spec_word *w = o->words; w->name; w++) {
		if (strcmp(w->name, text) == 0) {
			return w;
		}
	}
	return NULL;
}

static int no_such_word(const struct spec *s, const struct spec_option *o,
			const char *text, struct err *e)
{
	const char *names[WORDS_MAX + 1] = { NULL }, *nearest;
	struct str all = STR_INIT;
	int n = 0;

	for (const struct spec_word *w = o->words; w->name && n < WORDS_MAX;
	     w++) {
		if (s->commands == 0 || spec_word_of(w, s->commands)) {
			str_addf(&all, "%s%s", n ? ", " : "", w->name);
			names[n++] = w->name;
		}
	}
	err_set(e, 0, "'%s' is not one of %s", text, str_text(&all));
	str_release(&all);
	nearest = str_nearest(text, names);
	if (nearest) {
		err_hint(e, "did you mean '%s'?", nearest);
	}
	return -1;
}

static int set_choice(struct spec *s, const struct spec_option *o,
		      const char *text, struct err *e)
{
	const bool bare = o->optional_value && (!text || !text[0]);
	const struct spec_word *w = bare ? &o->words[1] : spec_word(o, text);

	if (!w) {
		return no_such_word(s, o, text, e);
	}
	*(int64_t *)field(s, o) = w - o->words;
	return 0;
}

static int set_word(struct spec *s, const struct spec_option *o,
		    const char *text, struct err *e)
{
	return spec_word(o, text) ? set_text(s, o, text, e) :
				    no_such_word(s, o, text, e);
}

static void text_text(const struct spec *s, const struct spec_option *o,
		      char *buf, size_t size)
{
	snprintf(buf, size, "%s", (const char *)const_field(s, o));
}

static void text_choice(const struct spec *s, const struct spec_option *o,
			char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->words[int_value(s, o)].name);
}

/* ---- --local[=NxG] ----------------------------------------------------- */

static int set_local(struct spec *s, const struct spec_option *o,
		     const char *text, struct err *e)
{
	const char *x = text ? strchr(text, 'x') : NULL;
	int64_t nodes = 0, gpus = 0;
	char first[24];

	(void)o;
	if (text && text[0]) {
		if (!x || (size_t)(x - text) >= sizeof(first)) {
			err_set(e, 0, "'%s' is not of the form NxG", text);
			return err_hint(e, "2x8 is 2 nodes of 8 ranks each");
		}
		snprintf(first, sizeof(first), "%.*s", (int)(x - text), text);
		if (units_parse_int(first, 1, SPEC_MAX_NODES, &nodes, e) < 0 ||
		    units_parse_int(x + 1, 1, SPEC_MAX_GPUS, &gpus, e) < 0) {
			return err_hint(e, "2x8 is 2 nodes of 8 ranks each");
		}
	}
	s->local = true;
	s->local_nodes = nodes;
	s->local_gpus = gpus;
	return 0;
}

static void text_local(const struct spec *s, const struct spec_option *o,
		       char *buf, size_t size)
{
	(void)o;
	buf[0] = '\0';
	if (s->local_nodes) {
		snprintf(buf, size, "%" PRId64 "x%" PRId64, s->local_nodes,
			 s->local_gpus);
	}
}

static const struct type_ops types[] = {
	[SPEC_FLAG] = { .json = JSON_TRUE, .set = set_bool, .text = text_bool },
	[SPEC_BOOL] = { .json = JSON_TRUE, .argh = "0|1", .set = set_bool,
			.text = text_bool },
	[SPEC_COUNT] = { .json = JSON_INTEGER, .set = set_int,
			 .text = text_int },
	[SPEC_INT] = { .json = JSON_INTEGER, .argh = "N", .set = set_int,
		       .text = text_int },
	[SPEC_SIZE] = { .json = JSON_STRING, .argh = "SIZE",
			.set = set_quantity,
			.text = text_quantity },
	[SPEC_DURATION] = { .json = JSON_STRING, .argh = "TIME",
			    .set = set_quantity, .text = text_quantity },
	[SPEC_TEXT] = { .json = JSON_STRING, .set = set_text,
			.text = text_text },
	[SPEC_NODES] = { .json = JSON_STRING, .argh = "NODES", .set = set_nodes,
			 .text = text_text },
	[SPEC_PORTS] = { .json = JSON_STRING, .argh = "A-B", .set = set_ports,
			 .text = text_text },
	[SPEC_LIST] = { .json = JSON_STRING, .set = set_list,
			.text = text_text },
	[SPEC_CHOICE] = { .json = JSON_STRING, .set = set_choice,
			  .text = text_choice },
	[SPEC_WORD] = { .json = JSON_STRING, .set = set_word,
			.text = text_text },
	[SPEC_LOCAL] = { .json = JSON_STRING, .argh = "NxG", .set = set_local,
			 .text = text_local },
};

/* ---- of any type ------------------------------------------------------- */

int spec_set(struct spec *s, const struct spec_option *o, const char *text,
	     struct err *e)
{
	struct err why = { 0 };

	if (types[o->type].set(s, o, text, &why) == 0) {
		return 0;
	}
	err_set(e, 0, "--%s: %s", o->name, why.text);
	return why.hint[0] ? err_hint(e, "%s", why.hint) :
	       o->hint	   ? err_hint(e, "%s", o->hint) : -1;
}

const char *spec_argh(const struct spec_option *o)
{
	return o->argh ? o->argh : types[o->type].argh;
}

void spec_text(const struct spec *s, const struct spec_option *o, char *buf,
	       size_t size)
{
	types[o->type].text(s, o, buf, size);
}

void spec_take(struct spec *to, const struct spec *from,
	       const struct spec_option *o)
{
	memcpy(field(to, o), const_field(from, o), o->size);
	if (o->type == SPEC_LOCAL) {
		to->local_nodes = from->local_nodes;
		to->local_gpus = from->local_gpus;
	}
}

int spec_json_put(json_t *json, const struct spec *s,
		  const struct spec_option *o)
{
	const json_type type = types[o->type].json;
	char text[SPEC_VALUE_MAX];

	types[o->type].text(s, o, text, sizeof(text));
	/* --local without a value says no more than that */
	return json_object_set_new(json, o->name,
		type == JSON_TRUE    ? json_boolean(text[0] == '1') :
		type == JSON_INTEGER ? json_integer(int_value(s, o)) :
		text[0]		     ? json_string(text) : json_true());
}

int spec_json_take(struct spec *s, const struct spec_option *o,
		   const json_t *value, struct err *e)
{
	const json_type want = types[o->type].json;
	/* so --json was kept when it had no words */
	const bool bare = o->optional_value && json_is_true(value);
	char buf[32];

	if (!bare && !(want == JSON_TRUE ? json_is_boolean(value) :
					   json_typeof(value) == want)) {
		return err_set(e, 0, "--%s: wrong type of value", o->name);
	}
	snprintf(buf, sizeof(buf), "%" JSON_INTEGER_FORMAT,
		 json_is_true(value) ? 1 : json_integer_value(value));
	return spec_set(s, o, want == JSON_STRING ? json_string_value(value) :
						    buf, e);
}
