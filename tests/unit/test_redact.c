/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/json.h"
#include "lib/data/bundle.h"

#define PEM(what) "-----" what " RSA PRIVATE KEY-----"
#define SK "sk-0123456789abcdefXYZ"
#define JWT "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.x-y_z"

static void check(struct redact *r, const char *text, const char *want)
{
	struct str out = STR_INIT;

	redact_text(r, text, strlen(text), &out);
	assert_string_equal(str_text(&out), want);
	str_release(&out);
}

static void secrets_go(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "HF_TOKEN=abc", "HF_TOKEN=[removed]" },
		{ "export WANDB_API_KEY='a b' X=1",
		  "export WANDB_API_KEY='[removed]' X=1" },
		{ "x password: two words\nnext",
		  "x password: [removed]\nnext" },
		{ "Authorization: Basic dXNlcg==\r\n",
		  "Authorization: [removed]\n" },
		{ "{\"client_secret\": \"a\\\"b\", \"n\": 1}",
		  "{\"client_secret\": \"[removed]\", \"n\": 1}" },
		{ "\"{\\\"token\\\":\\\"abc\\\", \\\"n\\\":1}\"",
		  "\"{\\\"token\\\":\\\"[removed]\\\", \\\"n\\\":1}\"" },
		{ "run --api-key abc --nodes 2",
		  "run --api-key [removed] --nodes 2" },
		{ "SLURM_JWT=abc", "SLURM_JWT=[removed]" },
		{ "WANDB_API_KEY abc", "WANDB_API_KEY [removed]" },
		{ "machine h login me password hunter2",
		  "machine h login me password [removed]" },
		{ "Bearer a1b2c3d4", "Bearer [removed]" },
		{ "java -storepass x", "java -storepass [removed]" },
		{ "mysql -u me -pPASS db", "mysql -u me -p[removed] db" },
		{ "/usr/bin/mysqldump -pPASS\n",
		  "/usr/bin/mysqldump -p[removed]\n" },
		{ "sshpass -p abc ssh h", "sshpass -p [removed] ssh h" },
		{ "ipmitool -H h -U me -P abc power",
		  "ipmitool -H h -U me -P [removed] power" },
		{ "curl -s -u me:pw url", "curl -s -u [removed] url" },
		{ "docker login -u me -p pw",
		  "docker login -u me -p [removed]" },
		{ "DB_PWD=x PWD=/a OLDPWD=/b",
		  "DB_PWD=[removed] PWD=/a OLDPWD=/b" },
		{ "https://me:pw@host/x?a=1", "https://[removed]@host/x?a=1" },
		{ "with " SK ", " JWT "!", "with [removed], [removed]!" },
		{ "a\n" PEM("BEGIN") "\nMII\n" PEM("END") "\nb",
		  "a\n[removed]\nb" },
		{ "a\n" PEM("BEGIN") "\nMII\n", "a\n[removed]" },
		{ "KEY=\"" PEM("BEGIN") "\nMII\n" PEM("END") "\"\nb",
		  "KEY=\"[removed]\"\nb" },
		{ "MII\n" PEM("END") "\nb", "[removed]\nb" },
	};
	struct redact r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const size_t before = r.removed;

		check(&r, cases[i].text, cases[i].want);
		assert_true(r.removed > before);
	}
}

static void what_is_none_stays(void **state)
{
	static const char *const texts[] = {
		"", "--pkey-index=3 pkey: 0xffff lkey=1 Q_Key", "task-sk-1",
		"n0:0 -> n1:0 fail: key", "http://host/a@b", "token",
		"the token expired", "key exchange failed", "secret of a run",
		"mysql -p db", "mkdir -p dir; ssh -p 22", "-pabc mysql",
		"mysql ok\nmkdir -pdir", "NCCL version 2.27.7+cuda12.9",
		"PATH=/usr/bin PWD=/home/alice", "hf_short",
		"-----BEGIN CERTIFICATE-----\nMII",
		"\xff\x01 GPU-8f3c2e1a-0123-4567-89ab-cdef01234567",
	};
	struct redact r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		check(&r, texts[i], texts[i]);
	}
	redact_add_host(&r, "n0");
	check(&r, "n0 /home/alice", "n0 /home/alice");
	assert_int_equal(r.removed, 0);
}

static void names_become_others(void **state)
{
	struct redact r = { 0 };

	(void)state;
	assert_int_equal(redact_names(&r), 0);
	redact_add_host(&r, "gpu1.hpc.example");
	redact_add_host(&r, "gpu10");
	redact_add_host(&r, "10.0.0.1");
	redact_add_host(&r, "localhost");
	redact_add_user(&r, "alice");
	redact_add_user(&r, "root");
	check(&r, "gpu1 gpu10:3 gpu11 xgpu1 gpu1-ib0 logs/t7-gpu1.log",
	      "node1 node2:3 gpu11 xgpu1 node1-ib0 logs/t7-node1.log");
	check(&r, "gpu1.hpc.example gpu10.hpc.example 10.0.0.1 localhost root",
	      "node1 node2 10.0.0.1 localhost root");
	check(&r, "-x gpu[1-3,10] of x[1]", "-x hosts of x[1]");
	check(&r, "alice in /home/alice/a, /users/bob/b; then bob, malice",
	      "user1 in /home/user1/a, /users/user2/b; then user2, malice");
	redact_release(&r);
}

static void json_stays_json(void **state)
{
	const char *text =
		"{\"gpu1\":{\"node\":\"gpu1\",\"n\":1},\"a_key\":\"x\","
		"\"argv\":[\"--token\",\"t\",\"-n\",\"--env=K_TOKEN=\",\"2\"],"
		"\"keys\":[\"a\"],\"text\":\"A_TOKEN=\\\"q\\\" b\"}";
	const char *want =
		"{\"node1\":{\"node\":\"node1\",\"n\":1},"
		"\"a_key\":\"[removed]\",\"argv\":[\"--token\",\"[removed]\","
		"\"-n\",\"--env=K_TOKEN=\",\"2\"],\"keys\":[\"[removed]\"],"
		"\"text\":\"A_TOKEN=\\\"[removed]\\\" b\"}";
	struct redact r = { 0 };
	struct str out = STR_INIT;
	struct err e;
	json_t *json = json_parse(text, strlen(text), &e), *made;

	(void)state;
	assert_non_null(json);
	assert_int_equal(redact_names(&r), 0);
	redact_add_host(&r, "gpu1");
	made = redact_json(&r, "", json);
	json_add(made, JSON_COMPACT, &out);
	assert_string_equal(str_text(&out), want);
	assert_int_equal(r.removed, 4);
	json_decref(json);
	json_decref(made);
	redact_release(&r);
	str_release(&out);
}

/** No text takes more than a moment. */
static void long_words_are_read_once(void **state)
{
	struct str text = STR_INIT, out = STR_INIT;
	struct redact r = { 0 };

	(void)state;
	for (int i = 0; i < 5000; i++) {
		str_add(&text, "a-b.");
	}
	for (int i = 0; i < 20000; i++) {
		str_add(&text, "-----BEGIN ");
	}
	assert_int_equal(redact_names(&r), 0);
	redact_add_host(&r, "n0");
	redact_text(&r, str_text(&text), text.len, &out);
	assert_string_equal(str_text(&out), str_text(&text));
	redact_release(&r);
	str_release(&text);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_go),
		cmocka_unit_test(what_is_none_stays),
		cmocka_unit_test(names_become_others),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(long_words_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
