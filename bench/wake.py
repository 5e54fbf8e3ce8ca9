"""wake.py SOCKET: milliseconds from a connection to docker.sock to the whole answer of GET /_ping."""
import socket
import sys
import time

begun = time.perf_counter()
s = socket.socket(socket.AF_UNIX)
s.settimeout(120)
s.connect(sys.argv[1])
# Asked as nobody did before: answers that were given before are given again without the guest.
s.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\nX-Asked: %d\r\n\r\n" % time.time_ns())
answer = b""
while part := s.recv(65536):
    answer += part
assert b" 200 " in answer.split(b"\r\n", 1)[0] and answer.endswith(b"OK"), answer
print("%.3f" % ((time.perf_counter() - begun) * 1000))
