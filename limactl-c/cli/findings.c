#include "limactl-c/cli/findings.h"

#include "limactl-c/cli/say.h"

void findings_say(struct findings *f)
{
	findings_sort(f);
	for (size_t i = 0; i < f->count; i++)
		say_finding(&f->item[i]);
	if (f->dropped)
		say_warn("%zu more like these are not shown", f->dropped);
}
