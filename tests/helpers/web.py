#!/usr/bin/env python3
"""web.py FILE PORTS LOG [CERTIFICATE KEY]: a web server as bad as real ones, and a proxy.

Serves FILE by HTTP, and by HTTPS when there is a certificate, on all addresses; "HTTP_PORT HTTPS_PORT" is written to PORTS,
every request's first line to LOG. The path says how it answers (below); what is behind "?" is its argument. Asked as a proxy
it answers by the path likewise; a tunnel leads to itself, whatever was asked for.
"""
import os, socket, socketserver, ssl, struct, sys, threading, time

BODY = open(sys.argv[1], "rb").read()
HALF = len(BODY) // 2
seen = {}  # requests for a path
lock = threading.Lock()


def head(status, length, *more):
    lines = ["HTTP/1.1 " + status, "Connection: close"]
    if length is not None:
        lines.append("Content-Length: %d" % length)
    return ("\r\n".join(lines + list(more)) + "\r\n\r\n").encode()


def whole(r, etag='"v1"'):
    r.send(head("200 OK", len(BODY), "ETag: " + etag), BODY)


def image(r, etag='"v1"'):
    """All, or the rest that is asked for of this version."""
    if not r.start or r.only != etag:
        return whole(r, etag)
    r.send(head("206 Partial Content", len(BODY) - r.start, "ETag: " + etag,
                "Content-Range: bytes %d-%d/%d" % (r.start, len(BODY) - 1, len(BODY))), BODY[r.start:])


def half(r, etag='"v1"'):
    r.send(head("200 OK", len(BODY), "ETag: " + etag), BODY[:HALF])


def slow(r):
    r.send(head("200 OK", len(BODY)))
    for i in range(10):
        time.sleep(0.1)
        r.send(BODY[i * len(BODY) // 10:(i + 1) * len(BODY) // 10])


def first_half(then):
    return lambda r: half(r) if r.nth == 1 else then(r)


def reset(r):
    """In the middle, or before any word."""
    if r.argument != "now":
        r.send(head("200 OK", len(BODY)), BODY[:HALF])
    r.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    r.sock.close()


def until_gone(r, piece=b""):
    """Says piece again and again, or nothing, until the client has had enough."""
    r.sock.settimeout(0.2)
    while True:
        try:
            if piece:
                r.sock.sendall(piece)
            elif not r.sock.recv(1):
                return
        except socket.timeout:
            pass
        except OSError:
            return


def stall(r):
    if r.nth > 1:
        return image(r)
    half(r)
    until_gone(r)


def endless(r):
    r.send(b"HTTP/1.1 200 OK\r\n")
    until_gone(r, b"X-More: " + b"x" * 1000 + b"\r\n")


PATHS = {
    "image": image,
    "to": lambda r: r.send(head("302 Found", 0, "Location: " + r.argument)),
    "loop": lambda r: r.send(head("302 Found", 0, "Location: /loop?%d" % (int(r.argument or 0) + 1))),
    "status": lambda r: r.send(head(r.argument + " As asked", 3), b"no\n"),
    "reset": reset,
    "silent": until_gone,
    "slow": slow,
    "stall": stall,
    "cut": first_half(image),
    "no-ranges": first_half(whole),  # If-Range is not understood either
    "changed": first_half(lambda r: image(r, '"v2"')),
    "no-name": lambda r: r.send(head("200 OK", len(BODY)), BODY[:HALF] if r.nth == 1 else BODY),
    "too-long": lambda r: r.send(head("200 OK", len(BODY) + 1000), BODY),
    "too-short": lambda r: r.send(head("200 OK", len(BODY) - 1000), BODY),
    "no-length": lambda r: r.send(head("200 OK", None), BODY),
    "not-http": lambda r: r.send(b"\0\1\2 what?\r\n" * 50),
    "endless-headers": endless,
}


class Request(socketserver.BaseRequestHandler):
    def send(self, *parts):
        self.sock.sendall(b"".join(parts))

    def tunnel(self):
        self.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        with socket.create_connection(("127.0.0.1", tls_port)) as there:
            def pump(a, b):
                try:
                    while data := a.recv(65536):
                        b.sendall(data)
                    b.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            t = threading.Thread(target=pump, args=(there, self.sock))
            t.start()
            pump(self.sock, there)
            t.join()

    def handle(self):
        self.sock = self.request
        if self.server.tls:
            try:
                self.sock = self.server.tls.wrap_socket(self.request, server_side=True)
            except (ssl.SSLError, OSError):
                return
        text = b""
        while b"\r\n\r\n" not in text:
            data = self.sock.recv(65536)
            if not data:
                return
            text += data
        lines = text.decode().split("\r\n")
        with open(sys.argv[3], "a") as log:
            log.write(lines[0] + "\n")
        fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        method, url, _ = lines[0].split(" ")
        if method == "CONNECT":
            return self.tunnel()
        path, _, self.argument = url.partition("?")
        path = path.partition("://")[2].partition("/")[2] if "://" in path else path[1:]
        self.start = int(fields.get("range", "bytes=0-")[6:-1])
        self.only = fields.get("if-range")
        with lock:
            self.nth = seen[path] = seen.get(path, 0) + 1
        try:
            PATHS.get(path, lambda r: r.send(head("404 Not Found", 0)))(self)
        except OSError:
            pass
        if self.sock is not self.request:
            try:
                self.sock.unwrap()
            except OSError:
                pass


class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6  # and IPv4 with it
    daemon_threads = True
    request_queue_size = 64


def start(tls):
    s = Server(("::", 0), Request)
    s.tls = tls
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s.server_address[1]


context = None
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4], sys.argv[5])
tls_port = start(context) if context else 0
http_port = start(None)
with open(sys.argv[2] + ".tmp", "w") as f:
    f.write("%d %d\n" % (http_port, tls_port))
os.rename(sys.argv[2] + ".tmp", sys.argv[2])
while True:
    time.sleep(3600)
