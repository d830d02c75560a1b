/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/transport/order.h"
#include "lib/data/pattern.h"
#include "probes/engine/net/wire.h"

static void frames_survive_any_cut(void **state)
{
	struct str out = STR_INIT;
	json_t *msg = json_pack("{s:s,s:i}", "t", "beat", "n", 7);
	struct err e = { 0 };
	int found = 0;

	(void)state;
	assert_int_equal(wire_frame(msg, &out), 0);
	assert_int_equal(wire_frame(msg, &out), 0);
	json_decref(msg);
	for (size_t cut = 0; cut <= out.len; cut++) {
		struct wire_buf b = { 0 };

		found = 0;
		wire_buf_add(&b, out.data, cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			found++;
			json_decref(msg);
		}
		wire_buf_add(&b, out.data + cut, out.len - cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			assert_int_equal(message_type(msg), MSG_BEAT);
			found++;
			json_decref(msg);
		}
		assert_int_equal(found, 2);
		wire_buf_release(&b);
	}
	str_release(&out);
}

static int feed(const char *bytes, size_t n)
{
	struct wire_buf b = { 0 };
	struct err e = { 0 };
	json_t *msg = NULL;
	int rc;

	wire_buf_add(&b, bytes, n);
	rc = wire_buf_next(&b, &msg, &e);
	if (rc < 0) {
		assert_string_not_equal(e.text, "");
	}
	wire_buf_release(&b);
	return rc;
}

static void noise_is_refused(void **state)
{
	(void)state;
	assert_int_equal(feed("\xff\xff\xff\xff....", 8), -1);
	assert_int_equal(feed("\0\0\0\0", 4), -1);
	assert_int_equal(feed("\x02\0\0\0[]", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{}", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{", 5), 0);
	assert_int_equal(feed("GET / HTTP/1.1\r\n", 16), -1);
}

/* What two versions say to each other is read by both; nothing else is text. */
static void versions_understand_each_other(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		json_t *msg = json_pack("{s:s}", "t", messages[i].name), *back;
		bool text = i == MSG_BEAT || i == MSG_HELLO || i == MSG_WELCOME;
		struct wire_buf b = { 0 };

		assert_int_equal(wire_frame(msg, &b.bytes), 0);
		assert_int_equal(b.bytes.data[4] == '{', text);
		assert_int_equal(wire_buf_next(&b, &back, NULL), 1);
		assert_true(json_equal(msg, back));
		json_decref(back);
		json_decref(msg);
		wire_buf_release(&b);
	}
}

static void orders_come_back_as_sent(void **state)
{
	struct order o = { .id = 5, .attempt = 2, .rank = 3, .peer = 9,
			   .seat = { .me = 1, .ranks = 4 }, .ticket = "here" };
	struct order back;
	struct err e = { 0 };
	json_t *j;

	(void)state;
	memcpy(o.nonce, "00112233445566778899aabbccddeeff", 33);
	o.dirs[0].slow_factor = 1;
	o.dirs[1] = (struct order_dir){ .wanted = true, .slow_factor = 0.5,
					.drill = XPORT_DRILL_HANG };
	j = order_json(&o);
	assert_int_equal(order_parse(j, &back, &e), 0);
	assert_int_equal(back.id, 5);
	assert_int_equal(back.attempt, 2);
	assert_int_equal(back.seat.ranks, 4);
	assert_false(back.dirs[0].wanted || back.lead);
	assert_true(back.dirs[1].wanted && back.dirs[1].sender);
	assert_int_equal(back.dirs[1].drill, XPORT_DRILL_HANG);
	assert_true(back.dirs[1].slow_factor == 0.5);
	assert_string_equal(back.nonce, o.nonce);
	assert_string_equal(back.ticket, "here");
	json_decref(j);
	o.seat.me = 4;		/* no such place */
	j = order_json(&o);
	assert_int_equal(order_parse(j, &back, &e), -1);
	json_decref(j);
}

