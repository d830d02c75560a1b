/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "probes/nccl/log.h"

#define AXES_MAX   16
#define VALUES_MAX VARIANTS_MAX

/** One thing that varies. */
struct axis {
	const char *option;	/* what the user typed to have it vary */
	char name[64];		/* of the variable */
	const char *const *words;	/* NULL: any value goes */
	bool many;		/* of its kind: the name is part of variants' */
	json_t *values;
};

struct axes {
	int n;
	struct axis axis[AXES_MAX];
};

/** The word as NCCL spells it; NULL when it knows none such. */
static const char *known_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i] != NULL; i++) {
		if (strcasecmp(words[i], text) == 0) {
			return words[i];
		}
	}
	return NULL;
}

static int no_such_word(const struct axis *x, const char *text, struct err *e)
{
	struct str all = STR_INIT;
	const char *nearest = str_nearest(text, x->words);

	for (int i = 0; x->words[i] != NULL; i++) {
		str_addf(&all, "%s%s", i > 0 ? ", " : "", x->words[i]);
	}
	err_set(e, 0, "%s: '%.40s' is not one of %s", x->option, text,
		str_text(&all));
	str_release(&all);
	return nearest != NULL ?
		       err_hint(e, "did you mean '%s'?", nearest) :
		       err_hint(e, "for an NCCL with other values: --env "
				   "%s=%.40s", x->name, text);
}

static int add_value(struct axis *x, const char *text, struct err *e)
{
	const char *word = text;

	if (text[0] == '\0') {
		return err_set(e, 0, "%s: a value of the list is empty",
			       x->option);
	}
	if (x->words != NULL) {
		word = known_word(x->words, text);
	}
	if (word == NULL) {
		return no_such_word(x, text, e);
	}
	if (json_array_size(x->values) == VALUES_MAX) {
		return err_set(e, 0, "%s: more than %d values", x->option,
			       VALUES_MAX);
	}
	return json_array_append_new(x->values, json_string(word)) == 0 ?
		       0 : err_set(e, 0, "a value is not UTF-8");
}

/** Values between commas; "\," is a comma that belongs to one. */
static int add_values(struct axis *x, const char *list, struct err *e)
{
	struct str one = STR_INIT;
	int rc = 0;

	for (const char *at = list; rc == 0; at++) {
		if (*at == '\\' && at[1] == ',') {
			str_addch(&one, *++at);
		} else if (*at != ',' && *at != '\0') {
			str_addch(&one, *at);
		} else {
			rc = add_value(x, str_text(&one), e);
			str_reset(&one);
			if (*at == '\0') {
				break;
			}
		}
	}
	str_release(&one);
	return rc;
}

static struct axis *new_axis(struct axes *a, const char *option,
			     const char *name, struct err *e)
{
	struct axis *x = &a->axis[a->n];

	for (int i = 0; i < a->n; i++) {
		if (strcmp(a->axis[i].name, name) == 0) {
			err_set(e, 0, "--env: %s is already set by %s", name,
				a->axis[i].option);
			err_hint(e, "write all of its values in one list");
			return NULL;
		}
	}
	if (a->n == AXES_MAX) {
		err_set(e, 0, "more than %d settings to vary", AXES_MAX);
		return NULL;
	}
	a->n++;
	x->option = option;
	STR_COPY(x->name, name);
	x->values = json_array();
	return x;
}

static int add_words(struct axes *a, const char *option, const char *name,
		     const char *const *words, const char *list,
		     struct err *e)
{
	struct axis *x;

	if (list[0] == '\0') {
		return 0;
	}
	x = new_axis(a, option, name, e);
	if (x == NULL) {
		return -1;
	}
	x->words = words;
	return add_values(x, list, e);
}

static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalpha((unsigned char)text[i]) && text[i] != '_' &&
		    (i == 0 || !isdigit((unsigned char)text[i]))) {
			return false;
		}
	}
	return len > 0 && len < sizeof(((struct axis *)NULL)->name);
}

/** NAME=A,B */
static int add_variable(struct axes *a, const char *text, struct err *e)
{
	size_t len = strcspn(text, "=");
	char name[64];
	struct axis *x;

	if (text[len] != '=' || !is_name(text, len)) {
		err_set(e, 0, "--env: '%.80s' is not of the form NAME=A,B",
			text);
		return err_hint(e, "such as --env NCCL_NTHREADS=256,512");
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	x = new_axis(a, "--env", name, e);
	if (x == NULL) {
		return -1;
	}
	x->many = true;
	return add_values(x, text + len + 1, e);
}

/** @add for each line of @lines. */
static int each_line(struct axes *a, const char *lines,
		     int (*add)(struct axes *, const char *, struct err *),
		     struct err *e)
{
	char line[SPEC_LIST_MAX];
	int rc = 0;

	while (rc == 0 && *lines != '\0') {
		size_t len = strcspn(lines, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)len, lines);
		rc = add(a, line, e);
		lines += len + (lines[len] == '\n');
	}
	return rc;
}

