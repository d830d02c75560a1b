/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/allocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"

/* ---- slurm gres ---------------------------------------------------------- */

/** More GPUs than this on one node is a misreading. */
#define MAX_GPUS ALLOCATION_MAX_GPUS
#define MAX_LINE 65536

/** The digits that @text starts with into @out; as it was where there are none,
 *  or too many. */
static void take_number(const char *text, int64_t *out)
{
	char digits[24];
	size_t n = strspn(text, "0123456789");

	if (n > 0 && n < sizeof(digits)) {
		memcpy(digits, text, n);
		digits[n] = '\0';
		units_parse_int(digits, 0, MAX_GPUS, out, NULL);
	}
}

int64_t slurm_gres_gpus(const char *gres)
{
	int64_t sum = 0;

	while (*gres) {
		/* gpu:8, gpu:a100:8, gpu:a100:8(S:0-1), gpu (one) */
		size_t n = strcspn(gres, ",(");
		size_t name = strcspn(gres, ":,(");
		const char *at = gres + n;
		int64_t count = 1;

		while (at > gres && at[-1] != ':') {
			at--;
		}
		if (name == strlen("gpu") && str_starts(gres, "gpu")) {
			take_number(at, &count);
			sum += count;
		}
		gres += n;
		if (*gres == '(') {	/* may hold commas of its own */
			gres += strcspn(gres, ")");
			gres += strcspn(gres, ",");
		}
		gres += *gres == ',';
	}
	return sum > MAX_GPUS ? MAX_GPUS : sum;
}

/* ---- slurm.conf ---------------------------------------------------------- */

/** The next line of *@text into @line, those that end in a backslash joined
 *  and comments cut; false at the end. */
static bool next_line(const char **text, struct str *line)
{
	bool more = **text != '\0';

	str_reset(line);
	while (more && line->len < MAX_LINE) {
		size_t n = strcspn(*text, "\n"), used = n;
		const char *at = *text;
		const char *hash = memchr(at, '#', n);

		*text += n + ((*text)[n] == '\n');
		used = hash ? (size_t)(hash - at) : used;
		while (used > 0 && strchr(" \t\r", at[used - 1])) {
			used--;
		}
		more = used > 0 && at[used - 1] == '\\' && **text;
		str_addmem(line, at, used - (used > 0 && at[used - 1] == '\\'));
		if (!more) {
			return true;
		}
	}
	return line->len > 0;
}

/** The value of the word "@key=VALUE" of @line into @buf; false: none has it,
 *  or it does not fit. */
static bool word_value(const char *line, const char *key, char *buf,
		       size_t size)
{
	size_t len = strlen(key), n;

	for (line += strspn(line, " \t"); *line;
	     line += n, line += strspn(line, " \t")) {
		n = strcspn(line, " \t");
		if (n > len && n - len <= size && line[len] == '=' &&
		    strncasecmp(line, key, len) == 0) {
			snprintf(buf, size, "%.*s", (int)(n - len - 1),
				 line + len + 1);
			return true;
		}
	}
	return false;
}

static void take_include(struct slurm_conf_node *c, const char *line)
{
	static const char word[] = "include";
	const size_t len = sizeof(word) - 1;

	line += strspn(line, " \t");
	if (strncasecmp(line, word, len) != 0 || !line[len] ||
	    !strchr(" \t", line[len]) ||
	    c->n_includes >= SLURM_CONF_INCLUDES) {
		return;
	}
	line += len + strspn(line + len, " \t");
	if (strlen(line) < sizeof(c->includes[0])) {
		snprintf(c->includes[c->n_includes++],
			 sizeof(c->includes[0]), "%s", line);
	}
}

static void take_line(struct slurm_conf_node *c, const char *line,
		      char *names, size_t size)
{
	char gres[1024] = "";
	bool says;

	if (!word_value(line, "NodeName", names, size)) {
		take_include(c, line);
		return;
	}
	says = word_value(line, "Gres", gres, sizeof(gres));
	if (strcasecmp(names, "DEFAULT") == 0) {
		c->preset = says ? slurm_gres_gpus(gres) : c->preset;
	} else if (hostlist_has(names, c->node)) {
		c->listed = true;
		c->gpus = says ? slurm_gres_gpus(gres) : c->preset;
	}
}

