/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/spec/spec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/hosts.h"

int64_t spec_hosted(const struct spec *s)
{
	/* what looks at nodes has an agent look at one */
	return s->local && s->local_nodes > SPEC_MODEL_ALONE &&
			       !(s->commands & SPEC_CMD_GPU) &&
			       !s->exclude[0] && !s->nodelist[0] &&
			       spec_transport_is(s->transport, XPORT_MODEL) ?
		       (s->local_nodes + SPEC_MODEL_AGENTS - 1) /
			       SPEC_MODEL_AGENTS : 1;
}

int64_t spec_boot_ns(const struct spec *s)
{
	return s->boot_timeout_ns ? s->boot_timeout_ns : 30 * NS_PER_S;
}

int64_t spec_boot_first_ns(const struct spec *s, bool step)
{
	return s->start_timeout_ns	     ? s->start_timeout_ns
	       : step && !s->boot_timeout_ns ? 15 * 60 * NS_PER_S
					     : spec_boot_ns(s);
}

/** Constant, not made for each question: every process asks 400 times whether
 *  an option is as it is here, and 100 KB of zeros each time are 2 ms of its
 *  start. */
static const struct spec defaults = {
	.transport = "auto",
	.pairs = "default",
	.schedule = SCHEDULE_NIC,
	.size_factor = 2,
	.warmup = 1,
	.check = true,
	.max_jobs = 1000,
	.dtype = "float",
	.redop = "sum",
	.silence_ns = 15 * NS_PER_S,
	.seed = 1,
	.gid_index = -1, .qps = -1,
	.tx_depth = 128,
	.traffic_class = -1,
	.service_level = -1,
	.pkey_index = -1,
	.qp_timeout = 14,
	.qp_retries = 7,
	.method = "auto",
	.interval_ns = 100 * NS_PER_MS,
	.size_B = 56,
	.compute_ns = 2 * NS_PER_S,
	.last = 100,
	.lasting_ns = INT64_C(720) * 3600 * NS_PER_S,
};

void spec_init(struct spec *s)
{
	*s = defaults;
}

/** One word at @*text, unquoted, to @*out, which both move on; false: a quote
 *  or backslash that the text ends in. */
static bool take_word(const char **text, char **out)
{
	char quote = '\0';

	for (; **text && (quote || !strchr(" \t\n", **text)); ++*text) {
		const char c = **text;

		if (c == quote) {
			quote = '\0';
		} else if (!quote && (c == '\'' || c == '"')) {
			quote = c;
		} else if (c == '\\' && quote != '\'' && !*++*text) {
			return false;
		} else {
			*(*out)++ = **text;
		}
	}
	*(*out)++ = '\0';
	return !quote;
}

char **spec_words(const char *text)
{
	/* each word is followed by a byte at least, be it the last */
	const size_t most = strlen(text) / 2 + 2;
	char **words = malloc(most * sizeof(*words) + strlen(text) + 1);
	char *out = words ? (char *)(words + most) : NULL;
	size_t n = 0;

	while (words && *(text += strspn(text, " \t\n"))) {
		words[n++] = out;
		if (!take_word(&text, &out)) {
			free(words);
			words = NULL;
		}
	}
	if (words) {
		words[n] = NULL;
	}
	return words;
}

bool spec_leaves_out(const struct spec *s, const char *name)
{
	return (s->nodelist[0] && !hostlist_has(s->nodelist, name)) ||
	       hostlist_has(s->exclude, name);
}

int64_t spec_nodes_left(const struct spec *s, const char *list,
			struct str *out)
{
	size_t n = 0;
	char **names = list[0] ? hostlist_expand(list, &n, NULL) : NULL;
	int64_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (spec_leaves_out(s, names[i])) {
			continue;
		}
		if (out) {
			str_addf(out, "%s%s", left ? "," : "", names[i]);
		}
		left++;
	}
	hostlist_free(names, n);
	return left;
}

int spec_check_ranks(const struct spec *s, struct err *e)
{
	/* 0 when that is not known before the run */
	int64_t ranks = s->local ? s->local_nodes * s->local_gpus :
				   s->nodes * s->gpus_per_node;

	if (ranks > SPEC_MAX_RANKS) {
		err_set(e, 0, "%" PRId64 " ranks in total, at most %d can "
			"be measured in one run", ranks, SPEC_MAX_RANKS);
		return err_hint(e, "use several runs with fewer nodes, each "
				   "with its own --nodelist or -N");
	}
	if (ranks != 1) {
		return 0;
	}
	err_set(e, 0, "1 rank in total, at least 2 are needed");
	return err_hint(e, "use more nodes or more ranks per node, such as "
			   "--local=2x8 or -N 2 -G 8");
}

/* ---- run.json ---------------------------------------------------------- */

bool spec_same(const struct spec *a, const struct spec *b,
	       const struct spec_option *o)
{
	char x[SPEC_VALUE_MAX], y[SPEC_VALUE_MAX];

	if (o->type == SPEC_LOCAL && (!a->local || !b->local)) {
		return a->local == b->local;
	}
	spec_text(a, o, x, sizeof(x));
	spec_text(b, o, y, sizeof(y));
	return strcmp(x, y) == 0;
}

bool spec_is_default(const struct spec *s, const struct spec_option *o)
{
	return spec_same(s, &defaults, o);
}

json_t *spec_json(const struct spec *s)
{
	json_t *json = json_object();

	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (!spec_same(s, &defaults, o) &&
		    spec_json_put(json, s, o) < 0) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

json_t *spec_json_get(const json_t *json, const struct spec_option *o)
{
	json_t *value = json_object_get(json, o->name);

	return value || !o->was ? value : json_object_get(json, o->was);
}

int spec_from_json(struct spec *s, const json_t *json, struct err *e)
{
	struct spec new;
	const char *key;
	json_t *value;

	if (!json_is_object(json)) {
		return err_set(e, 0, "the options are not a JSON object");
	}
	spec_init(&new);
	json_object_foreach((json_t *)json, key, value) {
		const struct spec_option *o = spec_find(key);

		if (!o) {
			return err_set(e, 0, "unknown option '%s'", key);
		}
		if (spec_json_take(&new, o, value, e) < 0) {
			return -1;
		}
	}
	*s = new;
	return 0;
}

int spec_sizes(const struct spec *s, int64_t begin_B, int64_t end_B,
	       int64_t sizes[SPEC_MAX_SIZES])
{
	int64_t begin = s->size_begin_B ? s->size_begin_B : begin_B;
	int64_t end = s->size_end_B   ? s->size_end_B :
		      s->size_begin_B ? begin : end_B;
	int n = 0;

	if (!s->size_begin_B && s->size_end_B && begin > end) {
		begin = end;	/* below the usual: that size alone */
	}
	for (int64_t b = begin; b <= end; b *= s->size_factor) {
		if (n == SPEC_MAX_SIZES) {
			return -1;
		}
		sizes[n++] = b;
		if (b > INT64_MAX / s->size_factor) {
			break;
		}
	}
	return n;
}
