/* SPDX-License-Identifier: BSD-3-Clause */
/* What dcgmi diag prints, in the forms of DCGM 3 and 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/gpu/gpu.h"

#define TREE(name, results) \
	"{\"" name "\":{\"test_categories\":[{\"category\":\"Deployment\"," \
	"\"tests\":[{\"name\":\"software\",\"results\":[" results "]}]}]}}"

static const struct {
	const char *text;
	int n;			/* -1: none that can be read */
	int gpu;		/* of the first, as below */
	bool fail;
	const char *words;
} cases[] = {
	{ TREE("DCGM GPU Diagnostic", "{\"status\":\"Pass\"}"), 0, 0, false,
	  "" },
	{ TREE("DCGM GPU Diagnostic", "{\"gpu_ids\":\"3\",\"status\":\"Fail\","
	       "\"warnings\":\"a page is pending\"}"), 1, 3, true,
	  "a page is pending" },
	{ TREE("DCGM GPU Diagnostic", "{\"gpu_ids\":\"1, 2\",\"status\":"
	       "\"WARN\",\"warnings\":[{\"warning\":\"hot\"}]}"), 2, 1, false,
	  "hot" },
	{ TREE("DCGM Diagnostic", "{\"entity_group\":\"GPU\",\"entity_id\":5,"
	       "\"status\":\"Fail\",\"warnings\":[{\"error_id\":29,"
	       "\"error_severity\":5,\"warning\":\"a mode is off\"}]}"), 1, 5,
	  false, "a mode is off" },
	{ TREE("DCGM Diagnostic", "{\"entity_group\":\"GPU\",\"entity_id\":5,"
	       "\"status\":\"Fail\",\"warnings\":[{\"error_severity\":2,"
	       "\"warning\":\"an uncontained error\"}]}"), 1, 5, true,
	  "an uncontained error" },
	{ TREE("DCGM Diagnostic", "{\"entity_group\":\"CPU\",\"entity_id\":0,"
	       "\"status\":\"Fail\"}"), 1, -1, true, "Fail" },
	{ TREE("DCGM Diagnostic", "{\"status\":\"Skip\"},{\"status\":7},3"), 0,
	  0, false, "" },
	{ "Successfully ran diagnostic for group.\n{\"DCGM Diagnostic\":{"
	  "\"tests\":[{\"name\":\"memory\",\"results\":[{\"entity_group\":"
	  "\"GPU\",\"entity_id\":0,\"status\":\"Fail\",\"warnings\":[]}]}]}}",
	  1, 0, true, "Fail" },
	{ TREE("DCGM GPU Diagnostic", "{\"gpu_ids\":\"x\",\"status\":\"Fail\"}"
	       ), 1, -1, true, "Fail" },
	{ "{\"DCGM Diagnostic\":{\"runtime_error\":\"no host engine\"}}", -1,
	  0, false, "no host engine" },
	{ "Error: unable to connect", -1, 0, false, "no JSON" },
	{ "{", -1, 0, false, "" },
	{ "{\"DCGM Diagnostic\":[]}", -1, 0, false, "ran no test" },
};

static void every_form_is_read(void **state)
{
	static struct dcgm_found list[DCGM_FOUND_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = { 0 };
		int n = dcgm_parse(cases[i].text, strlen(cases[i].text), list,
				   &e);

		assert_int_equal(n, cases[i].n);
		if (n < 0) {
			assert_non_null(strstr(e.text, cases[i].words));
			continue;
		}
		if (n > 0) {
			assert_int_equal(list[0].gpu, cases[i].gpu);
			assert_int_equal(list[0].fail, cases[i].fail);
			assert_string_equal(list[0].words, cases[i].words);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
