/* fetch.h - one HTTP or HTTPS download through libcurl. */
#ifndef LIMA_IMAGE_FETCH_H
#define LIMA_IMAGE_FETCH_H

#include "limactl-c/image/sink.h"

/* Follows redirects, heeds the proxy variables of the environment, gives up when nothing arrives for a minute.
 * Shows percentages on stderr when that is a terminal. */
int fetch_url(const char *url, struct sink *to, struct err *e);

#endif
