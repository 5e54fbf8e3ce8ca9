#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "limactl-c/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Whatever plan.json holds: refused in words, or a plan that can be worked with and freed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct plan p = { 0 };
	struct err e;

	if (plan_parse(&p, (const char *)data, len, &e) == 0) {
		free(plan_machine_text(&p));
		free(plan_settings_text(&p, &e));
		plan_free(&p);
	}
	return 0;
}
