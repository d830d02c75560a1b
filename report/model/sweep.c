/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/model/run_read.h"

int sweep_add(struct sweep *s, const struct collective_row *row)
{
	return grow_add(&s->rows, &s->n, row, sizeof(*row)) ? 0 : -1;
}

int sweep_take_row(void *user, const void *row)
{
	return sweep_add(user, row);
}

int sweep_read(const char *dir, struct run *run, struct sweep *s,
	       struct err *e)
{
	const struct run_rows rows = { .schema = &schema_collective, .user = s,
				       .take = sweep_take_row, .run = run };

	*s = (struct sweep){ .run = run };
	if (run_begin(run, dir, &schema_collective, e) < 0 ||
	    run_take_results(dir, &rows, e) < 0) {
		return -1;
	}
	run->rows = s->n;
	if (sweep_group(s) < 0 || run_list_nodes(run, run->json) < 0) {
		return err_set(e, ENOMEM, "cannot hold the rows");
	}
	return run_read_sides(dir, run, e);
}

void sweep_release(struct sweep *s)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		free(s->curves[i].rows);
	}
	free(s->curves);
	free(s->rows);
	*s = (struct sweep){ 0 };
}

bool sweep_is_model(const struct sweep *s)
{
	/* a reference is but rows: the transport stands where the library is */
	for (size_t i = 0; i < s->n; i++) {
		if (spec_transport_is(s->rows[i].lib, XPORT_MODEL)) {
			return true;
		}
	}
	return false;
}

double row_bandwidth(const struct collective_row *row)
{
	return isfinite(row->busbw_GB_s) ? row->busbw_GB_s : row->algbw_GB_s;
}

/** The columns that make one curve of rows, those that name it best first. */
static const struct key {
	const char *before;	/* in the name */
	size_t offset, size;	/* size 0: an integer */
	bool chosen;		/* by the library, size by size, in a run of
				 * ours; what was asked for is the variant */
	bool unknown;		/* empty where nothing was measured */
} keys[] = {
#define TEXT_KEY(field) .before = "", \
	.offset = offsetof(struct collective_row, field), \
	.size = sizeof(((struct collective_row *)NULL)->field)
#define NUMBER_KEY(field) .before = #field " ", \
	.offset = offsetof(struct collective_row, field)
	{ TEXT_KEY(table) }, { TEXT_KEY(variant) }, { TEXT_KEY(op) },
	{ TEXT_KEY(algo), .chosen = true },
	{ TEXT_KEY(proto), .chosen = true }, { TEXT_KEY(lib), .unknown = true },
	{ TEXT_KEY(dtype) },
	{ TEXT_KEY(redop) },
	{ NUMBER_KEY(ranks) }, { NUMBER_KEY(nodes) }, { NUMBER_KEY(root) },
};

#define KEYS (sizeof(keys) / sizeof(*keys))

static int compare_key(const struct key *k, const struct collective_row *a,
		       const struct collective_row *b)
{
	const char *x = (const char *)a + k->offset;
	const char *y = (const char *)b + k->offset;

	if (k->chosen && !a->table[0] && !b->table[0]) {
		return 0;
	}
	if (k->unknown && (!*x || !*y)) {
		return 0;
	}
	return k->size ? strcmp(x, y) :
			 memcmp(x, y, sizeof(int64_t));
}

static bool same_curve(const struct collective_row *a,
		       const struct collective_row *b)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (compare_key(&keys[i], a, b) != 0) {
			return false;
		}
	}
	return true;
}

static struct curve *curve_of(struct sweep *s, const struct collective_row *row)
{
	struct curve new = { .first = row };

	/* rows come table by table: the last one is the likely one */
	for (size_t i = s->n_curves; i > 0; i--) {
		if (same_curve(s->curves[i - 1].first, row)) {
			return &s->curves[i - 1];
		}
	}
	if (s->n_curves == SWEEP_CURVES_MAX) {
		return &s->curves[s->n_curves - 1];
	}
	return grow_add(&s->curves, &s->n_curves, &new, sizeof(new));
}

static void add_key(const struct key *k, const struct collective_row *row,
		    struct str *out)
{
	const char *at = (const char *)row + k->offset;
	int64_t number = k->size ? 0 : *(const int64_t *)(const void *)at;

	if (k->size ? !*at : number == RECORD_NONE) {
		return;
	}
	str_add(out, out->len ? " " : "");
	if (k->size) {
		str_add(out, at);
	} else {
		str_addf(out, "%s%lld", k->before, (long long)number);
	}
}

/** A curve is called by what is not the same for all; table and variant say
 *  enough where they tell all of them apart. */
static void name_curve(const struct sweep *s, struct curve *c)
{
	struct str name = STR_INIT;

	for (size_t i = 0; i < KEYS; i++) {
		bool differs = false;

		for (size_t k = 0; k < s->n_curves; k++) {
			differs = differs ||
				  compare_key(&keys[i], s->curves[k].first,
					      c->first) != 0;
		}
		if (differs && !(i > 1 && name.len &&
				 (c->first->table[0] ||
				  c->first->variant[0]))) {
			add_key(&keys[i], c->first, &name);
		}
	}
	if (name.len == 0) {
		add_key(&keys[c->first->table[0] ? 0 :
			       c->first->variant[0] ? 1 : 2], c->first, &name);
	}
	STR_COPY(c->name, str_text(&name));
	str_release(&name);
}

static int by_size(const void *a, const void *b)
{
	const struct collective_row *x =
		*(const struct collective_row *const *)a;
	const struct collective_row *y =
		*(const struct collective_row *const *)b;

	if (x->size_B != y->size_B) {
		return x->size_B < y->size_B ? -1 : 1;
	}
	if (x->inplace != y->inplace) {
		return x->inplace < y->inplace ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

int sweep_group(struct sweep *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *row = &s->rows[i];
		struct curve *c = curve_of(s, row);

		if (!c || !grow_add(&c->rows, &c->n, &row, sizeof(row))) {
			return -1;
		}
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		qsort(s->curves[i].rows, s->curves[i].n,
		      sizeof(*s->curves[i].rows), by_size);
		name_curve(s, &s->curves[i]);
	}
	return 0;
}

size_t curve_from(const struct curve *c, int64_t size_B)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->rows[mid]->size_B < size_B) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low;
}

const struct collective_row *curve_at(const struct curve *c, int64_t size_B,
				      int64_t inplace)
{
	const struct collective_row *found = NULL;

	/* the last of several: a run that was resumed measured it again */
	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		if (inplace < 0 || c->rows[i]->inplace == inplace) {
			found = c->rows[i];
		}
	}
	return found;
}
