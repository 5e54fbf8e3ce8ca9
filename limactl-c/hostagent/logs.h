/* logs.h - a ceiling for the logs that standard output and standard error are. */
#ifndef LIMA_HOSTAGENT_LOGS_H
#define LIMA_HOSTAGENT_LOGS_H

enum { LOGS_LIMIT = 1 << 20 }; /* bytes, then a log becomes NAME.1 and begins anew */

/* Looks at descriptor fd; when it is the file at path and beyond the limit, goes on with a new file. */
void logs_check(int fd, const char *path);

#endif