/* As most are: what is left out of them comes back all the same. */
static void usual_orders_come_back_as_sent(void **state)
{
	static const char *const none[] = {
		"",
		"80x",
		"9",
		"8060",			/* more than an order */
		"81f6",			/* no rank is null */
		"8120",			/* nor below 0 */
		"90",			/* more places than there are */
		"9000000000000000000000000000000000",
	};
	struct order o = { .attempt = 1, .seat = { .ranks = 2 } }, back;
	json_t *j;
	struct err e;

	(void)state;
	o.dirs[0] = o.dirs[1] =
		(struct order_dir){ .wanted = true, .slow_factor = 1 };
	j = order_json(&o);
	assert_string_equal(json_string_value(j), "80");
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(order_parse(j, &back, &e), 0);
	assert_int_equal(back.attempt, 1);
	assert_int_equal(back.peer, 0);
	assert_int_equal(back.seat.ranks, 2);
	assert_string_equal(back.ticket, "");
	assert_true(back.lead && back.dirs[0].wanted && back.dirs[0].sender);
	assert_true(back.dirs[0].slow_factor == 1 && !back.dirs[1].sender);
	json_decref(j);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		j = json_string(none[i]);
		assert_int_equal(order_parse(j, &back, &e), -1);
		json_decref(j);
	}
	assert_int_equal(order_parse(NULL, &back, &e), -1);
}

static void what_all_orders_share_has_limits(void **state)
{
	const struct order_how how = { .setup_ns = 7, .run_ns = 8, .n_sizes = 2,
				       .sizes = { 8, 4096 }, .iters = 20,
				       .warmup = 1, .check = true };
	struct order_how back = { 0 };
	json_t *j = order_how_json(&how);

	(void)state;
	assert_int_equal(order_how_parse(j, &back, NULL), 0);
	assert_memory_equal(&back, &how, sizeof(how));
	json_object_set_new(j, "sizes", json_pack("[i]", -1));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_pack("[I]", INT64_MAX));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_array());
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_decref(j);
}

static void results_keep_unmeasured_apart_from_zero(void **state)
{
	struct order_result r = { .dir = 1, .size_B = 64 };
	struct order_report report = { .rank = 2, .id = 9, .late_ns = 4,
				       .unfit = true, .crashed = RECORD_NONE,
				       .facts = json_pack("[s]", "a fact"),
				       .results = &r, .n = 1 }, back;
	json_t *j;

	(void)state;
	xport_result_init(&r.r);
	xport_fail(&r.r, OUTCOME_TIMEOUT, "task_timeout", "late by %d", 3);
	j = order_report_json(&report);
	assert_int_equal(order_report_parse(j, &back, NULL), 0);
	assert_true(back.rank == 2 && back.id == 9 && back.late_ns == 4);
	assert_true(back.unfit && back.crashed == RECORD_NONE);
	assert_true(json_equal(back.facts, report.facts));
	assert_int_equal(back.n, 1);
	assert_true(back.results->dir == 1 && back.results->size_B == 64);
	assert_true(isnan(back.results->r.bw_GB_s));
	assert_true(back.results->r.wrong == RECORD_NONE);
	assert_int_equal(back.results->r.outcome, OUTCOME_TIMEOUT);
	assert_string_equal(back.results->r.detail, "late by 3");
	order_report_release(&back);
	json_decref(j);
	/* a library's words may be no UTF-8 */
	xport_fail(&r.r, OUTCOME_ERROR, "nccl_error", "cannot open \xff");
	j = order_report_json(&report);
	assert_int_equal(order_report_parse(j, &back, NULL), 0);
	assert_string_equal(back.results->r.detail, "cannot open ?");
	order_report_release(&back);
	json_decref(j);
	/* it says one result, and has none, or two */
	j = json_string("83020901");
	assert_int_equal(order_report_parse(j, &back, NULL), -1);
	json_decref(j);
	j = json_string("830209018080");
	assert_int_equal(order_report_parse(j, &back, NULL), -1);
	json_decref(j);
	json_decref(report.facts);
}

static void descriptors_travel_with_messages(void **state)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr mh = { 0 };
	struct cmsghdr *c;
	struct iovec iov;
	struct str out = STR_INIT;
	struct wire_fd w;
	json_t *msg = message_new(MSG_CONN, "{s:i,s:s}", "id", 1, "nonce", "");
	int s[2], p[2], fd;
	char byte = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(pipe(p), 0);
	wire_frame(msg, &out);
	json_decref(msg);
	iov = (struct iovec){ out.data, out.len };
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = control.space;
	mh.msg_controllen = sizeof(control.space);
	c = CMSG_FIRSTHDR(&mh);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &p[1], sizeof(int));
	assert_int_equal(sendmsg(s[0], &mh, 0), (int)out.len);
	w = (struct wire_fd){.fd = s[1], .way = MSG_TO_WORKER};
	assert_int_equal(
		wire_fd_recv(&w, &msg, clock_now_ns() + NS_PER_S, NULL), 1);
	json_decref(msg);
	fd = wire_fd_take(&w);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(wire_fd_take(&w), -1);
	close(s[0]);
	assert_int_equal(
		wire_fd_recv(&w, &msg, clock_now_ns() + NS_PER_S, NULL), -1);
	close(s[1]);
	close(fd);
	close(p[0]);
	close(p[1]);
	wire_buf_release(&w.in);
	str_release(&out);
}

