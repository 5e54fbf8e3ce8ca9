"""docker_rounds.py INSTANCE PORT N: rounds with a real container, no retry on our side of it. `docker run -p`, in turn through
docker.sock and by `shell INSTANCE docker`, returned: the host port accepts, and once the container listens, which is asked
inside it, the first answer is the container's. `docker stop` or `docker rm -f` returned, with a connection still open: another
program can bind the port. Prints a line a round, what a bind without SO_REUSEADDR would have got among it, and
"N rounds, F failures". $DOCKER is the client, $DOCKER_HOST the socket; the image is the tests' busybox."""
import collections
import os
import socket
import subprocess
import sys
import time

instance, port, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
client = [os.environ.get("DOCKER", "docker")]
shell = ["limactl-c", "shell", instance, "docker"]


def docker(how, *args):
    subprocess.run([*how, *args], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def connect():
    return socket.create_connection(("127.0.0.1", port), 30)


def get():
    with connect() as s:
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b""
        while got := s.recv(4096):
            answer += got
    if not answer.endswith(b"hello from the container\n"):
        raise OSError(f"answered {answer!r}")


def bind(reuse):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        s.bind(("127.0.0.1", port))
        s.listen()


def plain_bind():
    try:
        bind(0)
        return "free"
    except OSError as e:
        return e.strerror


failures = 0
open_ones = collections.deque(maxlen=8)
for i in range(rounds):
    how, end = (client, shell)[i % 2], ("stop", "rm")[i // 2 % 2]
    begun = time.monotonic()
    step = "run"
    docker(how, "run", "-d", "--name", "round", "-p", f"{port}:80", "busybox", "/bin/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
    try:
        step = "connect"
        connect().close()
        docker(client, "exec", "round", "/bin/sh", "-c", "until /bin/busybox wget -qO- http://127.0.0.1/; do :; done")
        step = "answer"
        get()
        s = connect()
        s.sendall(b"GET / HT")
        open_ones.append(s)
        docker(how, *(["stop", "-t", "0", "round"] if end == "stop" else ["rm", "-f", "round"]))
        step = "bind"
        plain = plain_bind()
        bind(1)
        print(f"round {i}: {how[0]}, {end}: {time.monotonic() - begun:.1f} s, a plain bind: {plain}", flush=True)
    except OSError as e:
        failures += 1
        print(f"round {i}: {how[0]}, {end}: {step}: {e}", flush=True)
    subprocess.run([*client, "rm", "-f", "round"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(f"{rounds} rounds, {failures} failures")
sys.exit(failures != 0)
