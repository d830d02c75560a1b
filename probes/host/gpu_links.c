/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_links.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

const char *const gpu_link_facts[GPU_LINK_COUNTS] = {
	"nvlink_replays", "nvlink_recoveries", "nvlink_crc_errors",
};

static bool is_up(const struct gpu_links *l, unsigned int k)
{
	return k < NVML_LINKS_MAX && (l->up >> k & 1) != 0;
}

/* One after @k that is not up, or has counted otherwise. */
static unsigned int run_end(const struct gpu_links *l, unsigned int k,
			    bool counts)
{
	unsigned int end = k + 1;

	while (is_up(l, end) &&
	       (!counts || memcmp(l->counts[end], l->counts[k],
				  sizeof(l->counts[k])) == 0)) {
		end++;
	}
	return end;
}

static void add_run(const struct gpu_links *l, unsigned int k,
		    unsigned int end, bool counts, struct str *out)
{
	str_addf(out, "%s%u", out->len > 0 ? " " : "", k);
	if (end > k + 1) {
		str_addf(out, "-%u", end - 1);
	}
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		str_add(out, c == 0 ? ":" : "/");
		if (counts && l->counts[k][c] != GPU_LINK_UNKNOWN) {
			str_addf(out, "%" PRIu64, l->counts[k][c]);
		} else {
			str_add(out, "-");
		}
	}
}

static void add_runs(const struct gpu_links *l, bool counts, struct str *out)
{
	unsigned int k, end;

	str_reset(out);
	for (k = 0; k < NVML_LINKS_MAX; k = end) {
		end = k + 1;
		if (is_up(l, k)) {
			end = run_end(l, k, counts);
			add_run(l, k, end, counts, out);
		}
	}
}

const char *gpu_links_text(const struct gpu_links *l, char *buf, size_t size)
{
	struct str out = STR_INIT;

	add_runs(l, true, &out);
	if (out.len >= size) {
		add_runs(l, false, &out);	/* half a list would be wrong */
	}
	str_copy(buf, size, out.len > 0 ? str_text(&out) : "none");
	str_release(&out);
	return buf;
}

static int read_count(const char *word, uint64_t *count)
{
	int64_t n = -1;

	if (word == NULL || (strcmp(word, "-") != 0 &&
			     units_parse_int(word, 0, INT64_MAX, &n, NULL) <
				     0)) {
		return -1;
	}
	*count = n < 0 ? GPU_LINK_UNKNOWN : (uint64_t)n;
	return 0;
}

/* "7:500/0/0" or "0-6:-/-/-" */
static int read_run(char *run, struct gpu_links *l)
{
	char *last = strsep(&run, ":"), *first = strsep(&last, "-");
	uint64_t counts[GPU_LINK_COUNTS];
	int64_t from, to;

	if (units_parse_int(first, 0, NVML_LINKS_MAX - 1, &from, NULL) < 0 ||
	    units_parse_int(last != NULL ? last : first, 0, NVML_LINKS_MAX - 1,
			    &to, NULL) < 0) {
		return -1;
	}
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		if (read_count(strsep(&run, "/"), &counts[c]) < 0) {
			return -1;
		}
	}
	for (int64_t k = from; k <= to; k++) {
		l->up |= UINT32_C(1) << k;
		memcpy(l->counts[k], counts, sizeof(counts));
	}
	return run == NULL ? 0 : -1;
}

int gpu_links_parse(const char *text, struct gpu_links *l)
{
	char *copy = strdup(text), *at = copy, *run;
	int rc = copy != NULL ? 0 : -1;

	l->up = 0;
	while (rc == 0 && strcmp(text, "none") != 0 &&
	       (run = strsep(&at, " ")) != NULL) {
		rc = read_run(run, l);
	}
	free(copy);
	return rc;
}
