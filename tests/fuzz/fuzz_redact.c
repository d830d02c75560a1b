/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/bundle.h"

#define SECRET "tiger-lily"

/** What an untrusted run leaves in its logs and run.json: whatever stands
 *  before it, a secret of the next line does not get through. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = STR_INIT, out = STR_INIT;
	struct redact r = { 0 };
	json_t *json, *hidden;

	if (memmem(data, size, "ger-", 4)) {
		return 0;
	}
	str_addmem(&text, data, size);
	str_add(&text, "\nHF_TOKEN=" SECRET "\n");
	if (size % 2 && redact_names(&r) == 0) {
		redact_add(&r, REDACT_HOST, "n1.hpc.example");
		redact_add(&r, REDACT_USER, "alice");
	}
	redact_text(&r, text.data, text.len, &out);
	if (r.removed == 0 || memmem(out.data, out.len, SECRET,
				     strlen(SECRET))) {
		abort();
	}
	json = json_parse((const char *)data, size, NULL);
	hidden = json ? redact_json(&r, "", json) : NULL;
	if (json && !hidden) {
		abort();
	}
	json_decref(json);
	json_decref(hidden);
	redact_release(&r);
	str_release(&text);
	str_release(&out);
	return 0;
}
