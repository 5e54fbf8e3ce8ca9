/* files.h - the guest's end of a copy: lib/fileproto on standard input and output, as the user, at home. */
#ifndef LIMA_GUESTAGENT_FILES_H
#define LIMA_GUESTAGENT_FILES_H

/* files send FLAGS PATH...     FLAGS: r folders too, t say the total first, - nothing of it
 * files receive FLAGS TARGET   FLAGS: d the target has to be a folder, - nothing of it
 *
 * A path that begins with ~/ is at home; of one to send that is not there, *, ? and [ ] stand for names as in a shell. */
int files_main(int argc, char **argv);

#endif
