/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of the control star: frames, orders and reports from a peer. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/sim/model.h"
#include "probes/transport/order.h"
#include "probes/engine/net/wire.h"

/** What is taken is written so that it is taken again. */
static void check_entry(const void *bytes, size_t n)
{
	struct order *o = malloc(sizeof(*o));
	struct str out = STR_INIT;
	struct order_report r;
	struct order_word word;

	if (o != NULL && order_read(bytes, n, o, NULL) == 0) {
		order_add(o, &out);
		if (order_read(out.data, out.len, o, NULL) < 0) {
			abort();
		}
	}
	str_reset(&out);
	if (order_report_read(bytes, n, &r, NULL) == 0) {
		order_report_add(&r, &out);
		order_report_release(&r);
		if (order_report_read(out.data, out.len, &r, NULL) < 0) {
			abort();
		}
		order_report_release(&r);
	}
	str_reset(&out);
	if (order_word_read(bytes, n, &word, NULL) == 0) {
		order_word_add(&word, &out);
		if (order_word_read(out.data, out.len, &word, NULL) < 0) {
			abort();
		}
	}
	str_release(&out);
	free(o);
}

/** A list that is read is the same when it is written again. */
static void read_list(const uint8_t *data, size_t size)
{
	struct list_out again = { 0 };
	struct str out = STR_INIT;
	enum message_type type;
	struct cbor_reader in;
	const void *entry;
	size_t n;

	if (!list_open(&in, &type, data, size,
		       MSG_PASSED_UP | MSG_PASSED_DOWN)) {
		return;
	}
	while ((entry = list_next(&in, &n)) != NULL) {
		check_entry(entry, n);
		list_add(&again, type, entry, n);
	}
	if (again.n > 0) {
		list_write(&again, &out);
		if (!list_open(&in, &type, out.data, out.len,
			       messages[type].ways)) {
			abort();
		}
	}
	list_release(&again);
	str_release(&out);
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
	json = schema_json(collective_result_fields, &r);
	if (collective_result_parse(json, &r, NULL) < 0) {
		abort();
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_buf b = { 0 };
	struct order_how how;
	json_t *msg;
	size_t half = size / 2;

	if (size > 4) {		/* behind the length of a frame */
		read_list(data + 4, size - 4);
	}
	/* in two pieces, as a socket would */
	wire_buf_add(&b, data, half);
	for (int piece = 0; piece < 2; piece++) {
		while (wire_buf_next(&b, &msg, NULL) > 0) {
			check_table(msg);
			check_frame(msg);
			check_collective(msg);
			order_how_parse(json_object_get(msg, "how"), &how,
					NULL);
			json_decref(msg);
		}
		if (piece == 0) {
			wire_buf_add(&b, data + half, size - half);
		}
	}
	wire_buf_release(&b);
	return 0;
}