static int add_lib(struct axes *a, const char *path, struct err *e)
{
	struct axis *x = a->n > 0 ? &a->axis[a->n - 1] : NULL;

	if (x == NULL || strcmp(x->name, "GPUCHECK_NCCL_LIB") != 0) {
		x = new_axis(a, "--nccl-lib", "GPUCHECK_NCCL_LIB", e);
	}
	if (x != NULL && strlen(path) >= sizeof(((struct variant *)0)->lib)) {
		return err_set(e, 0, "--nccl-lib: '%.40s...' is too long",
			       path);
	}
	return x != NULL ? add_value(x, path, e) : -1;
}

/* ---- one variant --------------------------------------------------------- */

/** Return true if @path ends with @tail, whole folders and a file. */
static bool ends_with(const char *path, const char *tail)
{
	size_t n = strlen(path), t = strlen(tail);

	return str_ends(path, tail) && (n == t || path[n - t - 1] == '/');
}

/** As much of the end of @path as tells it from the other paths of @x: two
 *  builds of a library have one file name. */
static const char *short_path(const struct axis *x, const char *path)
{
	const char *at = path + strlen(path), *tail;
	json_t *other;
	size_t i;
	int alike;

	do {
		while (at > path && *--at != '/') {
		}
		tail = at + (*at == '/');
		alike = 0;
		json_array_foreach(x->values, i, other) {
			alike += ends_with(json_string_value(other), tail);
		}
	} while (alike > 1 && at > path);
	return tail;
}

/** The part of a variant's name that tells this value from the others. */
static void add_to_name(struct variant *v, const struct axis *x,
			const char *value)
{
	size_t at = strlen(v->name);

	if (strcmp(x->name, "GPUCHECK_NCCL_LIB") == 0) {
		value = short_path(x, value);
	}
	snprintf(v->name + at, sizeof(v->name) - at, "%s%s%s%s",
		 at > 0 ? " " : "", x->many ? x->name : "",
		 x->many ? "=" : "", value);
}

static void set_value(struct variant *v, const struct axis *x, json_t *json)
{
	const char *value = json_string_value(json);

	if (strcmp(x->name, "NCCL_ALGO") == 0) {
		STR_COPY(v->algo, value);
	} else if (strcmp(x->name, "NCCL_PROTO") == 0) {
		STR_COPY(v->proto, value);
	} else if (strcmp(x->name, "GPUCHECK_NCCL_LIB") == 0) {
		STR_COPY(v->lib, value);
	}
	add_to_name(v, x, value);
	json_object_set(v->env, x->name, json);
}

/** Names are the key of rows: two that were cut alike get a number. */
static void tell_apart(struct variant *v, int n)
{
	for (int i = 1; i < n; i++) {
		for (int k = 0; k < i; k++) {
			if (strcmp(v[i].name, v[k].name) == 0) {
				/* room for "~" and any number */
				v[i].name[sizeof(v[i].name) - 12] = '\0';
				snprintf(v[i].name + strlen(v[i].name), 12,
					 "~%d", i + 1);
			}
		}
	}
}

static int expand(const struct axes *a, struct variant *v, struct err *e)
{
	int n = 1;

	for (int i = 0; i < a->n; i++) {
		n *= (int)json_array_size(a->axis[i].values);
		if (n > VARIANTS_MAX) {
			return err_set(e, 0, "more than %d variants to "
				       "compare", VARIANTS_MAX);
		}
	}
	for (int k = 0; k < n; k++) {
		size_t rest = (size_t)k, of = (size_t)n;

		v[k] = (struct variant){ .env = json_object() };
		for (int i = 0; i < a->n; i++) {
			const struct axis *x = &a->axis[i];

			of /= json_array_size(x->values);
			set_value(&v[k], x,
				  json_array_get(x->values, rest / of));
			rest %= of;
		}
	}
	tell_apart(v, n);
	return n;
}

int variants_make(const struct spec *s, struct variant v[VARIANTS_MAX],
		  struct err *e)
{
	struct axes a = { 0 };
	int n = -1;

	if (each_line(&a, s->nccl_libs, add_lib, e) == 0 &&
	    add_words(&a, "--algo", "NCCL_ALGO", nccl_algos, s->algo, e) == 0 &&
	    add_words(&a, "--proto", "NCCL_PROTO", nccl_protos, s->proto, e) ==
		    0 &&
	    each_line(&a, s->env, add_variable, e) == 0) {
		n = expand(&a, v, e);
	}
	for (int i = 0; i < a.n; i++) {
		json_decref(a.axis[i].values);
	}
	return n;
}

void variants_release(struct variant *v, int n)
{
	for (int i = 0; i < n; i++) {
		json_decref(v[i].env);
		v[i].env = NULL;
	}
}
