"""Clients of a UDP server behind a forward.
  udp.py four HOST PORT SIZE...       four clients at once; each gets its own datagram back (helper udp PORT 4)
  udp.py echo HOST PORT [SOURCE]      one datagram, and its echo from the address it was sent to; 1 when none comes
  udp.py again HOST PORT SOURCE SECS  from one source port, until an echo comes; says after how many ms
  udp.py crowd HOST PORT COUNT        one datagram each from so many source ports, all open until standard input ends;
                                      says how many got their echo
"""
import select
import socket
import sys
import time


def client(host, port, source=0):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", source))
    s.connect((host, port))  # what comes from another address is not taken
    s.settimeout(5)
    return s


def four(host, port, *sizes):
    clients = [client(host, port) for _ in range(4)]
    for size in sizes:
        data = [bytes([65 + i]) * int(size) for i in range(4)]
        for s, d in zip(clients, data):
            s.send(d)
        for i in reversed(range(4)):
            try:
                got = clients[i].recv(65536)
            except TimeoutError:
                sys.exit(f"client {i}, {size} bytes: no answer")
            if got != data[i]:
                sys.exit(f"client {i}, {size} bytes: got {len(got)} of {got[:1]}")


def echo(host, port, source=0):
    s = client(host, port, int(source))
    s.send(b"hello")
    if s.recv(100) != b"hello":
        sys.exit(1)


def again(host, port, source, seconds):
    s = client(host, port, int(source))
    s.settimeout(0.02)
    begin = time.monotonic()
    while time.monotonic() < begin + float(seconds):
        try:
            s.send(b"again")
            if s.recv(100) == b"again":
                print(int(1000 * (time.monotonic() - begin)))
                return
        except (TimeoutError, ConnectionRefusedError):
            time.sleep(0.005)
    sys.exit("no answer")


def crowd(host, port, count):
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    poll = select.epoll()
    clients, got = {}, 0
    for i in range(int(count)):
        s = client(host, port)
        clients[s.fileno()] = s
        poll.register(s, select.EPOLLIN)
        s.send(b"x")
        # A moment for the answer now and then, so that the queues on the way are not what is measured.
        for fd, _ in poll.poll(0.1 if i % 20 == 0 else 0):
            got += clients[fd].recv(10) == b"x"
    print(got, flush=True)
    sys.stdin.read()


name, host, port, *rest = sys.argv[1:]
{"four": four, "echo": echo, "again": again, "crowd": crowd}[name](host, int(port), *rest)