static void drop(void *arg, json_t *msg)
{
	(void)arg;
	(void)msg;
}

static void gone(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

static json_t *order_of_rank(int rank)
{
	const struct order o = {
		.rank = rank, .attempt = 1, .seat = { .ranks = 2 },
		.dirs = { { .slow_factor = 1 }, { .slow_factor = 1 } } };

	return message_new(MSG_TASK, "{s:[o]}", "orders", order_json(&o));
}

/* Next to each other and few, else apart; what is between them stays there. */
static void lists_leave_as_one_message(void **state)
{
	static const struct wire_events events = { .message = drop,
						   .closed = gone };
	const size_t sizes[] = { MESSAGE_LIST, 4, 0, 1 };
	uv_pipe_t *pipe = malloc(sizeof(*pipe));
	int s[2], rank = 0;
	struct order o;
	struct wire w;
	struct wire_fd end;
	uv_loop_t loop;
	json_t *msg, *list;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	uv_loop_init(&loop);
	uv_pipe_init(&loop, pipe, 1);
	uv_pipe_open(pipe, s[0]);
	wire_open(&w, (uv_stream_t *)pipe, MSG_FROM_WORKER, NULL, &events,
		  NULL);
	for (int i = 0; i < MESSAGE_LIST + 4; i++) {
		wire_send(&w, order_of_rank(i));
	}
	wire_send(&w, message_new(MSG_CANCEL, "{s:i,s:i}", "id", 1, "rank", 2));
	wire_send(&w, order_of_rank(MESSAGE_LIST + 4));
	wire_push(&w);
	end = (struct wire_fd){.fd = s[1], .way = MSG_TO_WORKER};
	for (int i = 0; i < 4; i++) {
		assert_int_equal(wire_fd_recv(&end, &msg, clock_now_ns() +
					      10 * NS_PER_S, NULL), 1);
		list = json_object_get(msg, "orders");
		assert_int_equal(json_array_size(list), sizes[i]);
		for (size_t k = 0; k < sizes[i]; k++) {
			assert_int_equal(order_parse(json_array_get(list, k),
						     &o, NULL), 0);
			assert_int_equal(o.rank, rank++);
		}
		json_decref(msg);
	}
	wire_send(&w, order_of_rank(0));	/* never leaves */
	wire_close(&w, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	close(s[1]);
	wire_buf_release(&end.in);
}

static void pattern_sees_each_kind_of_damage(void **state)
{
	unsigned char buf[1003], was;

	(void)state;
	for (size_t n = 1; n < sizeof(buf); n += 7) {
		pattern_fill(buf, n, 42);
		assert_int_equal(pattern_wrong(buf, n, 42), 0);
		was = buf[n - 1];
		buf[n - 1] ^= 1;
		assert_int_equal(pattern_wrong(buf, n, 42), 1);
		buf[n - 1] = was;
		pattern_spoil(buf, n);
		assert_true(pattern_wrong(buf, n, 42) > 0);
	}
	pattern_fill(buf, 1000, 42);
	memmove(buf, buf + 8, 992);	/* shifted by a word */
	assert_true(pattern_wrong(buf, 992, 42) > 500);
	memset(buf, 0, 1000);
	assert_true(pattern_wrong(buf, 1000, 42) > 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_survive_any_cut),
		cmocka_unit_test(noise_is_refused),
		cmocka_unit_test(versions_understand_each_other),
		cmocka_unit_test(orders_come_back_as_sent),
		cmocka_unit_test(usual_orders_come_back_as_sent),
		cmocka_unit_test(what_all_orders_share_has_limits),
		cmocka_unit_test(results_keep_unmeasured_apart_from_zero),
		cmocka_unit_test(descriptors_travel_with_messages),
		cmocka_unit_test(lists_leave_as_one_message),
		cmocka_unit_test(pattern_sees_each_kind_of_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
