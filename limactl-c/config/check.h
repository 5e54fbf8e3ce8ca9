/* check.h - what the files of rules share. */
#ifndef LIMA_CHECK_H
#define LIMA_CHECK_H

#include "limactl-c/base/finding.h"
#include "limactl-c/config/config.h"

struct check {
	const struct cfg *c;
	const struct cfg_input *in;
	struct findings *f;
};

/* What is wrong, at the place of path, which is freed, so that a call may build it. */
void check_bad(struct check *k, char *path, const char *fmt, ...) ERR_FMT(3, 4);
void check_bad_key(struct check *k, char *path, const char *fmt, ...) ERR_FMT(3, 4); /* at a mapping's key */
void check_warn(struct check *k, char *path, const char *fmt, ...) ERR_FMT(3, 4);

/* Every value by itself: required ones, and the form of texts (enum key_check), of each row of the table. */
void validate_values(const struct cfg *c, const char *name, struct findings *f);

/* Rules across fields, on a filled configuration. */
void validate_rules(const struct cfg *c, const struct cfg_input *in, struct findings *f);

/* Each for its own keys. */
void check_machine(struct check *k);
void check_images(struct check *k);
void check_mounts(struct check *k);
void check_provision(struct check *k);
void check_forwards(struct check *k);
void check_networks(struct check *k);
void check_user(struct check *k);
void check_params(struct check *k);

/* Names every useradd takes; Lima's rule. */
bool user_name_ok(const char *name);

/* A port of the host's side or the guest's; path is freed. */
void check_port(struct check *k, uint32_t port, char *path);

#endif
