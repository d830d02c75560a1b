/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/model/part.h"

/** More cells than this are a heat map's business, but for the slowest. */
#define TABLE_MAX 32
#define TABLE_WORST 16
#define END_MAX 24

/** Of two cells the one that should be seen first. */
static int worse(const struct run *run, size_t a, size_t b)
{
	float x = run->cells[a].bw_GB_s, y = run->cells[b].bw_GB_s;
	double p = run_line_share(run, a), q = run_line_share(run, b);

	if (!isnan(p) && !isnan(q) && p != q) {
		return p < q ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

/** The @max slowest measured cells, slowest first; returns how many. */
static size_t find_slowest(const struct run *run, size_t max, size_t *out)
{
	size_t n = run_n_cells(run), found = 0;

	for (size_t at = 0; at < n; at++) {
		size_t k = found;

		if (isnan(run->cells[at].bw_GB_s)) {
			continue;
		}
		while (k > 0 && worse(run, at, out[k - 1]) < 0) {
			k--;
		}
		if (k == max) {
			continue;
		}
		found += found < max;
		memmove(&out[k + 1], &out[k],
			(found - 1 - k) * sizeof(*out));
		out[k] = at;
	}
	return found;
}

/** "n0:1 mlx5_1" */
static int end_text(const struct run *run, int rank, char text[160])
{
	char name[80];

	return snprintf(text, 160, "%s %s",
			part_rank_name(run, rank, name, sizeof(name)),
			run->ranks[rank].nic_name);
}

static int widest_end(const struct run *run)
{
	int widest = 4;		/* "from" */

	for (int r = 0; r < run->n_ranks; r++) {
		char text[160];
		int width = end_text(run, r, text);

		widest = width > widest ? width : widest;
	}
	return widest < END_MAX ? widest : END_MAX;
}

/** A number, or nothing where it was not measured. */
static void add_number(double value, int width, int digits, const char *unit,
		       struct str *out)
{
	int rest = width - (int)strlen(unit);
	char text[UNITS_REAL_SIZE];

	if (isnan(value)) {
		str_addf(out, "%*s ", width, "-");
	} else {
		str_addf(out, "%*s%s ", rest,
			 units_real_text(value, digits, text), unit);
	}
}

static void add_row(const struct run *run, size_t at, int width,
		    struct str *out)
{
	const struct cell *c = &run->cells[at];
	char from[160], to[160];

	end_text(run, run_src(run, at), from);
	end_text(run, run_dst(run, at), to);
	str_addf(out, "%-*.*s %-*.*s ", width, width, from, width, width, to);
	add_number((double)c->bw_GB_s, 7, 3, "", out);
	add_number((double)c->bw_GB_s * 8, 8, 2, "", out);
	add_number(100 * run_line_share(run, at), 6, 0, " %", out);
	add_number((double)c->lat_us, 8, 2, "", out);
	if (c->class == CELL_PASS) {
		str_addf(out, " %s\n", run->paths[run->cell_way[at]]);
	} else {
		str_addf(out, " %s %s\n", cell_class_name(c->class),
			 run_cell_code(run, at));
	}
}

void table_render(const struct run *run, struct str *out)
{
	size_t all = run_n_cells(run);
	size_t shown[TABLE_MAX], cells = 0, n;
	int width = widest_end(run);

	for (size_t at = 0; at < all; at++) {
		if (run->cells[at].class == CELL_UNPLANNED) {
			continue;
		}
		if (cells < TABLE_MAX) {
			shown[cells] = at;
		}
		cells++;
	}
	if (cells == 0) {
		return;
	}
	n = cells;
	if (cells > TABLE_MAX) {
		n = find_slowest(run, TABLE_WORST, shown);
		str_addf(out, "the %zu slowest of %zu tests\n", n, cells);
	}
	str_addf(out, "%-*s %-*s %7s %8s %6s %8s  %s\n", width, "from", width,
		 "to", "GB/s", "Gb/s", "line", "us", "path");
	for (size_t i = 0; i < n; i++) {
		add_row(run, shown[i], width, out);
	}
}
