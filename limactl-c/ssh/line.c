#include "limactl-c/ssh/line.h"

#include <stdio.h>
#include <string.h>

#include "lib/shell_line.h"

enum { WORDS = 16 + EP_ENV_MAX };

/* $1 where to run, $2 whether only there, $3 shell, $4 command, then assignments. */
static const char command_script[] =
	"printf '" LINE_MARK "%s\\n' \"$$\"; d=$1 o=$2 s=${3:-${SHELL:-/bin/sh}} c=$4; shift 4; "
	"if [ -z \"$d\" ] || ! cd \"$d\" 2>/dev/null; then "
	"[ -z \"$o\" ] || { echo \"limactl-c: $d: there is no such folder\" >&2; exit 1; }; cd 2>/dev/null || cd /; fi; "
	"case $s in /*) SHELL=$s; export SHELL ;; esac; "
	"if [ -n \"$c\" ]; then exec env \"$@\" \"$s\" -l -c \"$c\"; else exec env \"$@\" \"$s\" -l; fi";

/* $1 process, $2 signal, $3 whether it has a terminal: the sixth field behind the name is the group in its foreground. */
static const char signal_script[] =
	"g=$1; if [ -n \"$3\" ] && read -r l </proc/$1/stat; then set -- \"$1\" \"$2\" ${l##*) }; [ \"$8\" -gt 1 ] && g=$8; fi; "
	"kill -s \"$2\" -- \"-$g\"";

static const char hang_up_script[] =
	"kill -s HUP -- \"-$1\"; kill -s CONT -- \"-$1\"; sleep 2; kill -s KILL \"$1\"";

/* Ten minutes at most, as Lima waits for it. */
static const char boot_script[] =
	"n=0; until [ -e /run/lima-boot-done ]; do n=$((n + 1)); [ $n -le 600 ] || exit 1; sleep 1; done";

/* $1 is the socket. Each of these passes on the end of input and then waits for the other end's. OpenSSH tells the end of
 * output when that of error output has come too. */
static const char python_relay[] =
	"import os,socket,sys,threading\n"
	"s=socket.socket(socket.AF_UNIX)\n"
	"s.connect(sys.argv[1])\n"
	"def up():\n"
	" while True:\n"
	"  b=os.read(0,65536)\n"
	"  if not b: break\n"
	"  s.sendall(b)\n"
	" s.shutdown(socket.SHUT_WR)\n"
	"threading.Thread(target=up,daemon=True).start()\n"
	"while True:\n"
	" b=s.recv(65536)\n"
	" if not b: break\n"
	" while b: b=b[os.write(1,b):]\n"
	"os._exit(0)\n";
static const char connect_script[] =
	"a=; [ -w \"$1\" ] || a='sudo -n'; has() { command -v \"$1\" >/dev/null 2>&1; }; "
	"plain() { case $1 in *[!A-Za-z0-9/._-]*) return 1 ;; esac; }; "
	"if has socat && plain \"$1\"; then o=close; [ ! -S /dev/stdout ] || o=down; "
	"exec $a socat -t 31536000 \"STDIN!!STDOUT,shut-$o\" \"UNIX-CONNECT:$1\" 2>/dev/null; fi; "
	"if has nc && nc -h 2>&1 | grep -q -e '-N.*[Ss]hutdown'; then exec $a nc -N -U \"$1\" 2>/dev/null; fi; "
	"if has docker; then exec $a env \"DOCKER_HOST=unix://$1\" docker system dial-stdio; fi; "
	"if has python3; then exec $a python3 -c \"$2\" \"$1\"; fi; "
	"echo 'the guest has none of socat, nc with -N and -U, docker and python3' >&2; exit 127";

/* "exec sh -c SCRIPT sh WORDS…"; with as_root by sudo, where the user is another. */
static int script_line(struct buf *out, bool as_root, const char *script, const char *const *word, size_t words)
{
	static const char as_root_script[] =
		"[ \"$(id -u)\" = 0 ] || exec sudo -n -H -- sh -c \"$@\"; exec sh -c \"$@\"";
	const char *all[WORDS] = { "exec", "sh", "-c" };
	size_t n = 3;

	if (as_root) {
		all[n++] = as_root_script;
		all[n++] = "sh";
	}
	all[n++] = script;
	all[n++] = "sh";
	for (size_t i = 0; i < words && n < WORDS; i++)
		all[n++] = word[i];
	return shell_line(out, all, n);
}

/* The agent leaves out what is no assignment. */
static bool is_assignment(const char *s)
{
	return *s != '=' && *s != '-' && strchr(s, '=');
}

int line_command(struct buf *out, const struct ep_start *s)
{
	auto_buf command = BUF_INIT(LINE_MAX_BYTES);
	const char *word[4 + EP_ENV_MAX];
	size_t n = 4;

	if (s->argc && shell_line(&command, s->argv, s->argc) < 0)
		return -1;
	word[0] = s->workdir;
	word[1] = s->only_there ? "only" : "";
	word[2] = s->shell;
	word[3] = command.data ? command.data : "";
	for (size_t i = 0; i < s->envc; i++)
		if (is_assignment(s->env[i]))
			word[n++] = s->env[i];
	return script_line(out, s->as_root, command_script, word, n);
}

int line_signal(struct buf *out, const char *pid, unsigned number, bool tty, bool as_root)
{
	char text[16];
	const char *word[] = { pid, text, tty ? "tty" : "" };

	snprintf(text, sizeof(text), "%u", number);
	return script_line(out, as_root, signal_script, word, 3);
}

int line_hang_up(struct buf *out, const char *pid, bool as_root)
{
	return script_line(out, as_root, hang_up_script, &pid, 1);
}

int line_connect(struct buf *out, const char *path)
{
	const char *word[] = { path, python_relay };

	return script_line(out, false, connect_script, word, 2);
}

int line_await_boot(struct buf *out)
{
	return script_line(out, false, boot_script, NULL, 0);
}
