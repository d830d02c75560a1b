/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/allocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/grow.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"

/* ---- slurm gres ---------------------------------------------------------- */

/** More GPUs than this on one node is a misreading. */
#define MAX_GPUS ALLOCATION_MAX_GPUS
#define MAX_LINE 65536

int64_t slurm_gres_gpus(const char *gres)
{
	int64_t sum = 0;

	while (*gres) {
		/* gpu:8, gpu:a100:8, gpu:a100:8(S:0-1), gpu (one) */
		size_t n = strcspn(gres, ",(");
		size_t name = strcspn(gres, ":,(");
		const char *at = gres + n;
		int64_t count = 1;
		char digits[24];

		while (at > gres && at[-1] != ':') {
			at--;
		}
		if (name == strlen("gpu") && str_starts(gres, "gpu")) {
			/* 1 without digits, or with too many */
			snprintf(digits, sizeof(digits), "%.*s",
				 (int)strspn(at, "0123456789"), at);
			units_parse_int(digits, 0, MAX_GPUS, &count, NULL);
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

char *slurm_value(const char *line, const char *key)
{
	const size_t len = strlen(key);

	while (*line) {
		const size_t n = strcspn(line, " \t");

		if (n > len && line[len] == '=' &&
		    strncasecmp(line, key, len) == 0) {
			return strndup(line + len + 1, n - len - 1);
		}
		line += n;
		line += strspn(line, " \t");
	}
	return NULL;
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

void slurm_conf_take(struct slurm_conf_node *c, const char *text)
{
	static const char word[] = "include";
	const size_t len = sizeof(word) - 1;
	struct str whole = STR_INIT;

	while (next_line(&text, &whole)) {
		const char *line = str_text(&whole);
		char *names = slurm_value(line, "NodeName");
		char *gres = names ? slurm_value(line, "Gres") : NULL;

		if (names && strcasecmp(names, "DEFAULT") == 0) {
			c->preset = gres ? slurm_gres_gpus(gres) : c->preset;
		} else if (names && hostlist_has(names, c->node)) {
			c->listed = true;
			c->gpus = gres ? slurm_gres_gpus(gres) : c->preset;
		}
		line += strspn(line, " \t");
		if (!names && strncasecmp(line, word, len) == 0 && line[len] &&
		    strchr(" \t", line[len]) &&
		    c->n_includes < SLURM_CONF_INCLUDES) {
			line += len + strspn(line + len, " \t");
			if (strlen(line) < sizeof(c->includes[0])) {
				STR_COPY(c->includes[c->n_includes++], line);
			}
		}
		free(names);
		free(gres);
	}
	str_release(&whole);
}

/* ---- allocation ---------------------------------------------------------- */

int allocation_add(struct allocation *a, const char *nodes, size_t len,
		   int gpus, int group)
{
	struct allocation_part p = { .gpus = gpus, .group = group };

	if (a->n == ALLOCATION_MAX || gpus < 0 || gpus > ALLOCATION_MAX_GPUS ||
	    group < 0) {
		return -1;
	}
	p.nodes = strndup(nodes, len);
	/* what can be a host list; hostlist_expand() decides */
	if (!p.nodes || !p.nodes[0] || p.nodes[0] == '-' ||
	    p.nodes[strspn(p.nodes, HOSTLIST_NAME_CHARS "[],")] ||
	    !grow_add(&a->parts, &a->n, &p, sizeof(p))) {
		free(p.nodes);
		return -1;
	}
	return 0;
}

void allocation_text(const struct allocation *a, struct str *out)
{
	struct str list = STR_INIT;

	for (size_t i = 0; i < a->n; i++) {
		size_t before = 0;

		while (a->parts[before].gpus != a->parts[i].gpus) {
			before++;
		}
		if (before < i) {
			continue;	/* it is in a part already */
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

int allocation_parse(const char *text, struct allocation *a, struct err *e)
{
	for (size_t n; *text; text += n + (text[n] == ' ')) {
		const char *equals;
		char count[8] = "";
		int64_t gpus;
		size_t digits;

		/* "gpu[1-2]=8" */
		n = strcspn(text, " ");
		equals = memchr(text, '=', n);
		digits = equals ? n - (size_t)(equals + 1 - text) : n;
		if (equals && digits < sizeof(count)) {
			memcpy(count, equals + 1, digits);
		}
		if (!equals ||
		    units_parse_int(count, 0, ALLOCATION_MAX_GPUS, &gpus,
				    NULL) < 0 ||
		    allocation_add(a, text, (size_t)(equals - text), (int)gpus,
				   0) < 0) {
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
