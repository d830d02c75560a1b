/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_MAX 20	/* letters of a segment */
#define WIDTH_MIN 40
#define CELL_WIDTH 5	/* " 100 " */

/** What passes from one segment to another. */
struct traffic {
	size_t measured, passed;
};

/** Those of rails 0 ... @rails - 1 to each other; free() frees, NULL without
 *  memory. */
static struct traffic *count_traffic(const struct run *run, size_t rails)
{
	struct traffic *all = calloc(rails * rails + 1, sizeof(*all));

	for (size_t at = 0; all && at < run_n_cells(run); at++) {
		size_t from = (size_t)run->ranks[run_src(run, at)].nic;
		size_t to = (size_t)run->ranks[run_dst(run, at)].nic;

		if (from < rails && to < rails) {
			struct traffic *t = &all[from * rails + to];

			t->measured += run_measured(run->cells[at].class);
			t->passed += run_good(run->cells[at].class);
		}
	}
	return all;
}

/** "100" is all of them, and "0" none. */
static void add_share(const struct traffic *t, struct str *out)
{
	size_t percent = t->measured ? 100 * t->passed / t->measured : 0;

	if (t->measured == 0) {
		str_addf(out, "%*s", CELL_WIDTH, "-");
	} else {
		str_addf(out, "%*zu", CELL_WIDTH,
			 percent || !t->passed ? percent : 1);
	}
}

static const char *segment_name(const struct run *run, size_t rail)
{
	for (int r = 0; r < run->n_ranks; r++) {
		if ((size_t)run->ranks[r].nic == rail &&
		    mesh_end(run, r)->segment[0]) {
			return mesh_end(run, r)->segment;
		}
	}
	return "?";
}

static size_t count_rails(const struct run *run)
{
	size_t n = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		if ((size_t)run->ranks[r].nic >= n) {
			n = (size_t)run->ranks[r].nic + 1;
		}
	}
	return n;
}

int term_segments(const struct run *run, int width, struct str *out)
{
	size_t all = count_rails(run);
	size_t room = (size_t)((width < WIDTH_MIN ? WIDTH_MIN : width) -
			       SEGMENT_MAX - 4) / CELL_WIDTH;
	size_t rails = all < room ? all : room;
	struct traffic *traffic = count_traffic(run, rails);

	if (!traffic) {
		return -1;
	}
	str_addf(out, "\nsegments, percent of paths that pass; rows send, "
		 "columns receive\n%*s", SEGMENT_MAX + 4, "");
	for (size_t to = 0; to < rails; to++) {
		str_addf(out, "%*zu", CELL_WIDTH, to);
	}
	str_addch(out, '\n');
	for (size_t from = 0; from < rails; from++) {
		str_addf(out, "%3zu %-*.*s", from, SEGMENT_MAX, SEGMENT_MAX,
			 segment_name(run, from));
		for (size_t to = 0; to < rails; to++) {
			add_share(&traffic[from * rails + to], out);
		}
		str_addch(out, '\n');
	}
	if (run->mesh->unrouted > 0) {
		str_add(out, "- not expected to pass: no route\n");
	}
	if (rails < all) {
		str_addf(out, "%zu more segments: report.html\n", all - rails);
	}
	free(traffic);
	return 0;
}
