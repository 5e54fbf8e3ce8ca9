#!/usr/bin/env python3
"""A small name server and a client that shows what it gets, for tests.

dns.py serve ADDRESS NAME=TYPE=VALUE...   TXT*N: N letters; A*N: N addresses; by UDP at most 512 bytes, the rest by TCP
dns.py ask SERVER NAME TYPE [tcp] [edns=N] [many=N]   rcode, flags, then one answer a line, by way of sockets of our own
"""
import socket, struct, sys, threading

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "AXFR": 252}
RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"]


def pack_name(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.rstrip(".").split(".") if p) + b"\0"


def read_name(m, at):
    parts, end = [], None
    for _ in range(128):
        n = m[at]
        if n >= 0xC0:
            end = end or at + 2
            at = (n & 0x3F) << 8 | m[at + 1]
        elif n == 0:
            return ".".join(parts), end or at + 1
        else:
            parts.append(m[at + 1 : at + 1 + n].decode("latin1"))
            at += 1 + n
    raise ValueError("loop")


def rdata(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, value)
    if kind == "MX":
        level, name = value.split()
        # Compressed, as servers do: the name ends as the one asked for does.
        return struct.pack("!H", int(level)) + bytes([len(name)]) + name.encode() + b"\xc0\x0c"
    if kind == "SRV":
        a, b, c, name = value.split()
        return struct.pack("!HHH", int(a), int(b), int(c)) + pack_name(name)
    if kind == "TXT":
        b = value.encode()
        return b"".join(bytes([len(b[i : i + 255])]) + b[i : i + 255] for i in range(0, len(b), 255))
    return pack_name(value)


def load(entries):
    zone = {}
    for e in entries:
        name, kind, value = e.split("=", 2)
        kind, _, n = kind.partition("*")
        values = [value] if not n else ["x" * int(n)] if kind == "TXT" else [f"192.0.2.{i + 1}" for i in range(int(n))]
        zone.setdefault(name.lower(), []).extend((kind, rdata(kind, v)) for v in values)
    return zone


def reply(zone, m, most):
    name, at = read_name(m, 12)
    kind = struct.unpack("!H", m[at : at + 2])[0]
    there = zone.get(name.lower())
    records = [(TYPES[k], d) for k, d in there or [] if TYPES[k] == kind or k == "CNAME"]
    out = b"".join(struct.pack("!HHHIH", 0xC00C, k, 1, 60, len(d)) + d for k, d in records)
    flags, count = 0x8580 | (0 if there is not None else 3), len(records)
    if 12 + len(m[12 : at + 4]) + len(out) > most:
        flags, out, count = flags | 0x200, b"", 0
    return m[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + m[12 : at + 4] + out


def tcp_read(c):
    n = struct.unpack("!H", c.recv(2, socket.MSG_WAITALL))[0]
    return c.recv(n, socket.MSG_WAITALL)


def tcp_write(c, m):
    c.sendall(struct.pack("!H", len(m)) + m)


def serve(address, entries):
    zone = load(entries)
    t = socket.create_server((address, 53))
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((address, 53))

    def stream():
        while True:
            c, _ = t.accept()
            try:
                tcp_write(c, reply(zone, tcp_read(c), 65535))
            except (OSError, struct.error):
                pass
            c.close()

    threading.Thread(target=stream, daemon=True).start()
    while True:
        m, peer = u.recvfrom(4096)
        u.sendto(reply(zone, m, 512), peer)


def show_rdata(kind, m, at, n):
    d = m[at : at + n]
    if kind == 1:
        return socket.inet_ntoa(d)
    if kind == 28:
        return socket.inet_ntop(socket.AF_INET6, d)
    if kind == 15:
        return f"{struct.unpack('!H', d[:2])[0]} {read_name(m, at + 2)[0]}"
    if kind == 33:
        return " ".join(str(v) for v in struct.unpack("!HHH", d[:6])) + " " + read_name(m, at + 6)[0]
    if kind == 16:
        return f"{n - (n + 255) // 256} characters"
    return read_name(m, at)[0]


def show(m):
    flags, _, answers, _, more = struct.unpack("!HHHHH", m[2:12])
    print(RCODES[flags & 15], "TC" if flags & 0x200 else "", "RA" if flags & 0x80 else "", f"edns={more}", f"size={len(m)}")
    _, at = read_name(m, 12)
    at += 4
    names = {v: k for k, v in TYPES.items()}
    for _ in range(answers):
        name, at = read_name(m, at)
        kind, _, ttl, n = struct.unpack("!HHIH", m[at : at + 10])
        print(name, ttl, names.get(kind, kind), show_rdata(kind, m, at + 10, n))
        at += 10 + n


def question(ident, name, kind, edns):
    m = struct.pack("!HHHHHH", ident, 0x100, 1, 0, 0, 1 if edns else 0) + pack_name(name) + struct.pack("!HH", TYPES[kind], 1)
    return m + (struct.pack("!BHHIH", 0, 41, edns, 0, 0) if edns else b"")


def ask(server, name, kind, *options):
    edns = next((int(o[5:]) for o in options if o.startswith("edns=")), 0)
    many = next((int(o[5:]) for o in options if o.startswith("many=")), 1)
    if "tcp" in options:
        s = socket.create_connection((server, 53), 15)
        for i in range(many):
            tcp_write(s, question(i + 1, name, kind, edns))
        answers = [tcp_read(s) for _ in range(many)]
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(15)
        s.connect((server, 53))
        for i in range(many):
            s.send(question(i + 1, name, kind, edns))
        answers = [s.recv(65536) for _ in range(many)]
    if sorted(struct.unpack("!H", a[:2])[0] for a in answers) != list(range(1, many + 1)):
        raise ValueError("answers to other questions")
    show(answers[-1])


{"serve": lambda: serve(sys.argv[2], sys.argv[3:]), "ask": lambda: ask(*sys.argv[2:])}[sys.argv[1]]()
