/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/draw.h"
#include "report/draw/view.h"
#include "report/model/run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/** "heatmap-10.1.0.0_24": no '/' or ':' in the name of a file. */
static void name_file(const char *segment, char name[96])
{
	snprintf(name, 96, "heatmap-%.80s", segment);
	for (char *c = name; *c; c++) {
		*c = *c == '/' || *c == ':' ? '_' : *c;
	}
}

/** The ranks of @segment into @at; returns how many. */
static int ranks_in(const struct run *run, const char *segment, int *at)
{
	int n = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		if (strcmp(mesh_end(run, r)->segment, segment) == 0) {
			at[n++] = r;
		}
	}
	return n;
}

/** Make the grid of @part: a square of its @n ranks, or the cells that @run has
 *  of them; @of is the number of each rank of @run in @part, or -1.  Returns 0,
 *  or -1 without memory. */
static int make_part_grid(const struct run *run, const int *of, int n,
			  struct run *part)
{
	struct grid_pair *pairs;
	size_t k = 0;
	int rc;

	part->grid = grid_square(n);
	if (!run->grid.first) {
		return 0;
	}
	part->grid = (struct grid){ 0 };
	pairs = calloc(run_n_cells(run) + 1, sizeof(*pairs));
	for (size_t c = 0; pairs && c < run_n_cells(run); c++) {
		int s = of[run_src(run, c)], d = of[run_dst(run, c)];

		if (s >= 0 && d >= 0) {
			pairs[k++] = (struct grid_pair){ s, d };
		}
	}
	rc = pairs ? grid_of(&part->grid, n, pairs, k) : -1;
	free(pairs);
	return rc;
}

static int fill_part(const struct run *run, const int *at, const int *of,
		     struct run *part)
{
	size_t cells = run_n_cells(part) + 1, n = (size_t)part->n_ranks;

	part->ranks = calloc(n + 1, sizeof(*part->ranks));
	part->cells = calloc(cells, sizeof(*part->cells));
	part->cell_code = calloc(cells, sizeof(*part->cell_code));
	part->cell_detail = calloc(cells, sizeof(*part->cell_detail));
	part->mesh = mesh_new(n, run_n_cells(part));
	if (!part->ranks || !part->cells || !part->cell_code ||
	    !part->cell_detail || !part->mesh) {
		return -1;
	}
	for (size_t r = 0; r < n; r++) {
		part->ranks[r] = run->ranks[at[r]];
		part->mesh->ends[r] = *mesh_end(run, at[r]);
	}
	for (size_t c = 0; c < run_n_cells(run); c++) {
		int s = of[run_src(run, c)], d = of[run_dst(run, c)];

		if (s >= 0 && d >= 0) {
			/* copy the cell at c of run to the cell at to of
			 * part */
			size_t to = run_at(part, s, d);

			part->cells[to] = run->cells[c];
			part->cell_code[to] = run->cell_code[c];
			part->cell_detail[to] = run->cell_detail[c];
			part->mesh->loss[to] = run->mesh->loss[c];
		}
	}
	/* of pairs that have none, where there are such */
	part->cells[run_n_cells(part)] = (struct cell){
		.bw_GB_s = NAN, .lat_us = NAN, .expected_GB_s = NAN,
		.class = CELL_UNPLANNED, .path = PATH_INTER,
	};
	return 0;
}

/** Make a run of the @n ranks @at of @run, for a view or a picture.
 *  free_part() frees. */
static int make_part(const struct run *run, const int *at, int n,
		     struct run *part)
{
	int *of = malloc(((size_t)run->n_ranks + 1) * sizeof(*of)), rc = -1;

	if (of) {
		memset(of, 0xff, (size_t)run->n_ranks * sizeof(*of));
	}
	for (int i = 0; of && i < n; i++) {
		of[at[i]] = i;
	}
	*part = *run;
	part->n_ranks = n;
	part->grid = (struct grid){ 0 };
	part->ranks = NULL;
	part->cells = NULL;
	part->cell_code = NULL;
	part->cell_detail = NULL;
	part->mesh = NULL;
	if (of && make_part_grid(run, of, n, part) == 0) {
		rc = fill_part(run, at, of, part);
	}
	if (rc == 0) {
		part->mesh->whole = run;
		part->mesh->origin = at;
	}
	free(of);
	return rc;
}

static void free_part(struct run *part)
{
	grid_release(&part->grid);
	free(part->ranks);
	free(part->cells);
	free(part->cell_code);
	free(part->cell_detail);
	free(part->mesh);
}

/** The @n ranks @at that are in @segment. */
static int draw_segment(const struct run *run, const char *segment,
			const int *at, int n, figure_draw *draw, void *arg)
{
	struct figure f = { .metric = VIEW_RTT, .always = true };
	struct run part = { 0 };
	int rc = -1;

	if (n < 2) {
		return 0;
	}
	if (make_part(run, at, n, &part) == 0) {
		STR_COPY(part.mesh->segment, segment);
		name_file(segment, f.name);
		f.run = &part;
		rc = draw(&f, arg);
	}
	free_part(&part);
	return rc;
}

/** For qsort_r(): rail by rail, on a rail as the nodes come. */
static int by_rail(const void *a, const void *b, void *run)
{
	const struct cluster_rank *ranks = ((const struct run *)run)->ranks;
	const int x = *(const int *)a, y = *(const int *)b;

	return ranks[x].nic != ranks[y].nic ?
		       (ranks[x].nic < ranks[y].nic ? -1 : 1) : x - y;
}

