#include "limactl-c/hostagent/troubles.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"

struct trouble {
	char *what, *text;
	bool of_guest;
};

struct troubles {
	struct trouble item[TROUBLES_KEPT_MAX];
	size_t count;
};

struct troubles *troubles_new(void)
{
	return xcalloc(1, sizeof(struct troubles));
}

static void drop(struct troubles *t, size_t i)
{
	free(t->item[i].what);
	free(t->item[i].text);
	t->count--;
	memmove(&t->item[i], &t->item[i + 1], (t->count - i) * sizeof(t->item[0]));
}

void troubles_free(struct troubles *t)
{
	while (t && t->count)
		drop(t, t->count - 1);
	free(t);
}

static size_t find(const struct troubles *t, const char *what, bool of_guest)
{
	size_t i = 0;

	while (i < t->count && (t->item[i].of_guest != of_guest || strcmp(t->item[i].what, what)))
		i++;
	return i;
}

static void set(struct troubles *t, const char *what, const char *text, bool of_guest)
{
	size_t i = find(t, what, of_guest);

	if (i == TROUBLES_KEPT_MAX || (i < t->count && !strcmp(t->item[i].text, text)))
		return;
	log_warn("%s", text);
	if (i < t->count)
		free(t->item[i].text);
	else
		t->item[t->count++] = (struct trouble){ .what = xstrdup(what), .of_guest = of_guest };
	t->item[i].text = xstrdup(text);
}

void troubles_set(struct troubles *t, const char *what, const char *text)
{
	set(t, what, text, false);
}

void troubles_over(struct troubles *t, const char *what)
{
	size_t i = find(t, what, false);

	if (i < t->count)
		drop(t, i);
}

int troubles_message(struct troubles *t, const uint8_t *body, size_t len)
{
	auto_free char *text = NULL;
	struct ap_trouble v;
	size_t i;

	if (ap_trouble_unpack(&v, body, len) < 0)
		return -1;
	text = xasprintf("%s: %s", v.what, v.why);
	i = find(t, v.what, true);
	if (v.why[0]) {
		set(t, v.what, text, true);
	} else if (i < t->count) {
		log_info("%s works again", v.what);
		drop(t, i);
	}
	return 0;
}

void troubles_forget(struct troubles *t)
{
	for (size_t i = t->count; i-- > 0;)
		if (t->item[i].of_guest)
			drop(t, i);
}

bool troubles_of_guest(const struct troubles *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->item[i].of_guest)
			return true;
	return false;
}

void troubles_list(const struct troubles *t, struct jx *list)
{
	for (size_t i = 0; i < t->count; i++)
		jx_add_string(list, t->item[i].text);
}