void slurm_conf_take(struct slurm_conf_node *c, const char *text)
{
	struct str line = STR_INIT, names = STR_INIT;

	while (next_line(&text, &line)) {
		str_reset(&names);
		str_add(&names, str_text(&line));	/* room for a word */
		if (names.len > 0 && !names.failed) {
			take_line(c, str_text(&line), names.data,
				  names.len + 1);
		}
	}
	str_release(&line);
	str_release(&names);
}

/* ---- allocation ---------------------------------------------------------- */

/** Return true if @nodes may be a host list; hostlist_expand() decides. */
static bool is_list(const char *nodes)
{
	const size_t len = strlen(nodes);

	return len > 0 && *nodes != '-' &&
	       strspn(nodes, HOSTLIST_NAME_CHARS "[],") == len;
}

int allocation_add(struct allocation *a, const char *nodes, size_t len,
		   int gpus, int group)
{
	struct allocation_part p = { .gpus = gpus, .group = group };
	struct allocation_part *grown;

	if (a->n == ALLOCATION_MAX || gpus < 0 || gpus > ALLOCATION_MAX_GPUS ||
	    group < 0) {
		return -1;
	}
	p.nodes = strndup(nodes, len);
	grown = p.nodes && is_list(p.nodes) ?
			realloc(a->parts, (a->n + 1) * sizeof(p)) : NULL;
	if (!grown) {
		free(p.nodes);
		return -1;
	}
	a->parts = grown;
	a->parts[a->n++] = p;
	return 0;
}

/** Return true if a part before number @i has the same number of GPUs. */
static bool is_said(const struct allocation *a, size_t i)
{
	size_t k = 0;

	while (k < i && a->parts[k].gpus != a->parts[i].gpus) {
		k++;
	}
	return k < i;
}

void allocation_text(const struct allocation *a, struct str *out)
{
	struct str list = STR_INIT;

	for (size_t i = 0; i < a->n; i++) {
		if (is_said(a, i)) {
			continue;
		}
		str_reset(&list);
		for (size_t k = i; k < a->n; k++) {
			if (a->parts[k].gpus == a->parts[i].gpus) {
				str_addf(&list, "%s%s", list.len ? "," : "",
					 a->parts[k].nodes);
			}
		}
		str_add(out, i ? " " : "");
		hostlist_shorten(out, str_text(&list));
		str_addf(out, "=%d", a->parts[i].gpus);
	}
	out->failed |= list.failed;
	str_release(&list);
}

/** "gpu[1-2]=8", @len bytes. */
static int parse_part(const char *text, size_t len, struct allocation *a)
{
	const char *equals = memchr(text, '=', len);
	char count[8] = "";
	int64_t gpus;

	if (!equals || len - (size_t)(equals + 1 - text) >= sizeof(count)) {
		return -1;
	}
	memcpy(count, equals + 1, len - (size_t)(equals + 1 - text));
	return units_parse_int(count, 0, ALLOCATION_MAX_GPUS, &gpus, NULL) < 0 ?
		       -1 : allocation_add(a, text, (size_t)(equals - text),
					   (int)gpus, 0);
}

int allocation_parse(const char *text, struct allocation *a, struct err *e)
{
	for (size_t n; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (parse_part(text, n, a) < 0) {
			allocation_release(a);
			return err_set(e, EINVAL, "'%.80s' is not NODES=GPUS",
				       text);
		}
	}
	return 0;
}

int allocation_gpus(const struct allocation *a, const char *node)
{
	for (size_t i = 0; i < a->n; i++) {
		if (hostlist_has(a->parts[i].nodes, node)) {
			return a->parts[i].gpus;
		}
	}
	return -1;
}

void allocation_release(struct allocation *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->parts[i].nodes);
	}
	free(a->parts);
	*a = (struct allocation){ 0 };
}