/** The ranks of @part, which are in order, become those of segments. */
static int make_segments(const struct run *run, struct run *part)
{
	part->nodes = calloc((size_t)part->n_ranks + 1, sizeof(*part->nodes));
	part->mesh->by_segment = run->n_nodes;
	part->mesh->cross = true;
	part->mesh->unrouted = run->mesh->unrouted;
	part->n_nodes = 0;
	for (int r = 0; part->nodes && r < part->n_ranks; r++) {
		struct cluster_rank *rank = &part->ranks[r];
		struct cluster_node *n = &part->nodes[part->n_nodes];

		if (r == 0 || rank->nic != rank[-1].nic) {
			part->n_nodes++;
			n->first_rank = r;
			STR_COPY(n->name, mesh_end(part, r)->segment);
		} else if (strcmp((--n)->name, mesh_end(part, r)->segment)) {
			/* rails of which each end is a subnet */
			snprintf(n->name, sizeof(n->name), "rail %d",
				 rank->nic);
		}
		STR_COPY(rank->nic_name, run->nodes[rank->node].name);
		rank->node = part->n_nodes - 1;
		rank->gpu = n->gpus++;
	}
	return part->nodes ? 0 : -1;
}

/** Every segment against every other: a block of the picture each. */
static int draw_segments(const struct run *run, int *at, figure_draw *draw,
			 void *arg)
{
	struct figure f = { .name = "heatmap-segments", .metric = VIEW_RTT,
			    .always = true };
	struct run part = { 0 };
	int n = 0, rc = -1;

	/* all addresses, those of a segment together */
	for (int r = 0; r < run->n_ranks; r++) {
		if (mesh_end(run, r)->segment[0]) {
			at[n++] = r;
		}
	}
	qsort_r(at, (size_t)n, sizeof(*at), by_rail, (void *)(uintptr_t)run);
	if (make_part(run, at, n, &part) == 0 &&
	    make_segments(run, &part) == 0) {
		f.run = &part;
		rc = draw(&f, arg);
	}
	if (part.nodes != run->nodes) {
		free(part.nodes);
	}
	free_part(&part);
	return rc;
}

static int each_of_mesh(const struct run *run, figure_draw *draw, void *arg)
{
	struct figure nodes = { .name = "heatmap-nodes", .run = run,
				.metric = VIEW_RTT, .always = true };
	int *at = calloc((size_t)run->n_ranks + 1, sizeof(*at));
	int rc, outside, drawn = 0;

	if (!at) {
		return -1;
	}
	rc = draw(&nodes, arg);
	if (rc == 0 && run->mesh->cross) {
		rc = draw_segments(run, at, draw, arg);
	}
	outside = ranks_in(run, "", at);
	for (int r = 0; r < run->n_ranks && rc == 0 &&
			drawn < FIGURES_MAX_SEGMENTS; r++) {
		const char *segment = mesh_end(run, r)->segment;
		int first = 0, n = 0;

		while (strcmp(mesh_end(run, first)->segment, segment) != 0) {
			first++;
		}
		if (segment[0] && r == first) {
			n = ranks_in(run, segment, at);
		}
		/* of one segment alone the picture of the nodes is the same */
		if (n > 0 && n + outside < run->n_ranks) {
			rc = draw_segment(run, segment, at, n, draw, arg);
			drawn++;
		}
	}
	free(at);
	return rc;
}

int figures_each(const struct run *run, const struct verdict *v,
		 figure_draw *draw, void *arg)
{
	static const struct figure figures[] = {
		{ .name = "heatmap-bw", .metric = VIEW_BANDWIDTH,
		  .always = true },
		{ .name = "heatmap-lat", .metric = VIEW_LATENCY },
		{ .name = "heatmap-line", .metric = VIEW_LINE },
		{ .name = "heatmap-contrast", .metric = VIEW_CONTRAST },
	};
	int rc = 0, drawn = 0;
	bool *open;

	if (run->mesh) {
		return each_of_mesh(run, draw, arg);
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures) && rc == 0;
	     i++) {
		struct figure f = figures[i];

		f.run = run;
		rc = draw(&f, arg);
	}
	if (rc != 0 || run->n_ranks <= PICTURE_MAX_ROWS) {
		return rc;
	}
	/* rows are nodes: a picture of each node of which a part is accused */
	open = accused_nodes(run, v, INT_MAX);
	rc = open ? 0 : -1;
	for (int i = 0; i < run->n_nodes && rc == 0 &&
			drawn < FIGURES_MAX_ZOOMS; i++) {
		struct figure f = { .run = run, .metric = VIEW_BANDWIDTH,
				    .always = true, .zoom = 1 + i };

		if (open[i]) {
			name_file(run->nodes[i].name, f.name);
			rc = draw(&f, arg);
			drawn++;
		}
	}
	free(open);
	return rc;
}

int figure_picture(const struct figure *f, const struct verdict *v,
		   struct picture *p)
{
	bool *open = calloc((size_t)f->run->n_nodes + 1, sizeof(*open));
	int rc = -1;

	*p = (struct picture){ 0 };
	if (!f->always && !view_any_value(f->run, f->metric)) {
		free(open);
		return 1;	/* most runs have no contrast, and no line */
	}
	if (open) {
		if (f->zoom > 0) {
			open[f->zoom - 1] = true;
		}
		rc = picture_make(f->run, f->metric, v,
				  f->zoom > 0 ? open : NULL, p);
	}
	free(open);
	return rc < 0 ? rc :
	       p->view.n == 0 || !(f->always || p->view.any_value);
}
