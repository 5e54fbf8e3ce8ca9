/* Layers of a load and bases of a template: a row for each rule. */
#include "tests/unit/merge_util.h"

#include <time.h>

#include "lib/buf.h"
#include "limactl-c/config/merge.h"

struct row {
	const char *what;
	const char *defaults, *instance, *override; /* NULL: there is none */
	const char *wanted;
};

static const struct row layers[] = {
	{ "nothing is one layer", NULL, "{}", NULL, "{}" },
	{ "scalars: the higher wins", "cpus: 1\nmemory: 1GiB\ndisk: 1GiB\n", "cpus: 2\nmemory: 2GiB\n", "cpus: 3\n",
	  "cpus: 3\nmemory: 2GiB\ndisk: 1GiB\n" },
	{ "null is not set", "cpus: 1\nssh: {localPort: 5}\nmounts: [{location: /a}]\n", "cpus:\nssh:\nmounts: ~\n",
	  "cpus: null", "cpus: 1\nssh: {localPort: 5}\nmounts: [{location: /a}]\n" },
	{ "empty text is set", "memory: 1GiB", "memory: \"\"", NULL, "memory: \"\"" },
	{ "maps are merged deeply", "ssh: {localPort: 1, forwardAgent: true}",
	  "ssh: {localPort: 2, loadDotSSHPubKeys: false}", "ssh: {overVsock: true}",
	  "ssh: {localPort: 2, forwardAgent: true, loadDotSSHPubKeys: false, overVsock: true}" },
	{ "and deeper", "video: {vnc: {display: a}, display: b}", "video: {vnc: {display: c}}", NULL,
	  "video: {vnc: {display: c}, display: b}" },
	{ "a kind that does not fit is left to the check", "ssh: {localPort: 1}", "ssh: 5", NULL, "ssh: 5" },
	{ "images: override, instance, defaults", "images: [{location: d}]", "images: [{location: y}]",
	  "images: [{location: o}]", "images: [{location: o}, {location: y}, {location: d}]" },
	{ "additionalDisks: equal names stay", "additionalDisks: [x]", "additionalDisks: [{name: x}, \"*\"]", NULL,
	  "additionalDisks: [{name: x}, \"*\", x]" },
	{ "firmware.images", "firmware: {images: [d]}", "firmware: {images: [y], legacyBIOS: true}",
	  "firmware: {images: [o]}", "firmware: {images: [o, y, d], legacyBIOS: true}" },
	{ "provision", "provision: [{script: d}]", "provision: [{script: y}]", "provision: [{script: o}]",
	  "provision: [{script: o}, {script: y}, {script: d}]" },
	{ "containerd.archives", "containerd: {archives: [d]}", "containerd: {archives: [y]}",
	  "containerd: {archives: [o]}", "containerd: {archives: [o, y, d]}" },
	{ "probes", "probes: [d]", "probes: [y]", "probes: [o]", "probes: [o, y, d]" },
	{ "portForwards: ranges inside stay whole", "portForwards: [{guestPortRange: [1, 2]}]",
	  "portForwards: [{guestPortRange: [3, 4]}]", NULL,
	  "portForwards: [{guestPortRange: [3, 4]}, {guestPortRange: [1, 2]}]" },
	{ "copyToHost", "copyToHost: [d]", "copyToHost: [y]", "copyToHost: [o]", "copyToHost: [o, y, d]" },
	{ "mountTypesUnsupported: repeats stay", "mountTypesUnsupported: [9p]", "mountTypesUnsupported: [9p]",
	  "mountTypesUnsupported: [virtiofs]", "mountTypesUnsupported: [virtiofs, 9p, 9p]" },
	{ "mounts: defaults first", "mounts: [{location: /d}]", "mounts: [{location: /y}]",
	  "mounts: [{location: /o}]", "mounts: [{location: /d}, {location: /y}, {location: /o}]" },
	{ "mounts: one mount point, the later wins by field",
	  "mounts: [{location: /a, writable: true, sshfs: {cache: false, followSymlinks: true}}]",
	  "mounts: [{location: /y}, {location: /a/, writable: null, sshfs: {cache: true}, 9p: {msize: 1KiB}}]",
	  "mounts: [{location: /a, writable: false}]",
	  "mounts: [{location: /a, writable: false, sshfs: {cache: true, followSymlinks: true}, 9p: {msize: "
	  "1KiB}}, {location: /y}]" },
	{ "mounts: the first location of a mount point stays", "mounts: [{location: /a}]",
	  "mounts: [{location: /b, mountPoint: /a}]", NULL, "mounts: [{location: /a, mountPoint: /a}]" },
	{ "mounts: of one layer too", NULL,
	  "mounts: [{location: /a}, {location: /b}, {location: /a, writable: true}]", NULL,
	  "mounts: [{location: /a, writable: true}, {location: /b}]" },
	{ "mounts: a star is a name here", NULL, "mounts: [{location: /a}, {location: \"*\", writable: true}]", NULL,
	  "mounts: [{location: /a}, {location: \"*\", writable: true}]" },
	{ "mounts: words are left to the check", "mounts: [a]", "mounts: [a]", NULL, "mounts: [a, a]" },
	{ "networks: one interface, the later wins by field", "networks: [{interface: a, metric: 1, macAddress: m}]",
	  "networks: [{lima: x}, {interface: a, metric: 2}]", "networks: [{lima: x}]",
	  "networks: [{interface: a, metric: 2, macAddress: m}, {lima: x}, {lima: x}]" },
	{ "networks: lima and socket exclude each other",
	  "networks: [{interface: a, lima: shared}, {interface: b, socket: /s}]",
	  "networks: [{interface: a, socket: /t}, {interface: b, lima: bridged, socket: \"\"}]", NULL,
	  "networks: [{interface: a, socket: /t}, {interface: b, lima: bridged, socket: \"\"}]" },
	{ "networks: empty text is not set", "networks: [{interface: a, lima: shared}]",
	  "networks: [{interface: a, lima: \"\", macAddress: m}]", NULL,
	  "networks: [{interface: a, lima: shared, macAddress: m}]" },
	{ "caCerts: defaults first, each once", "caCerts: {files: [a, b], certs: [x]}",
	  "caCerts: {files: [b, c], certs: [x, y]}", "caCerts: {files: [a, d], removeDefaults: true}",
	  "caCerts: {files: [a, b, c, d], certs: [x, y], removeDefaults: true}" },
	{ "caCerts: only what is written alike is one", "caCerts: {files: [/a, /a/]}", "caCerts: {files: [/a//, [x]]}",
	  "caCerts: {files: [[x], \"/a\"]}", "caCerts: {files: [/a, /a/, /a//, [x], [x]]}" },
	{ "dns: the highest list alone", "dns: [1.1.1.1]", "dns: [2.2.2.2, 3.3.3.3]", NULL,
	  "dns: [2.2.2.2, 3.3.3.3]" },
	{ "dns: an empty list is none", "dns: [1.1.1.1]", "dns: [2.2.2.2]", "dns: []", "dns: [2.2.2.2]" },
	{ "env, param: by key, nothing is a value", "env: {A: d, B: d, C: d}\nparam: {P: d}\n",
	  "env: {A: y, B: y}\nparam: {P: y, Q: y}\n", "env: {A: o, C: }\n",
	  "env: {A: o, B: y, C: }\nparam: {P: y, Q: y}\n" },
	{ "hostResolver.hosts: by key", "hostResolver: {hosts: {a.b: 1, c: 1}}",
	  "hostResolver: {enabled: false, hosts: {a.b: 2}}", NULL,
	  "hostResolver: {enabled: false, hosts: {a.b: 2, c: 1}}" },
	{ "vmOpts: whole drivers",
	  "vmOpts: {qemu: {minimumVersion: 9.0.0, cpuType: {x86_64: a}}, vz: {rosetta: {enabled: true}}}",
	  "vmOpts: {qemu: {cpuType: {aarch64: b}}}", NULL,
	  "vmOpts: {qemu: {cpuType: {aarch64: b}}, vz: {rosetta: {enabled: true}}}" },
	{ "osOpts: whole systems", "osOpts: {Windows: {virtioWin: [a]}, Linux: {}}",
	  "osOpts: {Windows: {virtioWin: [b]}}", NULL, "osOpts: {Windows: {virtioWin: [b]}, Linux: {}}" },
	{ "guest.kernelArgs: the last one counts", "guest: {kernelArgs: [d]}", "guest: {kernelArgs: [y]}",
	  "guest: {kernelArgs: [o]}", "guest: {kernelArgs: [d, y, o]}" },
	{ "tuning.fstrim: none is a choice", "tuning: {fstrim: [boot]}", "tuning: {fstrim: []}", NULL,
	  "tuning: {fstrim: []}" },
	{ "minimumLimaVersion: as any scalar", "minimumLimaVersion: 2.0.0", "minimumLimaVersion: 1.0.0", NULL,
	  "minimumLimaVersion: 1.0.0" },
};

