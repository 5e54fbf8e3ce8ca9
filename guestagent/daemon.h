/* daemon.h - `agent daemon`: serves the host until it is told to stop. */
#ifndef LIMA_GUESTAGENT_DAEMON_H
#define LIMA_GUESTAGENT_DAEMON_H

/* daemon [--carrier virtio:NAME|unix:PATH|listen:FD] [--settings FILE] [--run DIR]; returns an exit code. */
int daemon_main(int argc, char **argv);

#endif
