#!/usr/bin/env python3
"""terminal.py SCRIPT COMMAND...: COMMAND on a terminal of its own, and steps of SCRIPT, one a line:

  see TEXT       waits until TEXT has come out since the last step
  type TEXT      types it (\\n, \\x03 and the like)
  size ROWS COLS changes the terminal's size
  kill SIGNAL    sends it to the command
  stopped        waits until the command stands still
  cooked / raw   waits until the terminal is as it was before the command / no more so
  reset          sets the terminal as it was before, as a shell does
  run COMMAND    runs a shell's line, which must succeed
  end STATUS     waits for the command's end: its exit code, or -SIGNAL

After the last step the terminal must be as it was before. What came out is shown when something is wrong."""
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import fcntl

DEADLINE = 30
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
before = termios.tcgetattr(slave)
seen = b""
fresh = 0  # where the part not asked for yet begins
status = None


def fail(why):
    os.write(2, ("%s\nwhat came out: %r\n" % (why, seen)).encode())
    os.kill(pid, signal.SIGKILL)
    sys.exit(1)


def start(argv):
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in 0, 1, 2:
            os.dup2(slave, fd)
        # A shell in between, as a session has one: nobody can be stopped and go on without.
        os.closerange(3, 100)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpid())
            for number in signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ:
                signal.signal(number, signal.SIG_DFL)
            os.execvp(argv[0], argv)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with open(report, "w") as f:
            f.write(str(job))
        os.rename(report, report + ".pid")
        _, code = os.waitpid(job, 0)
        with open(report, "w") as f:
            f.write(str(os.waitstatus_to_exitcode(code)))
        os.rename(report, report + ".end")
        os._exit(0)
    return child


def drain(wait):
    global seen
    if select.select([master], [], [], wait)[0]:
        seen += os.read(master, 65536)


def until(what, cond):
    end = time.monotonic() + DEADLINE
    while not cond():
        if time.monotonic() > end:
            fail("not within the deadline: " + what)
        drain(0.02)


def came(text):
    global fresh
    at = seen.find(text, fresh)
    if at >= 0:
        fresh = at + len(text)
    return at >= 0


def state():
    with open("/proc/%d/stat" % job) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def number(name):
    return getattr(signal, "SIG" + name)


def step(word, rest):
    if word == "see":
        until("see " + rest, lambda: came(rest.encode()))
    elif word == "type":
        os.write(master, rest.encode().decode("unicode_escape").encode())
    elif word == "size":
        rows, cols = map(int, rest.split())
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    elif word == "kill":
        os.kill(job, number(rest))
    elif word == "stopped":
        until("stopped", lambda: state() == "T")
    elif word in ("cooked", "raw"):
        until(word, lambda: (termios.tcgetattr(slave) == before) == (word == "cooked"))
    elif word == "reset":
        termios.tcsetattr(slave, termios.TCSANOW, before)
    elif word == "run":
        done = subprocess.run(rest, shell=True, stdin=subprocess.DEVNULL, stdout=2, check=False)
        if done.returncode:
            fail("exit status %d: %s" % (done.returncode, rest))
    elif word == "end":
        until("the end", lambda: os.path.exists(report + ".end"))
        drain(0)
        got = open(report + ".end").read()
        if got != rest:
            fail("it ended with %s, not %s" % (got, rest))
    else:
        fail("no such step: " + word)


report = os.path.join(os.environ["LIMA_HOME"], ".tty.%d" % os.getpid())
pid = start(sys.argv[2:])
while not os.path.exists(report + ".pid"):
    time.sleep(0.01)
job = int(open(report + ".pid").read())
for line in sys.argv[1].splitlines():
    line = line.strip()
    if line:
        step(*(line.split(" ", 1) + [""])[:2])
if termios.tcgetattr(slave) != before:
    fail("the terminal is not as it was: %r, was %r" % (termios.tcgetattr(slave), before))
os.kill(pid, signal.SIGKILL)