static void test_layers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		const struct row *r = &layers[i];
		struct ynode *d = tree("d", r->defaults), *y = tree("y", r->instance), *o = tree("o", r->override);
		struct ynode *out = merge_layers(pool, d, y, o);

		assert_non_null(out);
		assert_alike(r->what, "", out, tree("wanted", r->wanted));
	}
}

static void assert_place(const struct ynode *n, const char *file, unsigned line, unsigned column)
{
	struct place at = yn_place(n);

	assert_string_equal(at.file, file);
	assert_int_equal(at.line, line);
	assert_int_equal(at.column, column);
}

static void test_merged_values_keep_their_places(void **state)
{
	struct ynode *d = tree("default.yaml", "mounts:\n- {location: /a, writable: true}\nenv: {A: 1}\n");
	struct ynode *y = tree("lima.yaml", "cpus: 2\nmounts:\n- location: /a\n  sshfs: {cache: false}\n"
					    "provision: [{script: y}]\n");
	struct ynode *o = tree("override.yaml", "\n\ncpus: 4\nprovision:\n- script: o\n");
	struct ynode *out = merge_layers(pool, d, y, o), *mount = yn_get(out, "mounts")->item[0];

	(void)state;
	assert_place(out, "lima.yaml", 1, 1);
	assert_place(yn_get(out, "cpus"), "override.yaml", 3, 7);
	assert_place(yn_get(mount, "location"), "default.yaml", 2, 14);
	assert_place(yn_get(mount, "writable"), "default.yaml", 2, 28);
	assert_place(yn_get(yn_get(mount, "sshfs"), "cache"), "lima.yaml", 4, 18);
	assert_place(yn_get(yn_get(out, "env"), "A"), "default.yaml", 3, 10);
	assert_place(yn_get(yn_get(out, "provision")->item[0], "script"), "override.yaml", 5, 11);
	assert_place(yn_get(yn_get(out, "provision")->item[1], "script"), "lima.yaml", 5, 22);
	assert_int_equal(yn_get(d, "mounts")->count, 1); /* what was given is not changed */
	assert_int_equal(yn_get(o, "provision")->count, 1);
}

