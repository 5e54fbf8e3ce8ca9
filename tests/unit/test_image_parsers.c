/* What the image program reads from outside: its command line, digests, manifests, headers of disk images. */
#include "tests/unit/image_util.h"

#include "limactl-c/image/cache.h"
#include "limactl-c/image/digest.h"
#include "limactl-c/image/manifest.h"
#include "limactl-c/base/qcow2.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void digests(void **state)
{
	static const char *const bad[] = {
		"",	       "sha256",	     HEX64, "md5:" HEX64, "sha256:" HEX64 "0", "sha512:" HEX64,
		"sha256:" HEX64 " ", "SHA256:" HEX64, "sha256:xyz",
	};
	struct digest d;
	struct err e;

	(void)state;
	assert_int_equal(digest_parse("sha256:" HEX64, &d, &e), 0);
	assert_string_equal(d.algo, "sha256");
	assert_int_equal(digest_parse("sha512:ABCDEF" HEX64 HEX64, &d, &e), -1);
	assert_int_equal(digest_parse("sha512:" HEX64 "ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", &d,
				      &e), 0);
	assert_memory_equal(d.hex + 64, "abcdef", 6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(digest_parse(bad[i], &d, &e), -1);
		assert_int_equal(e.kind, ERR_INVALID);
	}
}

static void hashes(void **state)
{
	static const char empty512[] = "sha512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
				       "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";
	struct digest want, got;
	struct hash *h;
	struct err e;

	(void)state;
	assert_int_equal(digest_parse(empty512, &want, &e), 0);
	h = hash_new(&want, &e);
	assert_int_equal(hash_end(h, &got, &e), 0);
	assert_string_equal(got.hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_free(h);
	h = hash_new(&want, &e);
	assert_int_equal(hash_add(h, "x", 1, &e), 0);
	assert_int_equal(hash_end(h, &got, &e), -1);
	assert_non_null(strstr(e.msg, "wrong digest: it is sha512:a4abd4448c49562d8281"));
	hash_free(h);
}

static void manifests(void **state)
{
	static const char ok[] = "755 lima/agent /usr/a b\n0600 /lima/settings s";
	static const char *const bad[] = {
		"\n", "755\n", "755 a\n", "755 a \n", "888 a /b\n", "07777 a /b\n", "755 ../a /b\n", "755 a/./b /b\n",
		"755 a//b /b\n", "755 a/ /b\n", "755 a\tb /b\n", "755 a /b\n755 a /c\n", " a /b\n", "755 a\xc3 /b\n",
	};
	struct err e;

	(void)state;
	{
		auto_manifest m = MANIFEST_INIT;

		assert_int_equal(manifest_parse(&m, ok, strlen(ok), &e), 0);
		assert_int_equal(m.files, 2);
		assert_string_equal(m.file[0].host_path, "/usr/a b");
		assert_int_equal(m.file[0].mode, 0755);
		assert_string_equal(m.file[1].guest_path, "lima/settings");
		assert_string_equal(m.file[1].host_path, "s");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_manifest m = MANIFEST_INIT;

		assert_int_equal(manifest_parse(&m, bad[i], strlen(bad[i]), &e), -1);
		assert_non_null(strstr(e.msg, "line "));
	}
	{
		auto_manifest m = MANIFEST_INIT;

		assert_int_equal(manifest_parse(&m, "755 a /b\0c\n", 11, &e), -1);
	}
}

static void qcow2_headers(void **state)
{
	unsigned char h[QCOW2_HEADER_MAX] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };
	struct qcow2_info info;
	struct err e;

	(void)state;
	h[28] = 0x40; /* 1 GiB */
	assert_int_equal(qcow2_parse(h, sizeof(h), 100, &info, &e), 0);
	assert_string_equal(info.format, "qcow2");
	assert_int_equal(info.size, 1 << 30);
	assert_int_equal(qcow2_parse(h, 100, 100, &info, &e), -1); /* cut short */
	h[79] = 4; /* external data file */
	assert_int_equal(qcow2_parse(h, sizeof(h), 100, &info, &e), -1);
	h[79] = 0;
	h[15] = 1; /* backing file */
	assert_int_equal(qcow2_parse(h, sizeof(h), 100, &info, &e), -1);
	assert_non_null(strstr(e.msg, "refers to another file"));
	h[15] = 0;
	h[7] = 4;
	assert_int_equal(qcow2_parse(h, sizeof(h), 100, &info, &e), -1);
	h[3] = 0;
	assert_int_equal(qcow2_parse(h, sizeof(h), 100, &info, &e), 0);
	assert_string_equal(info.format, "raw");
	assert_int_equal(info.size, 100);
}

static void command_lines(void **state)
{
	static const char *const bad[][4] = {
		{ "a", "b", "c" }, { "a" }, { "a", "b", "--nope" }, { "a", "b", "--digest" }, { "a", "b", "--digest=" },
		{ "a", "b", "--program=1" }, { "--digest=x", "--digest=y", "a" },
	};
	static const char *const ok[] = { "--program", "--digest", "d", "--", "--name", "file", NULL };
	struct command_line line;
	struct err e;

	(void)state;
	assert_int_equal(command_parse(&command_import, (char **)(uintptr_t)ok, &line, &e), 0);
	assert_string_equal(line.opt[0], "d");
	assert_string_equal(line.opt[1], "");
	assert_string_equal(line.arg[0], "--name");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[5] = { bad[i][0], bad[i][1], bad[i][2], bad[i][3], NULL };

		assert_int_equal(command_parse(&command_import, (char **)(uintptr_t)argv, &line, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
	assert_int_equal(command_parse(&command_initrd, (char **)(uintptr_t)(ok + 6), &line, &e), -1);
	assert_string_equal(e.msg, "initrd: needs --base BASE");
}

static void names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../x", "a b", ".x", "-x", "a\n" };
	struct err e;

	(void)state;
	assert_int_equal(cache_check_name("alpine-3.23_x86+1.qcow2", &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cache_check_name(bad[i], &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests),	 cmocka_unit_test(hashes),	  cmocka_unit_test(manifests),
		cmocka_unit_test(qcow2_headers), cmocka_unit_test(command_lines), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("image_parsers", tests, NULL, NULL);
}
