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
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
		   "0123456789_"

/** One thing that varies. */
struct axis {
	const char *option;	/* what the user typed to have it vary */
	char name[64];		/* of the variable */
	const char *const *words;	/* NULL: any value goes */
	bool many;		/* of its kind: the name is part of variants' */
	json_t *values;		/* NULL: there is no such axis, and none after
				 * it */
};

/** Adds @text to the values of @x, as NCCL spells it if only some words go. */
static int add_value(struct axis *x, const char *text, struct err *e)
{
	const char *word = text, *nearest;
	struct str all = STR_INIT;
	int i = 0;

	if (text[0] == '\0') {
		return err_set(e, 0, "%s: a value of the list is empty",
			       x->option);
	}
	if (x->words != NULL) {
		while (x->words[i] != NULL &&
		       strcasecmp(x->words[i], text) != 0) {
			i++;
		}
		word = x->words[i];
	}
	if (word == NULL) {
		nearest = str_nearest(text, x->words);
		for (i = 0; x->words[i] != NULL; i++) {
			str_addf(&all, "%s%s", i > 0 ? ", " : "", x->words[i]);
		}
		err_set(e, 0, "%s: '%.40s' is not one of %s", x->option, text,
			str_text(&all));
		str_release(&all);
		return nearest != NULL ?
			       err_hint(e, "did you mean '%s'?", nearest) :
			       err_hint(e, "for an NCCL with other values: "
					   "--env %s=%.40s", x->name, text);
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

static struct axis *new_axis(struct axis axes[AXES_MAX], const char *option,
			     const char *name, struct err *e)
{
	int i = 0;

	while (i < AXES_MAX && axes[i].values != NULL &&
	       strcmp(axes[i].name, name) != 0) {
		i++;
	}
	if (i == AXES_MAX) {
		err_set(e, 0, "more than %d settings to vary", AXES_MAX);
		return NULL;
	}
	if (axes[i].values != NULL) {
		err_set(e, 0, "--env: %s is already set by %s", name,
			axes[i].option);
		err_hint(e, "write all of its values in one list");
		return NULL;
	}
	axes[i].option = option;
	STR_COPY(axes[i].name, name);
	axes[i].values = json_array();
	return &axes[i];
}

static int add_words(struct axis *a, const char *option, const char *name,
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

/** NAME=A,B */
static int add_variable(struct axis *a, const char *text, struct err *e)
{
	size_t len = strcspn(text, "=");
	char name[64];
	struct axis *x;

	if (text[len] != '=' || len == 0 || len >= sizeof(name) ||
	    isdigit((unsigned char)text[0]) ||
	    strspn(text, NAME_CHARS) < len) {
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
static int each_line(struct axis *a, const char *lines,
		     int (*add)(struct axis *, const char *, struct err *),
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

static int add_lib(struct axis *a, const char *path, struct err *e)
{
	/* the first axis of all, as libraries come first */
	struct axis *x = a->values != NULL ? a :
		new_axis(a, "--nccl-lib", "GPUCHECK_NCCL_LIB", e);

	if (x != NULL && strlen(path) >= sizeof(((struct variant *)0)->lib)) {
		return err_set(e, 0, "--nccl-lib: '%.40s...' is too long",
			       path);
	}
	return x != NULL ? add_value(x, path, e) : -1;
}

/* ---- one variant --------------------------------------------------------- */

/** Sets the value @json of @x in the environment of @v, and adds to the name of
 *  @v the part that tells this value from the others. */
static void set_value(struct variant *v, const struct axis *x, json_t *json)
{
	const char *value = json_string_value(json), *tail = value;
	const char *at = value + strlen(value);
	size_t end = strlen(v->name), i;
	int alike = 2;
	json_t *other;

	json_object_set(v->env, x->name, json);
	if (strcmp(x->name, "NCCL_ALGO") == 0) {
		STR_COPY(v->algo, value);
	} else if (strcmp(x->name, "NCCL_PROTO") == 0) {
		STR_COPY(v->proto, value);
	} else if (strcmp(x->name, "GPUCHECK_NCCL_LIB") == 0) {
		STR_COPY(v->lib, value);
		/* Two builds of a library have one file name: as much of the
		 * end of the path as tells it from the others, whole folders
		 * and a file. */
		while (alike > 1 && at > value) {
			while (at > value && *--at != '/') {
			}
			tail = at + (*at == '/');
			alike = 0;
			json_array_foreach(x->values, i, other) {
				const char *path = json_string_value(other);
				size_t n = strlen(path), t = strlen(tail);

				alike += str_ends(path, tail) &&
					 (n == t || path[n - t - 1] == '/');
			}
		}
	}
	snprintf(v->name + end, sizeof(v->name) - end, "%s%s%s%s",
		 end > 0 ? " " : "", x->many ? x->name : "",
		 x->many ? "=" : "", tail);
}

/* ---- named variants ------------------------------------------------------ */

/** Set VAR=VALUE of --variant in @v. */
static int add_setting(struct variant *v, const char *text, struct err *e)
{
	const char *const *words;
	size_t len = strcspn(text, "=");
	struct axis x = { .option = "--variant", .many = true };
	char name[sizeof(v->name)];

	if (text[len] != '=' || len == 0 || len >= sizeof(x.name) ||
	    isdigit((unsigned char)text[0]) ||
	    strspn(text, NAME_CHARS) < len) {
		err_set(e, 0, "--variant: '%.80s' is not of the form VAR=VALUE",
			text);
		return err_hint(e, "such as --variant=ring:NCCL_ALGO=Ring");
	}
	snprintf(x.name, sizeof(x.name), "%.*s", (int)len, text);
	words = strcmp(x.name, "NCCL_ALGO") == 0  ? nccl_algos :
		strcmp(x.name, "NCCL_PROTO") == 0 ? nccl_protos : NULL;
	/* several algorithms, or all but one, are NCCL's to read */
	x.words = strpbrk(text + len, ",;^") ? NULL : words;
	x.values = json_array();
	if (add_value(&x, text + len + 1, e) < 0) {
		json_decref(x.values);
		return -1;
	}
	STR_COPY(name, v->name);
	set_value(v, &x, json_array_get(x.values, 0));
	STR_COPY(v->name, name);
	json_decref(x.values);
	return 0;
}

/** NAME:VAR=VALUE,... into @v; "\\," is a comma of a value. */
static int take_named(struct variant *v, const char *line, struct err *e)
{
	size_t len = strcspn(line, ":");
	struct str one = STR_INIT;
	int rc = 0;

	*v = (struct variant){ .env = json_object() };
	if (line[len] != ':' || len == 0 || len >= sizeof(v->name) - 12 ||
	    memchr(line, '=', len)) {
		err_set(e, 0, "--variant: '%.80s' is not of the form "
			"NAME:VAR=VALUE,...", line);
		return err_hint(e, "such as --variant=ring:NCCL_ALGO=Ring");
	}
	snprintf(v->name, sizeof(v->name), "%.*s", (int)len, line);
	for (const char *at = line + len + 1; rc == 0; at++) {
		if (*at == '\\' && at[1] == ',') {
			str_addch(&one, *++at);
		} else if (*at != ',' && *at != '\0') {
			str_addch(&one, *at);
		} else {
			/* a name alone has NCCL's own settings */
			rc = one.len > 0 || *at == ',' ?
				     add_setting(v, str_text(&one), e) : 0;
			str_reset(&one);
			if (*at == '\0') {
				break;
			}
		}
	}
	str_release(&one);
	return rc;
}

/** The variants of --variant; returns how many, -1 with @e. */
static int make_named(const char *lines, struct variant v[VARIANTS_MAX],
		      struct err *e)
{
	char line[SPEC_LIST_MAX];
	int n = 0, rc = 0;

	for (; rc == 0 && *lines != '\0'; n += rc == 0) {
		size_t len = strcspn(lines, "\n");

		if (n == VARIANTS_MAX) {
			rc = err_set(e, 0, "more than %d variants to compare",
				     VARIANTS_MAX);
			break;
		}
		snprintf(line, sizeof(line), "%.*s", (int)len, lines);
		lines += len + (lines[len] == '\n');
		rc = take_named(&v[n], line, e);
		for (int k = 0; rc == 0 && k < n; k++) {
			if (strcmp(v[k].name, v[n].name) == 0) {
				rc = err_set(e, 0, "--variant: two are called "
					     "'%s'", v[n].name);
			}
		}
		if (rc < 0) {
			json_decref(v[n].env);
		}
	}
	if (rc < 0) {
		variants_release(v, n);
	}
	return rc < 0 ? -1 : n;
}

int variants_make(const struct spec *s, struct variant v[VARIANTS_MAX],
		  struct err *e)
{
	struct axis axes[AXES_MAX + 1] = { 0 };
	int n = 1;

	if (s->variants[0]) {
		return make_named(s->variants, v, e);
	}
	if (each_line(axes, s->nccl_libs, add_lib, e) < 0 ||
	    add_words(axes, "--algo", "NCCL_ALGO", nccl_algos, s->algo, e) <
		    0 ||
	    add_words(axes, "--proto", "NCCL_PROTO", nccl_protos, s->proto, e) <
		    0 ||
	    each_line(axes, s->env, add_variable, e) < 0 ||
	    add_words(axes, "--register", REGISTER_ENV, NULL,
		      s->reg == REGISTER_SYMMETRIC ? "plain,symmetric" : "",
		      e) < 0) {
		n = -1;
	}
	for (const struct axis *x = axes; n > 0 && x->values; x++) {
		n *= (int)json_array_size(x->values);
		if (n > VARIANTS_MAX) {
			n = err_set(e, 0, "more than %d variants to compare",
				    VARIANTS_MAX);
		}
	}
	for (int k = 0; k < n; k++) {
		size_t rest = (size_t)k, of = (size_t)n;

		v[k] = (struct variant){ .env = json_object() };
		for (const struct axis *x = axes; x->values; x++) {
			of /= json_array_size(x->values);
			set_value(&v[k], x,
				  json_array_get(x->values, rest / of));
			rest %= of;
		}
	}
	/* names are the key of rows: two that were cut alike get a number */
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
	for (const struct axis *x = axes; x->values; x++) {
		json_decref(x->values);
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
