/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/judge/odd.h"

/** A path as its two ends see it: "NET/IB/GDRDMA>NET/IB" or one for both. */
struct way {
	char src[64], dst[64];
	bool one_end;		/* GPUDirect RDMA at only one of them */
};

/** What can be odd about a way from one rank to another, and that back. */
struct oddity {
	const char *code, *text;
	bool both;		/* have to be known */
	bool (*is_odd)(const struct way *out, const struct way *back);
};

/** Of PXN only the sender knows. */
static void drop_relay(char *way)
{
	char *relay = strstr(way, "+PXN");

	if (relay) {
		memmove(relay, relay + 4, strlen(relay + 4) + 1);
	}
}

static bool is_direct(const char *path)
{
	return strstr(path, "/GDRDMA") != NULL;
}

static void way_of(const char *path, struct way *w)
{
	const char *other = strchr(path, '>');

	STR_COPY(w->src, path);
	if (other) {
		w->src[other - path] = '\0';
		other++;
	}
	STR_COPY(w->dst, other ? other : path);
	drop_relay(w->src);
	drop_relay(w->dst);
	w->one_end = is_direct(w->src) != is_direct(w->dst);
}

/** There are few distinct ones: those of run->paths, for the caller to free. */
static struct way *ways_of(const struct run *run)
{
	struct way *ways = calloc(run->n_paths + 1, sizeof(*ways));

	for (size_t i = 0; ways && i < run->n_paths; i++) {
		way_of(run->paths[i], &ways[i]);
	}
	return ways;
}

/** Does one rank send another way than it receives from the other? */
static bool comes_back_otherwise(const struct way *out, const struct way *back)
{
	return strcmp(out->src, back->dst) != 0 ||
	       strcmp(out->dst, back->src) != 0;
}

static bool is_direct_at_one_end(const struct way *out, const struct way *back)
{
	(void)back;
	return out->one_end;
}

static const struct oddity oddities[] = {
	{ .code = "gdr_one_end", .is_odd = is_direct_at_one_end,
	  .text = "use GPUDirect RDMA at only one end" },
	{ .code = "path_differs", .is_odd = comes_back_otherwise, .both = true,
	  .text = "take another path than the reverse direction" },
};

static size_t known_ways(const struct run *run)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		n += run->cell_way[at] != 0;
	}
	return n;
}

static void add_odd(const struct run *run, const struct oddity *o,
		    const struct odd *cells, struct verdict *v)
{
	struct part p = odd_place(run, cells);
	struct finding *f = finding_add(v, &p, o->code);
	struct str example = STR_INIT;
	char name[PART_NAME_SIZE];

	finding_set_example(run, f, cells->first);
	str_addf(&example, "%s over %s, reverse over %s",
		 part_cell_name(run, cells->first, name),
		 run->paths[run->cell_way[cells->first]],
		 run->paths[run->cell_way[run_at(run, f->dst, f->src)]]);
	part_name(run, &p, name, sizeof(name));
	name[0] = 'T';		/* of "the set-up ..." */
	f->cells = known_ways(run);
	f->explained = cells->n;
	finding_say(f, "%s: %zu of %zu tests %s (%s)", name, cells->n,
		    f->cells, o->text, str_text(&example));
	finding_add_evidence(f, "%s", str_text(&example));
	str_release(&example);
}

/** Of a way that is not known nothing is odd. */
static bool is_odd(const struct run *run, const struct oddity *o,
		   const struct way *ways, size_t at)
{
	uint16_t out = run->cell_way[at];
	uint16_t back = out ? run->cell_way[run_back(run, at)] : 0;

	return out && (back || !o->both) && o->is_odd(&ways[out], &ways[back]);
}

void config_findings(const struct run *run, struct verdict *v)
{
	struct way *ways = ways_of(run);

	v->failed |= !ways;
	for (size_t i = 0;
	     ways && i < sizeof(oddities) / sizeof(*oddities); i++) {
		struct odd cells;

		if (odd_init(run, &cells) < 0) {
			v->failed = true;
			break;
		}
		for (size_t at = 0; at < run_n_cells(run); at++) {
			if (is_odd(run, &oddities[i], ways, at)) {
				odd_add(run, &cells, at);
			}
		}
		if (cells.n > 0) {
			add_odd(run, &oddities[i], &cells, v);
		}
		odd_release(&cells);
	}
	free(ways);
}
