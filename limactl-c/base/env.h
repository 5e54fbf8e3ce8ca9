/* env.h - what the environment says. */
#ifndef LIMA_ENV_H
#define LIMA_ENV_H

/* The whole seconds that the variable says, usual when it says none: tests have less time than people. */
unsigned env_seconds(const char *name, unsigned usual);

#endif
