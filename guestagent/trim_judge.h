/* trim_judge.h - whether a cache-trim is worth it, from what the kernel tells of itself. Texts are those of its files. */
#ifndef LIMA_GUESTAGENT_TRIM_JUDGE_H
#define LIMA_GUESTAGENT_TRIM_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of /proc/meminfo's page cache that could be dropped: neither dirty nor shared memory. 0 when it does not say. */
uint64_t trim_clean_cache(const char *meminfo);

/* Whether somebody waited for more than a quarter of the last ten seconds: a file of /proc/pressure. */
bool trim_is_pressed(const char *pressure);

/* Whether comm, a process's name, is one of words, which blanks divide. */
bool trim_is_named(const char *words, const char *comm);

bool trim_guest_is_busy(void);
/* Whether a program of such a name runs: its warm cache is what it is there for. */
bool trim_is_kept_warm(const char *words);
uint64_t trim_clean_cache_now(void);

#endif
