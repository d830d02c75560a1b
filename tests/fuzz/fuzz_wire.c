/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of the control star: frames, orders and reports from a peer. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "probes/sim/sim.h"
#include "probes/transport/order.h"
#include "probes/engine/net/wire.h"

/** What is taken is written as it was. */
static void check_entries(const json_t *msg, struct order *o)
{
	struct order_report r;
	json_t *v, *again;
	size_t i;

	json_array_foreach(json_object_get(msg, "orders"), i, v) {
		if (order_parse(v, o, NULL) == 0) {
			again = order_json(o);
			if (order_parse(again, o, NULL) < 0) {
				abort();
			}
			json_decref(again);
		}
	}
	json_array_foreach(json_object_get(msg, "reports"), i, v) {
		if (order_report_parse(v, &r, NULL) == 0) {
			again = order_report_json(&r);
			order_report_release(&r);
			if (order_report_parse(again, &r, NULL) < 0) {
				abort();
			}
			order_report_release(&r);
			json_decref(again);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What fits the table by one way has a type, and fits it as it is built. */
static void check_table(json_t *msg)
{
	for (int way = MSG_TO_COORDINATOR; way <= MSG_TO_WORKER; way *= 2) {
		if (message_check(msg, (enum message_way)way, NULL) == 1) {
			enum message_type type = message_type(msg);
			json_t *again = message_of(type, json_copy(msg));

			if (!json_equal(again, msg)) {
				abort();
			}
			json_decref(again);
		}
	}
}

/** What was read comes back as it was, however it is written. */
static void check_frame(const json_t *msg)
{
	struct wire_buf b = { 0 };
	json_t *back = NULL;

	if (wire_frame(msg, &b.bytes) == 0 &&
	    (wire_buf_next(&b, &back, NULL) != 1 || !json_equal(msg, back))) {
		abort();
	}
	json_decref(back);
	wire_buf_release(&b);
}

/** An order that is taken survives being written again, and can be done. */
static void check_collective(const json_t *msg)
{
	struct collective_order o, back;
	struct collective_result r;
	json_t *json;

	collective_result_parse(msg, &r, NULL);
	if (collective_order_parse(msg, &o, NULL) < 0) {
		return;
	}
	json = collective_order_json(&o);
	if (collective_order_parse(json, &back, NULL) < 0) {
		abort();
	}
	json_decref(json);
	collective_sim(&back, 1, 0.01, &r);
	json = collective_result_json(&r);
	if (collective_result_parse(json, &r, NULL) < 0) {
		abort();
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order *o = malloc(sizeof(*o));
	struct wire_buf b = { 0 };
	struct order_how how;
	json_t *msg;
	size_t half = size / 2;

	/* in two pieces, as a socket would */
	wire_buf_add(&b, data, half);
	for (int piece = 0; piece < 2 && o != NULL; piece++) {
		while (wire_buf_next(&b, &msg, NULL) > 0) {
			check_table(msg);
			check_frame(msg);
			check_collective(msg);
			check_entries(msg, o);
			order_how_parse(json_object_get(msg, "how"), &how,
					NULL);
			json_decref(msg);
		}
		if (piece == 0) {
			wire_buf_add(&b, data + half, size - half);
		}
	}
	wire_buf_release(&b);
	free(o);
	return 0;
}
