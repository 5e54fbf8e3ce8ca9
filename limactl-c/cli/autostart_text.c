/* The text of an entry. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/autostart.h"

enum { VARIABLES_MAX = 256 };

/* What tells where instances and programs are, how images are fetched and machines started. LIMA_HOME is there always. */
static const char *const carried[] = {
	"PATH", "XDG_CACHE_HOME", "LIMA_TEMPLATES_PATH", "LIMA_SHELLENV_*", "LIMA_SSH_*", "LIMACTL_C_*", "QEMU_SYSTEM_*", "SSH",
	"*_proxy", "*_PROXY", "CURL_CA_BUNDLE", "SSL_CERT_FILE", NULL,
};

struct variables {
	char *one[VARIABLES_MAX]; /* NAME=VALUE, in order */
	size_t count;
};

static void variables_free(struct variables *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->one[i]);
}

static bool is_carried(const char *name)
{
	if (!*name || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])
		return false;
	for (size_t i = 0; carried[i]; i++)
		if (fnmatch(carried[i], name, 0) == 0)
			return true;
	return false;
}

/* Neither kind of text has a way to write everything. */
static int check(const char *what, const char *text, struct err *e)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return err_set(e, ERR_INVALID, "%s has a control character, which an autostart entry cannot carry", what);
	return text_is_utf8(text) ? 0 : err_set(e, ERR_INVALID, "%s is not UTF-8, which an autostart entry cannot carry", what);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int collect(const struct autostart *a, struct variables *v, struct err *e)
{
	v->one[v->count++] = xasprintf("LIMA_HOME=%s", a->home);
	for (size_t i = 0; a->env && a->env[i] && v->count < VARIABLES_MAX; i++) {
		const char *equals = strchr(a->env[i], '=');
		auto_free char *name = equals ? xstrndup(a->env[i], (size_t)(equals - a->env[i])) : xstrdup("");

		if (!is_carried(name))
			continue;
		if (check(name, equals + 1, e) < 0)
			return -1;
		v->one[v->count++] = xstrdup(a->env[i]);
	}
	qsort(v->one + 1, v->count - 1, sizeof(*v->one), by_text);
	return 0;
}

/* --- systemd --- */

/* In quotes. "%" would begin a specifier, "$" a variable, which only arguments are searched for. */
static int add_quoted(struct buf *b, const char *s, bool argument)
{
	int bad = buf_adds(b, "\"");

	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			bad |= buf_adds(b, "\\");
		if (*s == '%' || (*s == '$' && argument))
			bad |= buf_add(b, s, 1);
		bad |= buf_add(b, s, 1);
	}
	return bad | buf_adds(b, "\"");
}

static int systemd_variable(struct buf *b, const char *assignment)
{
	return buf_adds(b, "Environment=") | add_quoted(b, assignment, false) | buf_adds(b, "\n");
}

/* When the host agent dies the machine is left to it, or to who starts it anew: it is adopted then. */
static int systemd(const struct autostart *a, const struct variables *v, struct buf *b)
{
	int bad = buf_addf(b, "[Unit]\nDescription=limactl-c instance %s\nStartLimitIntervalSec=600\nStartLimitBurst=3\n\n[Service]\n"
			      "Type=exec\n", a->name);

	for (size_t i = 0; i < v->count; i++)
		bad |= systemd_variable(b, v->one[i]);
	bad |= buf_adds(b, "ExecStart=") | add_quoted(b, a->program, false) |
	       buf_addf(b, " start --tty=false --foreground %s\n", a->name);
	bad |= buf_adds(b, "ExecStop=") | add_quoted(b, a->program, false) | buf_addf(b, " stop %s\n", a->name);
	return bad | buf_adds(b, "TimeoutStopSec=200\nKillMode=process\nRestart=on-failure\nRestartSec=10\n\n[Install]\n"
				 "WantedBy=default.target\n");
}

/* --- launchd --- */

static int add_xml(struct buf *b, const char *s, size_t n)
{
	static const struct {
		char c;
		const char *as;
	} escapes[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" } };
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < 3 && escapes[k].c != s[i])
			k++;
		bad |= k < 3 ? buf_adds(b, escapes[k].as) : buf_add(b, s + i, 1);
	}
	return bad;
}

static int add_element(struct buf *b, const char *indent, const char *element, const char *s, size_t n)
{
	return buf_addf(b, "%s<%s>", indent, element) | add_xml(b, s, n) | buf_addf(b, "</%s>\n", element);
}

static int add_string(struct buf *b, const char *indent, const char *s)
{
	return add_element(b, indent, "string", s, strlen(s));
}

static int launchd_variable(struct buf *b, const char *assignment)
{
	size_t name = strcspn(assignment, "=");

	return add_element(b, "\t\t", "key", assignment, name) | add_string(b, "\t\t", assignment + name + 1);
}

static int launchd(const struct autostart *a, const struct variables *v, struct buf *b)
{
	int bad = buf_addf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
			      "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n"
			      "\t<key>Label</key>\n\t<string>io.limactl-c.autostart.%s</string>\n"
			      "\t<key>ProgramArguments</key>\n\t<array>\n", a->name);

	bad |= add_string(b, "\t\t", a->program) | add_string(b, "\t\t", "start") | add_string(b, "\t\t", "--tty=false") |
	       add_string(b, "\t\t", "--foreground") | add_string(b, "\t\t", a->name);
	bad |= buf_adds(b, "\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n");
	for (size_t i = 0; i < v->count; i++)
		bad |= launchd_variable(b, v->one[i]);
	bad |= buf_adds(b, "\t</dict>\n\t<key>RunAtLoad</key>\n\t<true/>\n\t<key>ProcessType</key>\n\t<string>Interactive</string>\n");
	if (a->user)
		bad |= buf_adds(b, "\t<key>UserName</key>\n") | add_string(b, "\t", a->user);
	return bad | buf_adds(b, "</dict>\n</plist>\n");
}

static const struct {
	int (*entry)(const struct autostart *a, const struct variables *v, struct buf *b);
	int (*variable)(struct buf *b, const char *assignment);
} writers[] = {
	[AUTOSTART_SYSTEMD] = { systemd, systemd_variable },
	[AUTOSTART_LAUNCHD] = { launchd, launchd_variable },
};
_Static_assert(sizeof(writers) / sizeof(*writers) == AUTOSTART_SYSTEMS, "a writer for each system");

bool autostart_is_of(const struct autostart *a, const char *entry)
{
	auto_free char *home = xasprintf("LIMA_HOME=%s", a->home);
	auto_buf line = BUF_INIT(AUTOSTART_TEXT_MAX);

	return writers[a->system].variable(&line, home) == 0 && strstr(entry, line.data);
}

int autostart_text(const struct autostart *a, struct buf *out, struct err *e)
{
	CLEANUP(variables_free) struct variables v = { 0 };

	if (check("the path of limactl-c", a->program, e) < 0 || check("LIMA_HOME", a->home, e) < 0 ||
	    (a->user && check("the user's name", a->user, e) < 0) || collect(a, &v, e) < 0)
		return -1;
	return writers[a->system].entry(a, &v, out) ? err_set(e, ERR_INVALID, "the environment is too large for an autostart entry") : 0;
}
