/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_links.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

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

/* The number at *@at, which goes behind it. */
static int read_number(const char **at, uint64_t max, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)**at)) {
		return -1;
	}
	errno = 0;
	*number = strtoull(*at, &end, 10);
	*at = end;
	return errno != 0 || *number > max ? -1 : 0;
}

static int read_count(const char **at, uint64_t *count)
{
	if (**at == '-') {
		(*at)++;
		*count = GPU_LINK_UNKNOWN;
		return 0;
	}
	return read_number(at, GPU_LINK_UNKNOWN - 1, count);
}

static int read_run(const char **at, struct gpu_links *l)
{
	uint64_t first, last, counts[GPU_LINK_COUNTS];

	if (read_number(at, NVML_LINKS_MAX - 1, &first) < 0) {
		return -1;
	}
	last = first;
	if (**at == '-') {
		(*at)++;
		if (read_number(at, NVML_LINKS_MAX - 1, &last) < 0) {
			return -1;
		}
	}
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		if (**at != (c == 0 ? ':' : '/')) {
			return -1;
		}
		(*at)++;
		if (read_count(at, &counts[c]) < 0) {
			return -1;
		}
	}
	for (uint64_t k = first; k <= last; k++) {
		l->up |= UINT32_C(1) << k;
		memcpy(l->counts[k], counts, sizeof(counts));
	}
	return 0;
}

int gpu_links_parse(const char *text, struct gpu_links *l)
{
	l->up = 0;
	if (strcmp(text, "none") == 0) {
		return 0;
	}
	while (read_run(&text, l) == 0) {
		if (*text == '\0') {
			return 0;
		}
		if (*text++ != ' ') {
			break;
		}
	}
	return -1;
}
