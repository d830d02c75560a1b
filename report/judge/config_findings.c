/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <string.h>

#include "report/judge/odd.h"

/** A path as its two ends see it: "NET/IB/GDRDMA>NET/IB" or one for both. */
struct way {
	char src[64], dst[64];
};

/** What can be odd about the way from one rank to another. */
struct oddity {
	const char *code, *text;
	bool (*is_odd)(const struct run *run, int src, int dst);
};

/** Of PXN only the sender knows. */
static void drop_relay(char *way)
{
	char *relay = strstr(way, "+PXN");

	if (relay) {
		memmove(relay, relay + 4, strlen(relay + 4) + 1);
	}
}

static bool way_of(const struct run *run, int src, int dst, struct way *w)
{
	uint16_t way = run->cell_way[run_at(run, src, dst)];
	const char *path = run->paths[way], *other;

	if (way == 0) {
		return false;	/* soon: most cells of a model have none */
	}
	other = strchr(path, '>');
	STR_COPY(w->src, path);
	if (other) {
		w->src[other - path] = '\0';
		other++;
	}
	STR_COPY(w->dst, other ? other : path);
	drop_relay(w->src);
	drop_relay(w->dst);
	return true;
}

/** Does one rank send another way than it receives from the other? */
static bool comes_back_otherwise(const struct run *run, int src, int dst)
{
	struct way out, back;

	return way_of(run, src, dst, &out) && way_of(run, dst, src, &back) &&
	       (strcmp(out.src, back.dst) != 0 ||
		strcmp(out.dst, back.src) != 0);
}

static bool is_direct(const char *path)
{
	return strstr(path, "/GDRDMA") != NULL;
}

static bool is_direct_at_one_end(const struct run *run, int src, int dst)
{
	struct way w;

	return way_of(run, src, dst, &w) &&
	       is_direct(w.src) != is_direct(w.dst);
}

static const struct oddity oddities[] = {
	{ .code = "gdr_one_end", .is_odd = is_direct_at_one_end,
	  .text = "use GPUDirect RDMA at only one end" },
	{ .code = "path_differs", .is_odd = comes_back_otherwise,
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

void config_findings(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
		struct odd cells;

		if (odd_init(run, &cells) < 0) {
			v->failed = true;
			return;
		}
		for (size_t at = 0; at < run_n_cells(run); at++) {
			int s = run_src(run, at), d = run_dst(run, at);

			if (s != d && oddities[i].is_odd(run, s, d)) {
				odd_add(run, &cells, at);
			}
		}
		if (cells.n > 0) {
			add_odd(run, &oddities[i], &cells, v);
		}
		odd_release(&cells);
	}
}
