"""sockets.py - a stand-in for the Docker daemon's HTTP, and clients of it.

serve SOCK       GET /_ping is answered; GET /events gives a numbered line each 50 ms, for ever; POST /attach is hijacked: the
                 bytes come back as they are, and after the end of input "END <bytes>" and the end
crowd SOCK       50 that follow /events, beside them 1000 short calls: none fails, all followers get lines until the end
engine SOCK      the same against a real engine that has the tests' image busybox: all followers get an event at the end
attach SOCK N    N hijacked streams, ends travel both ways
cut SOCK PID CARRIER N [engine]   a follower (of a real engine: none) and calls, while the connection of process PID to the
                 unix socket CARRIER is cut N times: no call fails, no line is missing
silent SOCK PID  while process PID, the guest agent, stands still three calls fail and none hangs; then calls are answered,
                 and a follower that was there before misses nothing
"""
import ctypes
import os
import signal
import socket
import socketserver
import sys
import threading
import time

HANG = 5  # seconds: the limit is two, on a busy machine it is seen late
HUNG = "it hangs"


class Daemon(socketserver.StreamRequestHandler):
    def handle(self):
        request = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        if not request:
            return
        what = request[1].decode().rsplit("/", 1)[-1]
        if what == "events":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for n in range(1 << 30):
                self.wfile.write(b"%d\n" % n)
                time.sleep(0.05)
        elif what == "attach":
            self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            total = 0
            while data := self.rfile.read1(65536):
                total += len(data)
                self.wfile.write(data)
            self.wfile.write(b"END %d" % total)
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass  # a client that went


def ask(path, line, timeout=HANG, more=b""):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)
    s.connect(path)
    s.sendall(line + b" HTTP/1.1\r\nHost: d\r\n" + more + b"\r\n")
    return s


def call(path):
    """None, or why not."""
    try:
        with ask(path, b"GET /_ping", more=b"Connection: close\r\n") as s:
            answer = s.makefile("rb").read()
        return None if answer.endswith(b"OK") else f"answered {answer!r}"
    except socket.timeout:
        return HUNG
    except OSError as e:
        return str(e)


class Follower:
    def __init__(self, path, timeout=30):
        self.file = ask(path, b"GET /v1.41/events", timeout).makefile("rb")
        while self.file.readline().strip():
            pass
        self.next = 0
        self.line()

    def line(self):
        got = self.file.readline()
        if got != b"%d\n" % self.next:
            sys.exit(f"a follower got {got!r} where line {self.next} belongs")
        self.next += 1


class EngineFollower:
    def __init__(self, path):
        self.file = ask(path, b"GET /events", 60).makefile("rb")
        while self.file.readline().strip():
            pass

    def event(self, what):
        while line := self.file.readline():
            if what in line:
                return
        sys.exit("a follower was ended")


def crowd(path):
    followers = [Follower(path) for _ in range(50)]
    failed = thousand_calls(path)
    for f in followers:
        for _ in range(3):
            f.line()
    return failed


def engine(path):
    followers = [EngineFollower(path) for _ in range(50)]
    failed = thousand_calls(path)
    ask(path, b"POST /images/busybox/tag?repo=crowd", 60).makefile("rb").readline()
    for f in followers:
        f.event(b'"crowd')
    return failed


def thousand_calls(path):
    failed = []

    def calls():
        for _ in range(100):
            why = call(path)
            if why:
                failed.append(why)

    threads = [threading.Thread(target=calls) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f"{len(failed)} of 1000 calls failed", *set(failed))
    return bool(failed)


def attach(path, count):
    for n in range(count):
        s = ask(path, b"POST /v1.41/containers/x/attach")
        f = s.makefile("rb")
        while f.readline().strip():
            pass
        s.sendall(b"x" * n)
        s.shutdown(socket.SHUT_WR)
        got = f.read()
        if got != b"x" * n + b"END %d" % n:
            sys.exit(f"stream {n}: got {got[-100:]!r}")
    print(f"{count} streams ended both ways")


def carrier_of(pid, path):
    """A descriptor of our own for the process's connection to the unix socket path."""
    pidfd = os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    for name in os.listdir(f"/proc/{pid}/fd"):
        fd = libc.syscall(438, pidfd, int(name), 0)  # pidfd_getfd
        if fd < 0:
            continue
        try:
            s = socket.socket(fileno=fd)
            if s.getpeername() in (path, path.encode()):
                os.close(pidfd)
                return s
            s.close()
        except OSError:
            pass
    os.close(pidfd)
    return None


def cut(path, pid, carrier, count, follower):
    done = 0
    while done < count:
        s = carrier_of(pid, carrier)
        if not s:
            time.sleep(0.005)
            continue
        s.shutdown(socket.SHUT_RDWR)
        s.close()
        done += 1
        why = call(path)
        if why:
            sys.exit(f"cut {done}: a call failed: {why}")
        if follower:
            follower.line()
    print(f"cut {done} times")


def silent(path, pid):
    follower = Follower(path)
    os.kill(pid, signal.SIGSTOP)
    said = [call(path) for _ in range(3)]
    os.kill(pid, signal.SIGCONT)
    if HUNG in said:
        sys.exit("a call hangs")
    begun = time.monotonic()
    while call(path):
        if time.monotonic() - begun > 10:
            sys.exit("no answer again")
        time.sleep(0.02)
    for _ in range(100):  # what waited, and more
        follower.line()
    failed = sum(why is not None for why in said)
    print(f"{failed} of 3 calls failed; answers again after {time.monotonic() - begun:.2f} s")
    return failed != 3


def main(what, path, *rest):
    if what == "serve":
        if os.path.exists(path):
            os.unlink(path)
        Server(path, Daemon).serve_forever()
    elif what == "crowd":
        return crowd(path)
    elif what == "engine":
        return engine(path)
    elif what == "attach":
        return attach(path, int(rest[0]))
    elif what == "cut":
        return cut(path, int(rest[0]), rest[1], int(rest[2]), Follower(path) if len(rest) == 3 else None)
    elif what == "silent":
        return silent(path, int(rest[0]))


sys.exit(main(*sys.argv[1:]))