static void test_no_layer_is_nothing(void **state)
{
	(void)state;
	assert_null(merge_layers(pool, NULL, NULL, NULL));
}

struct base_row {
	const char *what, *template, *base, *wanted;
};

static const struct base_row bases[] = {
	{ "a base gives what is missing", "", "vmType: qemu", "vmType: qemu" },
	{ "the template wins", "vmType: vz", "{arch: aarch64, vmType: qemu}", "{arch: aarch64, vmType: vz}" },
	{ "null in a template is its word", "vmType: null\nssh:\nmounts:\nenv: {A: }\n",
	  "vmType: qemu\nssh: {localPort: 1}\nmounts: [{location: /a}]\nenv: {A: x, B: y}\n",
	  "vmType: null\nssh: null\nmounts: null\nenv: {A: null, B: y}\n" },
	{ "maps deeply, drivers too", "vmOpts: {qemu: {cpuType: {x86_64: a}}}\nenv: {A: 1}",
	  "vmOpts: {qemu: {cpuType: {x86_64: b, aarch64: c}}}\nenv: {A: 2, B: 3}",
	  "vmOpts: {qemu: {cpuType: {x86_64: a, aarch64: c}}}\nenv: {A: 1, B: 3}" },
	{ "lists are appended",
	  "images: [a]\nportForwards: [{guestPortRange: [1, 2]}]\nfirmware: {images: [x]}\ncaCerts: {files: [f]}",
	  "images: [b]\nportForwards: [{guestPortRange: [3, 4]}]\nfirmware: {images: [y]}\ncaCerts: {files: "
	  "[f, g]}", "images: [a, b]\nportForwards: [{guestPortRange: [1, 2]}, {guestPortRange: [3, 4]}]\nfirmware: "
	  "{images: [x, y]}\n" "caCerts: {files: [f, f, g]}" },
	{ "lists we do not know too", "osOpts: {Windows: {virtioWin: [a]}}", "osOpts: {Windows: {virtioWin: [b]}}",
	  "osOpts: {Windows: {virtioWin: [a, b]}}" },
	{ "provision, probes: the base's first", "provision: [2, 3]\nprobes: [2]\nbase: [c]",
	  "provision: [0, 1]\nprobes: [1]\nbase: [a, b]",
	  "provision: [0, 1, 2, 3]\nprobes: [1, 2]\nbase: [a, b, c]" },
	{ "dns is not appended", "dns: [1.1.1.1]", "dns: [8.8.8.8, 1.2.3.4]", "dns: [1.1.1.1]" },
	{ "dns: none, or an empty list", "dns: []", "dns: [8.8.8.8]", "dns: [8.8.8.8]" },
	{ "mountTypesUnsupported: each once", "mountTypesUnsupported: [9p, reverse-sshfs]",
	  "mountTypesUnsupported: [9p, virtiofs]", "mountTypesUnsupported: [9p, reverse-sshfs, virtiofs]" },
	{ "minimumLimaVersion: the higher", "minimumLimaVersion: 0.8.0", "minimumLimaVersion: 1.0.2",
	  "minimumLimaVersion: 1.0.2" },
	{ "minimumLimaVersion: numbers, not letters", "minimumLimaVersion: 1.10.0", "minimumLimaVersion: 1.9.0",
	  "minimumLimaVersion: 1.10.0" },
	{ "minimumLimaVersion: what comes before a release", "minimumLimaVersion: 1.1.0-beta",
	  "minimumLimaVersion: 1.1.0", "minimumLimaVersion: 1.1.0" },
	{ "minimumLimaVersion: a v before the base's is no letter of it", "minimumLimaVersion: 1.0.0",
	  "minimumLimaVersion: v1.2.0", "minimumLimaVersion: v1.2.0" },
	{ "minimumLimaVersion: nor before the template's", "minimumLimaVersion: v2.0.0", "minimumLimaVersion: 1.2.0",
	  "minimumLimaVersion: v2.0.0" },
	{ "minimumLimaVersion: and the other way round", "minimumLimaVersion: 1.1.0",
	  "minimumLimaVersion: 1.1.0-beta", "minimumLimaVersion: 1.1.0" },
	{ "nothing in a base takes nothing away", "ssh: {localPort: 1}\nmounts: [{location: /a}]\ncpus: 1",
	  "ssh:\nmounts: ~\ncpus: null", "ssh: {localPort: 1}\nmounts: [{location: /a}]\ncpus: 1" },
	{ "vmOpts.qemu.minimumVersion: the higher", "vmOpts: {qemu: {minimumVersion: 8.2.1}}",
	  "vmOpts: {qemu: {minimumVersion: 9.1.0}}", "vmOpts: {qemu: {minimumVersion: 9.1.0}}" },
	{ "additionalDisks: one name", "additionalDisks: [{name: disk1}]",
	  "additionalDisks: [{name: disk2}, {name: disk1, format: true}]",
	  "additionalDisks: [{name: disk1, format: true}, {name: disk2}]" },
	{ "additionalDisks: fsArgs all or none", "additionalDisks: [{name: a, fsArgs: [x]}, {name: b, fsArgs: []}]",
	  "additionalDisks: [{name: a, fsArgs: [y]}, {name: b, fsArgs: [z]}]",
	  "additionalDisks: [{name: a, fsArgs: [x]}, {name: b, fsArgs: [z]}]" },
	{ "additionalDisks: star is for all earlier ones",
	  "additionalDisks: [{name: disk1}, disk2, {name: disk3, format: false}]",
	  "additionalDisks: [{name: disk4}, {name: \"*\", format: true}, {name: disk5}]",
	  "additionalDisks: [{name: disk1, format: true}, {name: disk2, format: true}, {name: disk3, format: "
	  "false}," " {name: disk4, format: true}, {name: disk5}]" },
	{ "additionalDisks: words of one name", "additionalDisks: [a]", "additionalDisks: [a, b, {name: a}]",
	  "additionalDisks: [a, b]" },
	{ "mounts: one mount point", "mounts: [{location: loc1}, {location: loc1, mountPoint: loc2}]",
	  "mounts: [{location: loc1, mountPoint: loc2, writable: true, sshfs: {followSymlinks: true}},"
	  " {location: loc1, mountPoint: loc3, writable: true}]",
	  "mounts: [{location: loc1}, {location: loc1, mountPoint: loc2, writable: true, sshfs: "
	  "{followSymlinks: true}}," " {location: loc1, mountPoint: loc3, writable: true}]" },
	{ "mounts: star", "mounts: [{location: a, writable: false}, {location: b, 9p: {msize: 1}}]",
	  "mounts: [{location: \"*\", writable: true, 9p: {msize: 2, cache: none}}]",
	  "mounts: [{location: a, writable: false, 9p: {msize: 2, cache: none}}, {location: b, writable: "
	  "true, 9p: {msize: 1, cache: none}}]" },
	{ "mounts: a star as mount point is none's mount point", "mounts: [{location: a}]",
	  "mounts: [{location: x, mountPoint: \"*\", writable: true}]", "mounts: [{location: a, writable: true}]" },
	{ "networks: without interface they stay apart", "networks: [{interface: lima1}]",
	  "networks: [{interface: lima2}, {metric: 250}, {interface: lima1, metric: 100}, {interface: \"*\", "
	  "metric: 123}]",
	  "networks: [{interface: lima1, metric: 100}, {interface: lima2, metric: 123}, {metric: 250}]" },
	{ "networks: lima and socket exclude each other", "networks: [{interface: a, lima: shared}, {interface: b}]",
	  "networks: [{interface: a, socket: /s, vzNAT: true}, {interface: b, socket: /s}]",
	  "networks: [{interface: a, lima: shared, vzNAT: true}, {interface: b, socket: /s}]" },
	{ "guest.kernelArgs, tuning.fstrim", "guest: {kernelArgs: [t]}\ntuning: {fstrim: [stop]}",
	  "guest: {kernelArgs: [b]}\ntuning: {fstrim: [boot]}",
	  "guest: {kernelArgs: [b, t]}\ntuning: {fstrim: [stop]}" },
};

