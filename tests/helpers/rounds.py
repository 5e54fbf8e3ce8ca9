"""rounds.py SOCKET N: asks the stand-in for the Docker daemon (guest.c, answer) to open a port, connects to it on the
host at once, asks to close it and binds it at once. No retry. Prints "N rounds, F failures"."""
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


failures = 0
for i in range(rounds):
    port = ask("open")
    try:
        socket.create_connection(("127.0.0.1", port), 10).close()
    except OSError as e:
        failures += 1
        print(f"round {i}: connect to {port}: {e}")
    ask(str(-port))
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", port))
        s.listen()
    except OSError as e:
        failures += 1
        print(f"round {i}: bind {port}: {e}")
    s.close()
print(f"{rounds} rounds, {failures} failures")
sys.exit(failures != 0)
