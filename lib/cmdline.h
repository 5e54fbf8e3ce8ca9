/* cmdline.h - the words of a kernel's command line, as the kernel reads it: blanks divide them, but not between double
 * quotes.
 */
#ifndef LIMA_CMDLINE_H
#define LIMA_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

/* Where a guest's own loader says our words, they stand between these two: so they are told from the guest's own and can be
 * taken back. The kernel takes them for parameters of a module that is not there and says nothing. */
#define CMDLINE_BEGIN "lima.begin"
#define CMDLINE_END "lima.end"

/* Moves *at over blanks; the length of the word it then points to, 0 at the end. */
size_t cmdline_word(const char **at);

/* How much of a word makes it speak of the same as another: its name, of a console its device too. */
size_t cmdline_key(const char *word, size_t len);

bool cmdline_has_key(const char *args, const char *word, size_t len); /* args speak of the same as this word */
bool cmdline_has(const char *args, const char *word, size_t len);     /* args hold this very word */

/* Takes what stands between the two marks out of args, with them and in place. */
void cmdline_drop_ours(char *args);

#endif
