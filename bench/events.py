#!/usr/bin/env python3
"""How long a change on the host takes until a watcher in the guest says it, here: the way back is in it.

events.py FOLDER COUNT BURST COMMAND...: COMMAND runs tests/helpers/watch.c on FOLDER in the guest. Prints "latency MS" for each of
COUNT changes of one file, "burst MS LOST TWICE" for BURST files that are made at once.
"""
import collections
import os
import queue
import subprocess
import sys
import threading
import time

PATIENCE = 60


def listen(command):
    heard = queue.Queue()
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1)

    def read():
        for line in watcher.stdout:
            heard.put((time.monotonic(), line.split()))

    threading.Thread(target=read, daemon=True).start()
    if heard.get(timeout=PATIENCE)[1] != ["ready"]:
        sys.exit("the watcher in the guest did not start")
    return watcher, heard


def until(heard, name):
    """When it is heard, and all that was heard before."""
    names = []
    while True:
        at, words = heard.get(timeout=PATIENCE)
        names += words[2:]
        if words[2:] == [name]:
            return at, names


def latencies(folder, heard, count):
    path = os.path.join(folder, "file")
    for _ in range(count):
        began = time.monotonic()
        with open(path, "a", encoding="ascii") as file:
            file.write("x")
        print("latency %.2f" % ((until(heard, "file")[0] - began) * 1000), flush=True)
        time.sleep(0.05)


def burst(folder, heard, count):
    began = time.monotonic()
    for i in range(count):
        open(os.path.join(folder, "burst%d" % i), "w", encoding="ascii").close()
    open(os.path.join(folder, "last"), "w", encoding="ascii").close()
    at, names = until(heard, "last")
    times = collections.Counter(name for name in names if name.startswith("burst"))
    print("burst %.0f %d %d" % ((at - began) * 1000, count - len(times), sum(n > 1 for n in times.values())), flush=True)


def main():
    folder, count, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    watcher, heard = listen(sys.argv[4:])
    latencies(folder, heard, count)
    burst(folder, heard, many)
    watcher.terminate()


main()
