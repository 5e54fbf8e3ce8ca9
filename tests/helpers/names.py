#!/usr/bin/env python3
"""names.py ask PORT NAME [TYPE]: one question to the DNS server at 127.0.0.1:PORT; prints the code and the addresses.
names.py docker SOCKET FILE: stands in for Docker: FILE is the list of containers; a line on standard output for each time it is asked."""
import http.server
import socket
import socketserver
import struct
import sys

TYPES = {"A": 1, "AAAA": 28, "MX": 15}


def ask(port, name, kind="A"):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"
    question = labels + struct.pack(">2H", TYPES[kind], 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    s.connect(("127.0.0.1", int(port)))
    s.send(struct.pack(">6H", 4711, 0x0100, 1, 0, 0, 0) + question)
    m = s.recv(4096)
    ident, flags, questions, answers, authority, extra = struct.unpack(">6H", m[:12])
    assert (ident, flags >> 15, questions, authority, extra) == (4711, 1, 1, 0, 0) and m[12:12 + len(question)] == question
    at, said = 12 + len(question), []
    for _ in range(answers):
        owner, t, c, _ttl, n = struct.unpack(">HHHIH", m[at:at + 12])
        assert owner == 0xC00C and t == TYPES[kind] and c == 1
        said.append(socket.inet_ntop(socket.AF_INET if n == 4 else socket.AF_INET6, m[at + 12:at + 12 + n]))
        at += 12 + n
    assert at == len(m)
    codes = {0: "ok", 2: "servfail", 3: "nxdomain", 5: "refused"}
    print(" ".join([codes[flags & 15]] + said))


class Docker(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"OK"
        if self.path == "/containers/json":
            print("asked", flush=True)
            with open(sys.argv[3], "rb") as f:
                body = f.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "guest"

    def log_message(self, *args):
        pass


def docker(path, _file):
    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    Server(path, Docker).serve_forever()


if __name__ == "__main__":
    {"ask": ask, "docker": docker}[sys.argv[1]](*sys.argv[2:])
