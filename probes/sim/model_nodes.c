/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/sim/model_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "lib/spec/spec.h"

#define NAME_SIZE sizeof(((struct layout_node *)0)->name)

/* ---- told -------------------------------------------------------------- */

/** Nodes of the entry that is being made. */
struct alike {
	json_t *list;		/* the entries so far */
	json_t *what;		/* of each of these nodes; NULL: none yet */
	char *names;		/* of NAME_SIZE bytes each */
	size_t n;
};

static int close_entry(struct alike *a)
{
	struct str names = STR_INIT;
	int rc = 0;

	if (a->what) {
		hostlist_add(&names, a->names, NAME_SIZE, a->n);
		rc = json_object_set_new(a->what, "names",
					 json_text(str_text(&names)));
		rc |= json_array_append_new(a->list, a->what);
		rc |= names.failed ? -1 : 0;
	}
	a->what = NULL;
	a->n = 0;
	str_release(&names);
	return rc;
}

/** Not of one that never came, and has no name of its own. */
static bool is_name(const char *name)
{
	return hostlist_is_name(name);
}

static int add_node(struct alike *a, json_t *node)
{
	const char *name = json_member(node, "name");
	json_t *what = json_copy(node);
	int rc = 0;

	json_object_del(what, "first_rank");
	if (!is_name(name)) {
		rc = close_entry(a);
		return json_array_append_new(a->list, what) < 0 ? -1 : rc;
	}
	json_object_del(what, "name");
	if (a->what && json_equal(what, a->what)) {
		json_decref(what);
	} else {
		rc = close_entry(a);
		a->what = what;
	}
	str_copy(a->names + a->n++ * NAME_SIZE, NAME_SIZE, name);
	return a->what ? rc : -1;
}

json_t *model_nodes_json(const json_t *nodes)
{
	struct alike a = {
		.list = json_array(),
		.names = calloc(json_array_size(nodes) + 1, NAME_SIZE),
	};
	int rc = a.list && a.names ? 0 : -1;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		rc = rc < 0 ? rc : add_node(&a, node);
	}
	rc = rc < 0 ? rc : close_entry(&a);
	json_decref(a.what);
	free(a.names);
	if (rc < 0) {
		json_decref(a.list);
		return NULL;
	}
	return a.list;
}

/* ---- heard ------------------------------------------------------------- */

/** The names of the nodes of all entries, and which entry each is of. */
struct heard {
	char **names;
	json_t **of;		/* borrowed */
	size_t n;
};

static void heard_release(struct heard *h)
{
	hostlist_free(h->names, h->n);
	free(h->of);
}

static int hear_name(struct heard *h, json_t *entry, const char *name,
		     struct err *e)
{
	if (h->n == SPEC_MAX_NODES) {
		return err_set(e, E2BIG, "more than %d nodes of a model",
			       SPEC_MAX_NODES);
	}
	h->names[h->n] = strdup(name);
	h->of[h->n] = entry;
	return h->names[h->n++] ? 0 : err_set(e, ENOMEM,
					      "no memory for a model");
}

static int hear_entry(struct heard *h, json_t *entry, struct err *e)
{
	const json_t *own = json_object_get(entry, "name");
	size_t n = 0;
	char **names;
	int rc = 0;

	if (json_is_string(own)) {
		return hear_name(h, entry, json_string_value(own), e);
	}
	names = hostlist_expand(json_member(entry, "names"), &n, e);
	for (size_t i = 0; names && i < n && rc == 0; i++) {
		rc = hear_name(h, entry, names[i], e);
	}
	hostlist_free(names, n);
	return names ? rc : -1;
}

static int fill_node(struct layout_node *node, const char *name,
		     const json_t *entry, struct err *e)
{
	int64_t gpus, nics;

	if (json_get_int(entry, "gpus", 0, SPEC_MAX_GPUS, &gpus, e) < 0 ||
	    json_get_int(entry, "nics", 0, SPEC_MAX_GPUS, &nics, e) < 0) {
		return -1;
	}
	str_copy(node->name, sizeof(node->name), name);
	node->gpus = (int)gpus;
	node->nics = (int)nics;
	return 0;
}

static int make_layout(struct layout *l, const struct heard *h, struct err *e)
{
	json_t *each = json_array();
	int rc = layout_init(l, (int)h->n);

	rc = rc < 0 || !each ? err_set(e, ENOMEM, "no memory for a model") : 0;
	for (size_t i = 0; rc == 0 && i < h->n; i++) {
		rc = fill_node(&l->nodes[i], h->names[i], h->of[i], e);
		json_array_append(each, h->of[i]);
	}
	if (rc == 0 &&
	    (layout_number(l) < 0 || layout_read_nics(l, each) < 0)) {
		rc = err_set(e, ENOMEM, "no memory for a model");
	}
	json_decref(each);
	return rc;
}

int model_nodes_read(struct layout *l, const json_t *list, struct err *e)
{
	struct heard h = {
		.names = calloc(SPEC_MAX_NODES, sizeof(*h.names)),
		.of = calloc(SPEC_MAX_NODES, sizeof(*h.of)),
	};
	int rc = h.names && h.of ? 0 : err_set(e, ENOMEM,
					       "no memory for a model");
	json_t *entry;
	size_t i;

	*l = (struct layout){ 0 };
	json_array_foreach(list, i, entry) {
		rc = rc < 0 ? rc : hear_entry(&h, entry, e);
	}
	rc = rc < 0 ? rc : make_layout(l, &h, e);
	heard_release(&h);
	return rc;
}
