/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/option_words.h"

#include <string.h>

#include "lib/base/str.h"

/** In no table, and taken by every command. */
static const struct spec_option help_option = {
	.name = "help", .letter = 'h', .type = SPEC_FLAG,
};

/** The one behind @o that @takes has, the first for NULL; help_option is the
 *  last, behind which comes NULL. */
static const struct spec_option *next_option(unsigned takes,
					     const struct spec_option *o)
{
	if (o == &help_option) {
		return NULL;
	}
	o = o ? o + 1 : spec_options;
	while (o->name && !(o->commands & takes)) {
		o++;
	}
	return o->name ? o : &help_option;
}

int option_word(unsigned takes, const char *word,
		const struct spec_option **found, struct err *e)
{
	const char *name = str_starts(word, "--") ? word + 2 : "";
	const size_t len = strcspn(name, "=");
	struct str all = STR_INIT;
	int n = 0;

	*found = NULL;
	for (const struct spec_option *o = NULL;
	     len > 0 && (o = next_option(takes, o));) {
		if (strncmp(o->name, name, len) != 0) {
			continue;
		}
		str_addf(&all, "%s--%s", n++ ? ", " : "", o->name);
		*found = o;
		if (!o->name[len]) {	/* it is meant, whatever else is */
			n = 1;
			break;
		}
	}
	if (n > 1) {
		*found = NULL;
		err_set(e, 0, "'%.*s' may be %s",
			(int)(len < 60 ? len : 60) + 2, word, str_text(&all));
		err_hint(e, "type as much of it as no other begins with");
	}
	str_release(&all);
	return n > 1 ? -1 : 0;
}

/** Does popt take the word behind @word, a cluster of letters such as "-qN",
 *  for the value of its last? */
static bool letters_take_next(unsigned takes, const char *word)
{
	const struct spec_option *o = NULL;

	if (word[0] != '-' || word[1] == '-') {
		return false;
	}
	for (const char *c = word + 1; *c; c++) {
		do {
			o = next_option(takes, o);
		} while (o && o->letter != *c);
		if (!o || spec_has_value(o)) {
			return o && !c[1];
		}
		o = NULL;
	}
	return false;
}

/** The long option @o with its @value, which may be NULL, to @out.  Returns
 *  whether the next word is its value. */
static bool add_option(const struct spec_option *o, const char *value,
		       struct args *out)
{
	if (o == &help_option && value && strcmp(value, "all") == 0) {
		args_add(out, "--" OPTION_WORDS_HELP_ALL);
	} else if (value) {
		args_addf(out, "--%s=%s", o->name, value);
	} else if (o->type == SPEC_FLAG && o != &help_option) {
		args_addf(out, "--%s=1", o->name);
	} else if (o->type == SPEC_COUNT) {
		args_addf(out, "-%c", o->letter);
	} else if (o->optional_value) {
		args_addf(out, "--%s=", o->name);
	} else {
		args_addf(out, "--%s", o->name);
		return o != &help_option;
	}
	return false;
}

int option_words(unsigned takes, char *const argv[], struct args *out,
		 struct err *e)
{
	const struct spec_option *o;
	bool is_value = false;
	int n = 0;

	for (; argv[n] && strcmp(argv[n], "--") != 0; n++) {
		const char *value = strchr(argv[n], '=');

		if (is_value) {
			args_add(out, argv[n]);
			is_value = false;
			continue;
		}
		if (option_word(takes, argv[n], &o, e) < 0) {
			return -1;
		}
		if (o) {
			is_value = add_option(o, value ? value + 1 : NULL,
					      out);
		} else {
			args_add(out, argv[n]);
			is_value = letters_take_next(takes, argv[n]);
		}
	}
	return n;
}
