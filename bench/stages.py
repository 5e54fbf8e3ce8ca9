#!/usr/bin/env python3
"""Where the time of a boot goes: one line a stage, "STAGE<tab>seconds since QEMU's start<tab>QEMU's processor seconds".

  stages.py boot INSTANCE     starts a stopped instance with `limactl-c start`
  stages.py bare COMMAND...   runs QEMU to its end

How the clocks meet, for `boot`: the host's clock is the one all times are given in. The kernel's own stamps (printk) are
read from dmesg afterwards, because a console that prints them slows an emulated boot. After the boot the guest writes
marks into the kernel's log and, at once, a line to us; the earliest arrival says what the host's clock was at a mark's
stamp, late by what the channel takes (a millisecond). The host agent's events carry the host's clock. containerd and
dockerd stamp their lines with the guest's time of day, which may be set while they start; dockerd's last line, that it
listens, is taken to be READY: the host agent's question has been waiting in the socket.

The kernel's stamps begin with its first line when it finds the timer's rate at once. On a busy host it may not: its
clock then starts when memory has been cleared, and the stages before that are left out.
"""
import json, os, re, socket, subprocess, sys, threading, time
from datetime import datetime

TICK = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.02
MARKS = 5
MARK_SCRIPT = "for i in $(seq %d); do echo bench-mark >/dev/kmsg; echo mark; done; dmesg; logread 2>/dev/null" % MARKS

# (what the line says, the stage's name); the first such line counts.
EARLY = (
    (r"Linux version", "kernel's first line (firmware, unpacking it)"),
    (r"mem auto-init: ", "kernel frees its memory, clearing it"),
    (r"SLUB: ", "memory cleared"),
)
KERNEL = (
    (r"Switched to clocksource tsc-early", "kernel's subsystems begin"),
    (r"Freeing initrd memory", "initramfs unpacked"),
    (r"Run \S+ as init process", "first program starts"),
    (r"EXT4-fs \(vda\d*\): mounted", "root mounted"),
)
DAEMONS = (
    (r'msg="containerd successfully booted', "containerd serves"),
    (r'msg="Starting up"', "dockerd's main begins"),
    (r'msg="Loading containers: start', "dockerd: storage ready, network begins"),
    (r'msg="Loading containers: done', "dockerd: network done"),
)


class Processor(threading.Thread):
    """QEMU's utime + stime over time, sampled; at() interpolates."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.samples, self.over = pid, [], False
        self.start()

    def run(self):
        while not self.over:
            try:
                with open("/proc/%d/stat" % self.pid) as f:
                    field = f.read().rsplit(")", 1)[1].split()
            except OSError:
                return
            self.samples.append((time.time(), (int(field[11]) + int(field[12])) / TICK))
            time.sleep(SAMPLE_S)

    def at(self, when):
        before = (when, 0.0)
        for sample in self.samples:
            if sample[0] >= when:
                span = sample[0] - before[0]
                return before[1] + (sample[1] - before[1]) * ((when - before[0]) / span if span > 0 else 1)
            before = sample
        return before[1]


def started(pid):
    """When the process began, by the host's clock (to a hundredth of a second)."""
    with open("/proc/%d/stat" % pid) as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / TICK


def first(lines, patterns, stamp):
    """[(time, stage)] of the first line of each pattern; stamp(line) gives the time or None."""
    found = []
    for pattern, stage in patterns:
        for line in lines:
            when = stamp(line) if re.search(pattern, line) else None
            if when is not None:
                found.append((when, stage))
                break
    return found


def show(stages, begin, processor):
    for when, stage in sorted(stages):
        print("%s\t%.3f\t%.2f" % (stage, when - begin, processor.at(when)))


def http_get(path, target):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET %s HTTP/1.0\r\nHost: lima\r\n\r\n" % target.encode())
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])


def wait_for_machine(folder, since, starter):
    """The pid in qemu.pid, once it is of a process begun after `since`."""
    while starter.poll() is None:
        try:
            with open(folder + "/qemu.pid") as f:
                pid = int(f.read())
            if started(pid) > since - 0.02:
                return pid
        except (OSError, ValueError):
            pass
        time.sleep(0.002)
    sys.exit("stages.py: no machine was started")


def guest_words(instance):
    """(seconds to add to the kernel's stamps, the lines of dmesg and logread)"""
    shell = subprocess.Popen(["limactl-c", "shell", instance, "sudo", "sh", "-c", MARK_SCRIPT],
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, bufsize=0)
    arrival = []
    for _ in range(MARKS):
        line = b""
        while not line.endswith(b"\n"):
            byte = shell.stdout.read(1)
            if not byte:
                sys.exit("stages.py: the guest did not answer")
            line += byte
        arrival.append(time.time())
    lines = shell.stdout.read().decode(errors="replace").splitlines()
    marks = [re.match(r"\[ *([\d.]+)\] bench-mark", line) for line in lines]
    marks = [float(m[1]) for m in marks if m][-MARKS:]
    return min(at - mark for at, mark in zip(arrival, marks)), lines


def iso_time(text):
    """A time of day with nanoseconds, in seconds."""
    whole, fraction = re.match(r"([\dT:-]+)(\.\d+)?Z", text).groups()
    return datetime.fromisoformat(whole + "+00:00").timestamp() + float(fraction or 0)


def boot(instance):
    folder = os.path.join(os.environ["LIMA_HOME"], instance)
    since = time.time()
    starter = subprocess.Popen(["limactl-c", "start", instance], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = wait_for_machine(folder, since, starter)
    begin = started(pid)
    processor = Processor(pid)
    if starter.wait() != 0:
        sys.exit("stages.py: the instance did not start")
    returned = time.time()
    processor.over = True
    with open(folder + "/ha.stdout.log") as f:
        events = [event for event in map(json.loads, f) if iso_time(event["time"]) >= since]
    agent_begin = iso_time(events[0]["time"])
    answered = http_get(folder + "/ha.sock", "/v1/status")["agent"]["answeredAfterMs"] / 1000
    ready = [iso_time(event["time"]) for event in events if event["status"].get("running")][0]
    kernel, lines = guest_words(instance)

    def printk(line):
        m = re.match(r"\[ *([\d.]+)\]", line)
        return float(m[1]) + kernel if m else None

    def time_of_day(line):
        m = re.search(r'time="([^"]+)"', line)
        return iso_time(m[1]) if m else None

    stages = [(agent_begin + answered, "agent answers"), (ready, "READY (_ping answered)"),
              (returned, "start has returned")]
    if not any(re.match(r"\[ *0\.000000\] mem auto-init", line) for line in lines):
        stages += first(lines, EARLY, printk)
    stages += first(lines, KERNEL, printk)
    listens = [time_of_day(line) for line in lines if 'msg="API listen' in line]
    if listens:
        stages += first(lines, DAEMONS, lambda line: time_of_day(line) + ready - listens[-1])
    print("command line until QEMU starts\t%.3f\t0" % (begin - since))
    show(stages, begin, processor)


def bare(command):
    begin = time.time()
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(qemu.pid, 0)
    print("powered off\t%.3f\t%.2f" % (time.time() - begin, usage.ru_utime + usage.ru_stime))


if __name__ == "__main__":
    if sys.argv[1:2] == ["boot"] and len(sys.argv) == 3:
        boot(sys.argv[2])
    elif sys.argv[1:2] == ["bare"] and len(sys.argv) > 2:
        bare(sys.argv[2:])
    else:
        sys.exit("usage: stages.py boot INSTANCE | bare COMMAND...")
