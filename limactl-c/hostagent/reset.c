#include "limactl-c/hostagent/reset.h"

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/words.h"

enum {
	RESETS_MAX = 5,       /* without the guest agent's answer between them: a boot that leads nowhere */
	RESET_AGAIN_MS = 1000, /* SeaBIOS resets a machine that was reset once more, twice even: that is one */
};

/* One that runs goes on: its containers may come back with it. That it happened stays to be seen. */
static void booted_again(struct ha *ha, const char *words)
{
	auto_free char *times = ++ha->panics > 1 ? xasprintf(" %u times", ha->panics) : xstrdup("");
	auto_free char *why = xasprintf("the guest's kernel panicked%s, and the guest booted again: %s", times, words);

	troubles_set(ha->troubles, "kernel", why);
}

void reset_happened(struct ha *ha, const struct err *panic)
{
	bool panicked = panic->kind != ERR_NONE, came_up = ha->state == HA_RUNNING || ha->state == HA_PAUSED;
	auto_free char *why = NULL, *words = NULL;

	if (ha->killed || (!panicked && ha->resets && clock_ms() < ha->reset_at + RESET_AGAIN_MS))
		return;
	ha->resets++;
	ha->reset_at = clock_ms();
	if (panicked && came_up && ha->resets == 1) {
		booted_again(ha, panic->msg);
		return;
	}
	if (!panicked && ha->resets < RESETS_MAX) {
		log_info("the guest has reset the machine and boots again");
		return;
	}
	words = panicked ? xstrdup(panic->msg) : words_last(ha->plan);
	why = panicked ? xasprintf("the guest's kernel panicked: %s", words) :
			 xasprintf("the guest has reset the machine %u times and its agent does not answer; its console ends with: %s",
				   ha->resets, words);
	life_give_up(ha, why);
}
