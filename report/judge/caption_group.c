/* SPDX-License-Identifier: BSD-3-Clause */
/* What words and HTML both say about a run of a collective. */
#include "report/judge/caption.h"

#include <string.h>

#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "lib/base/str.h"

static json_int_t count_gpus(const json_t *nodes)
{
	json_int_t n = 0;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		n += json_integer_value(json_object_get(node, "gpus"));
	}
	return n;
}

const char *caption_group(const json_t *run, char *buf, size_t size)
{
	const json_t *nodes = json_object_get(run, "nodes");
	const char *transport = json_member(run, "transport");
	size_t n = json_array_size(nodes);
	json_int_t gpus = count_gpus(nodes);
	struct str out = STR_INIT;
	char utc[CAPTION_UTC_SIZE];

	str_add(&out, json_member(run, "probe"));
	if (n > 0) {
		str_addf(&out, " on %zu node%s with %lld %s%s", n,
			 n == 1 ? "" : "s", (long long)gpus,
			 spec_transport_rank(transport),
			 gpus == 1 ? "" : "s");
	}
	str_addf(&out, ": %s", transport[0] ? transport :
		 json_object_get(run, "imported") ? "imported" :
						    "no transport");
	caption_utc(json_member(run, "started_utc"), utc);
	str_addf(&out, "%s%s", utc[0] ? ", " : "", utc);
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

const char *caption_rows(const json_t *cells, char *buf, size_t size)
{
	size_t count[CELL_CLASSES];

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		const json_t *n = json_object_get(
			cells, cell_class_name((enum cell_class)c));

		count[c] = (size_t)json_integer_value(n);
	}
	return caption_count("row", count, cell_class_name(CELL_SLOW), buf,
			     size);
}