static void test_bases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		const struct base_row *r = &bases[i];
		struct findings f = { 0 };
		struct ynode *root = tree("t", r->template), *base = tree("b", r->base), *was = yn_copy(pool, base);

		merge_base(pool, root, base);
		merge_combine(pool, root, &f);
		assert_int_equal(f.errors, 0);
		assert_alike(r->what, "", root, tree("wanted", r->wanted));
		assert_true(yn_same(base, was));
	}
}

static void test_what_a_base_gives_keeps_its_place_and_origin(void **state)
{
	const char *text = "# c\nminimumLimaVersion: 2.0.0\nssh:\n  localPort: 1\n";
	struct err e = { 0 };
	const struct ynode *base = yn_parse_one(pool, "base.yaml", text, strlen(text), &e), *port;
	struct ynode *root = tree("t.yaml", "minimumLimaVersion: 1.0.0\nssh:\n  forwardAgent: true\n");

	(void)state;
	merge_base(pool, root, base);
	port = yn_get(yn_get(root, "ssh"), "localPort");
	assert_place(port, "base.yaml", 4, 14);
	assert_ptr_equal(port->origin, yn_get(yn_get(base, "ssh"), "localPort"));
	assert_place(root->key[0], "base.yaml", 2, 1);
	assert_place(yn_get(root, "ssh"), "t.yaml", 3, 3);
}

