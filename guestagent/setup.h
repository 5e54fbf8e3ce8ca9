/* setup.h - what the agent does besides serving: it makes the lean guest usable at boot, keeps the Docker engine's
 * programs, and stops the machine in order.
 *
 * Busybox init runs these by our inittab (provision/lean/inittab): `agent setup` once, `agent daemon` kept alive,
 * `agent service syslogd|containerd|dockerd|crond` kept alive, `agent shutdown` before init kills what is left.
 *
 * Settings read from /run/lima/settings (lib/settings.h); the plan writes them. Every one may be missing.
 *   init                   "openrc": the guest keeps its own init; "cloud": it does and has cloud-init or lima-init, whose
 *                        boot script has the entries of provision[] carried out; anything else: lean
 *   hostname               default "lima"
 *   user.name              default "root"; "root" makes no user
 *   user.uid, user.gid     default 1000; gid defaults to the uid
 *   user.home, user.shell  default /home/<name>.linux (root: /root), /bin/sh
 *   user.comment           GECOS field
 *   user.sudo              "true" (default): passwordless sudo
 *   env.NAME               into /etc/environment and every login shell
 *   disk.NN.name, .serial  an extra disk, mounted at /mnt/lima-NAME, and how it is found
 *   disk.NN.format         "true": formatted when nothing is on it, with .fsType (default ext4) and .fsArgs, a line each
 *   mount.NN.point, .tag   a folder of the host, where it is mounted and by which name; outer ones come first
 *   mount.NN.type          "9p", "virtiofs"; .options for the kernel; .writable "true": else read-only
 *   host.NAME              address of a name of /etc/hosts
 *   param.NAME             $PARAM_NAME of scripts
 *   timezone               name of a time zone; /run/lima/localtime describes it for a guest that knows none
 *   ca.cert.NN             certificates (PEM) to trust, besides the files /run/lima/ca/NN.crt
 *   ca.removeDefaults      "true": trust no others
 *   upgradePackages        "true": by the guest's package manager, at each boot
 *   provision.NN.…         see guestagent/provision.h
 *   engine                 "true": the second disk is an engine disk (squashfs); link it into place
 *   containerd.disk        serial number of the disk with containerd's archive, see guestagent/containerd.h
 *   docker                 "true": keep containerd and dockerd running
 *   net.address            default 10.0.2.15; "dhcp": what the network says, with prefix, gateway and name servers
 *   net.prefix             default 24
 *   net.gateway            default 10.0.2.2
 *   net.dns                addresses of name servers, a space between; default 10.0.2.3
 *   tuning.initOnFree      "true": checked only; the plan puts init_on_free=1 on the kernel's command line
 *   tuning.tmpfsVarLog     "true": /var/log on tmpfs
 *   tuning.syslogRing      bytes of syslogd's ring buffer, 0 = no syslogd
 *   tuning.commit          seconds between ext4's journal commits (read by /lima/init too), 0 = ext4's own
 *   tuning.cacheTrim       "true": see guestagent/trim.h; .cacheTrimMinimum (bytes) and .cacheTrimUnless (words) go with it
 *   tuning.fstrimBoot, tuning.fstrimStop   "true": fstrim / at boot, at stop
 *   tuning.dockerLogSize   bytes of one container log file, 0 = unlimited
 *   tuning.dockerLogFiles  how many of them are kept
 *   tuning.buildCache      bytes BuildKit's garbage collector keeps, 0 = BuildKit's own
 *   tuning.skipBootMenu, tuning.noCloudInitHotplug   "true": with init=openrc or init=cloud only
 *   tuning.kernelArgs, loader.args, loader.lastArgs  see guestagent/grub.h
 *
 * With init=openrc /lima/init runs `agent setup --openrc` before the guest's init, which writes OpenRC services that
 * run `agent setup --early`, `agent setup --late`, `agent daemon` and `agent service …` (guestagent/openrc.h).
 * With init=cloud boot.early.sh runs `agent setup --cloud` (provision/cloud/); the daemon does the rest of the tuning once
 * the guest runs (guestagent/settle.h).
 * `agent setup --check` changes nothing and prints for each tuning whether it is in force.
 *
 * Left for others in /run/lima: boot-id (16 hexadecimal digits and a newline, random), setup.warnings (one sentence
 * a line, missing when there was none), environment (NAME=VALUE lines of env.*), engine/ (mounted engine disk),
 * path (the PATH every login and service gets), setup.done (empty, made when setup has finished), trouble/
 * (guestagent/trouble.h).
 */
#ifndef LIMA_GUESTAGENT_SETUP_H
#define LIMA_GUESTAGENT_SETUP_H

/* Programs of the agent's binary; argv[0] is the word ("setup"). Each returns an exit code. */
int setup_main(int argc, char **argv);
int shutdown_main(int argc, char **argv);
int service_main(int argc, char **argv); /* service NAME: becomes that program, or sleeps when there is none */

#define RUN_DIR "/run/lima"

/* Where programs of the guest are looked for, whoever starts us. */
#define SETUP_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#endif
