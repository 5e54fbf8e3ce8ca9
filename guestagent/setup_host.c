/* setup_host.c - the guest's name, its /etc/hosts, the environment of logins. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"

/* A name is letters, digits, dots and hyphens; anything else would end up in files that others parse. */
static bool usable(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");

	return n > 0 && n <= 64 && name[n] == '\0' && name[0] != '-' && name[0] != '.';
}

static bool is_address(const char *text)
{
	unsigned char address[16];

	return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* Lines for host.NAME, the template's hostResolver.hosts. */
static int add_hosts(const struct setup *su, struct buf *text)
{
	int bad = 0;

	for (size_t i = 0; i < su->settings->count; i++) {
		const struct setting *s = &su->settings->item[i];

		if (strncmp(s->key, "host.", 5) != 0)
			continue;
		if (usable(s->key + 5) && is_address(s->value))
			bad |= buf_addf(text, "%s %s\n", s->value, s->key + 5);
		else
			su_warn(su, "hostResolver.hosts: \"%.80s\" with \"%.80s\" is no name with an address",
				s->key + 5, s->value);
	}
	return bad;
}

int setup_hostname(const struct setup *su, struct err *e)
{
	const char *name = settings_get(su->settings, "hostname", "lima");
	const char *gateway = settings_get(su->settings, "net.gateway", "10.0.2.2");
	auto_buf hosts = BUF_INIT(SU_FILE_MAX);
	char text[80];
	int bad;

	if (!usable(name))
		return err_set(e, ERR_INVALID, "\"%.80s\" is no host name", name);
	if (!*su->root && sethostname(name, strlen(name)) < 0)
		return err_errno(e, "cannot set \"%s\"", name);
	snprintf(text, sizeof(text), "%s\n", name);
	if (su_write(su, "/etc/hostname", text, 0644, e) < 0)
		return -1;
	bad = buf_addf(&hosts,
		       "127.0.0.1 localhost localhost.localdomain\n"
		       "::1 localhost localhost.localdomain\n"
		       "127.0.1.1 %s\n"
		       "%.64s host.lima.internal\n",
		       name, gateway);
	if (bad | add_hosts(su, &hosts))
		return err_set(e, ERR_INVALID, "there are too many hosts");
	return su_block(su, "/etc/hosts", hosts.data, e);
}

/* Appends value as one word of a shell. */
static int add_quoted(struct buf *b, const char *value)
{
	int bad = buf_adds(b, "'");

	for (; *value; value++)
		bad |= *value == '\'' ? buf_adds(b, "'\\''") : buf_add(b, value, 1);
	return bad | buf_adds(b, "'");
}

/* Names come from env.NAME; one that no shell can assign would break every login. */
static bool is_variable(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n > 0 && name[n] == '\0' && (name[0] < '0' || name[0] > '9');
}

int setup_environment(const struct setup *su, struct err *e)
{
	/* The engine's programs are linked into the usual places; this is for those whose place was taken. */
	static const char path[] = SETUP_PATH ":" RUN_DIR "/engine/usr/sbin:" RUN_DIR "/engine/usr/bin";
	static const char hook[] = "# Written by lima-guestagent: the template's env.\n"
				   "if [ -r " RUN_DIR "/profile ]; then . " RUN_DIR "/profile; fi\n";
	auto_buf plain = BUF_INIT(SU_FILE_MAX), shell = BUF_INIT(SU_FILE_MAX), services = BUF_INIT(SU_FILE_MAX);
	int bad = buf_addf(&shell, "export PATH='%s'\n", path) | buf_adds(&plain, "") | buf_adds(&services, "");

	for (size_t i = 0; i < su->settings->count; i++) {
		const struct setting *s = &su->settings->item[i];

		if (strncmp(s->key, "env.", 4) != 0)
			continue;
		if (!is_variable(s->key + 4)) {
			su_warn(su, "\"%.80s\" is no name of an environment variable", s->key + 4);
			continue;
		}
		/* A value of several lines has no place in a file of NAME=VALUE lines. */
		if (!strchr(s->value, '\n'))
			bad |= buf_addf(&plain, "%s=%s\n", s->key + 4, s->value);
		bad |= buf_addf(&services, "%s=", s->key + 4) | add_quoted(&services, s->value) | buf_adds(&services, "\n");
		bad |= buf_addf(&shell, "export %s=", s->key + 4) | add_quoted(&shell, s->value) | buf_adds(&shell, "\n");
	}
	if (bad)
		return err_set(e, ERR_INVALID, "the environment is too large");
	if (su_write(su, RUN_DIR "/path", SETUP_PATH ":" RUN_DIR "/engine/usr/sbin:" RUN_DIR "/engine/usr/bin\n",
		     0644, e) < 0 ||
	    su_write(su, RUN_DIR "/environment", plain.data, 0644, e) < 0 ||
	    su_write(su, RUN_DIR "/profile", shell.data, 0644, e) < 0 ||
	    su_write(su, RUN_DIR "/services.env", services.data, 0600, e) < 0 ||
	    su_block(su, "/etc/environment", plain.data, e) < 0 ||
	    su_mkdirs(su, "/etc/profile.d", 0755, e) < 0)
		return -1;
	return su_write(su, "/etc/profile.d/90-lima.sh", hook, 0644, e);
}
