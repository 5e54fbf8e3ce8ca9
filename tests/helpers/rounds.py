"""rounds.py SOCKET N: asks the stand-in for the Docker daemon (guest.c, answer) to open a port, connects to it on the
host at once, asks to close it and binds it at once, with the connection still open. No retry. The connection is in turn one
that waits to be taken, one that outlives its listener with bytes under way both ways, and one whose server is killed, where
even a plain bind finds nothing in its way; else it is one as servers do it, with SO_REUSEADDR. Prints "N rounds, F failures"."""
import collections
import socket
import sys

path, rounds = sys.argv[1], int(sys.argv[2])


def ask(text):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    s.sendall(text.encode())
    answer = b""
    while not answer.endswith(b"\n"):
        got = s.recv(64)
        if not got:
            raise EOFError("the stand-in closed without an answer")
        answer += got
    s.close()
    return int(answer)


def connect(port):
    c = socket.create_connection(("127.0.0.1", port), 10)
    c.sendall(bytes(4096))
    return c


def bind(port, reuse):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        s.bind(("127.0.0.1", port))
        s.listen()


failures = 0
lingering = collections.deque(maxlen=32)  # fewer than the stand-in keeps
for i in range(rounds):
    how = ("close", "keep", "kill")[i % 3]
    port = ask("open")
    try:
        lingering.append(connect(port))
        ask(f"{how} {port}")
        bind(port, how != "kill")
    except OSError as e:
        failures += 1
        print(f"round {i}: {how} {port}: {e}")
print(f"{rounds} rounds, {failures} failures")
sys.exit(failures != 0)
