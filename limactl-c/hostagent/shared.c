#include "limactl-c/hostagent/shared.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/cleanup.h"

void shared_map(struct shared_memory *s, int fd)
{
	auto_close int mine = fd;
	struct stat st;
	void *p;

	*s = (struct shared_memory){ 0 };
	if (mine < 0 || fstat(mine, &st) < 0 || st.st_size <= 0)
		return;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0);
	if (p != MAP_FAILED)
		*s = (struct shared_memory){ p, (size_t)st.st_size };
}

void shared_unmap(struct shared_memory *s)
{
	if (s->p)
		munmap(s->p, s->size);
	*s = (struct shared_memory){ 0 };
}