static void test_short_spellings_are_written_out(void **state)
{
	static const char *const rows[][2] = {
		{ "base: a", "base: [{url: a}]" },
		{ "base: {url: a, digest: d}", "base: [{url: a, digest: d}]" },
		{ "base: [a, {url: b}]", "base: [{url: a}, {url: b}]" },
		{ "base: 5", "base: 5" },
		{ "additionalDisks: [a, {name: b}, 1]", "additionalDisks: [{name: a}, {name: b}, 1]" },
		{ "provision: [{file: a}, {file: {url: b}}, x]\nprobes: [{file: c, mode: readiness}]",
		  "provision: [{file: {url: a}}, {file: {url: b}}, x]\nprobes: [{file: {url: c}, mode: "
		  "readiness}]" },
		{ "additionalDisks: a\nprovision: {file: b}", "additionalDisks: a\nprovision: {file: b}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ynode *n = tree("f.yaml", rows[i][0]);

		merge_normalise(pool, n);
		assert_alike(rows[i][0], "", n, tree("wanted", rows[i][1]));
	}
	{
		struct ynode *n = tree("f.yaml", "additionalDisks:\n- a\n");

		merge_normalise(pool, n);
		assert_place(yn_get(n, "additionalDisks")->item[0], "f.yaml", 2, 3);
		assert_place(yn_get(yn_get(n, "additionalDisks")->item[0], "name"), "f.yaml", 2, 3);
	}
}

/* A list of so many, each with more lines, and the last one. */
static struct ynode *mounts(unsigned count, const char *more, const char *last)
{
	auto_buf b = BUF_INIT(YN_TEXT_MAX);

	buf_adds(&b, "mounts:\n");
	for (unsigned i = 0; i < count; i++) {
		buf_addf(&b, "- location: /m%u\n", i);
		buf_adds(&b, more);
	}
	assert_int_equal(buf_adds(&b, last), 0);
	return tree("f", b.data);
}

/* Each of many entries is found at once; what is for all is bounded. */
static void test_long_lists(void **state)
{
	struct ynode *many = mounts(9000, "", ""), *again = mounts(9000, "  writable: true\n", "");
	clock_t begin = clock();
	struct ynode *out = merge_layers(pool, many, again, many), *list = yn_get(out, "mounts");
	struct findings f = { 0 };

	(void)state;
	assert_int_equal(list->count, 9000);
	assert_string_equal(yn_get(list->item[8999], "location")->text, "/m8999");
	assert_string_equal(yn_get(list->item[8999], "writable")->text, "true");
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	out = mounts(100, "", "- {location: \"*\", writable: true}\n");
	merge_combine(pool, out, &f);
	assert_int_equal(f.errors, 0);
	assert_string_equal(yn_get(yn_get(out, "mounts")->item[99], "writable")->text, "true");
	out = mounts(10000, "", "- {location: \"*\", x: [1, 2, 3, 4, 5, 6, 7, 8]}\n");
	merge_combine(pool, out, &f);
	assert_int_equal(f.errors, 1);
	assert_string_equal(f.item[0].path, "mounts");
	assert_string_equal(f.item[0].text, "entries for all (\"*\") make more than 50000 values");
	findings_fini(&f);
}

/* What one entry got from another is not shared with a third. */
static void test_entries_stay_apart(void **state)
{
	struct ynode *n = tree("f", "mounts:\n- location: a\n- location: b\n- {location: \"*\", 9p: {msize: 1}}\n"
				    "- {location: a, 9p: {cache: none}}\n");
	struct findings f = { 0 };

	(void)state;
	merge_combine(pool, n, &f);
	assert_int_equal(f.errors, 0);
	assert_alike("apart", "", n, tree("wanted", "mounts: [{location: a, 9p: {msize: 1, cache: none}},"
						    " {location: b, 9p: {msize: 1}}]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_layers, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_merged_values_keep_their_places, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_no_layer_is_nothing, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_bases, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_what_a_base_gives_keeps_its_place_and_origin, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_short_spellings_are_written_out, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_long_lists, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_entries_stay_apart, pool_make, pool_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
