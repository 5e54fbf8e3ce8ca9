/* banned.h - calls that have no bound or no owner; the compiler refuses them. Included by the build, not by files. */
#ifndef LIMA_BANNED_H
#define LIMA_BANNED_H

/* The headers that declare them come first, so that only our uses are poisoned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok gmtime localtime ctime asctime

#endif
