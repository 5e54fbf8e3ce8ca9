#!/usr/bin/env python3
"""docker_standin.py FOLDER: stands in for Docker on the unix socket FOLDER/engine, as far as a machine that sleeps asks it.
FOLDER/list is what /containers/json answers; a line that is appended to FOLDER/events is an event of containers; FOLDER/asked
gets a line for each request. While FOLDER/restless is there, /events ends soon. POST /build answers at once that it has begun, and ends when FOLDER/built is there."""
import http.server
import os
import socketserver
import sys
import time

folder = sys.argv[1]


class Docker(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self):
        with open(folder + "/asked", "a") as f:
            f.write(self.command + " " + self.path.split("?")[0] + "\n")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def do_GET(self):
        self.note()
        path = self.path.split("?")[0]
        if path == "/containers/json":
            with open(folder + "/list", "rb") as f:
                self.answer(f.read())
        elif path == "/events":
            self.stream()
            with open(folder + "/events", "rb") as f:
                f.seek(0, os.SEEK_END)
                while True:
                    self.wfile.write(f.readline())
                    time.sleep(0.02)
                    if os.path.exists(folder + "/restless"):
                        time.sleep(0.1)
                        return
        else:
            self.answer(b"OK")

    def do_POST(self):
        self.note()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.split("?")[0] != "/build":
            self.answer(b"{}")
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nbegun\r\n")
        while not os.path.exists(folder + "/built"):
            time.sleep(0.02)
        self.wfile.write(b"5\r\nbuilt\r\n0\r\n\r\n")

    def address_string(self):
        return "guest"

    def log_message(self, *args):
        pass

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


open(folder + "/events", "a").close()
Server(folder + "/engine", Docker).serve_forever()
