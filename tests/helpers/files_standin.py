"""Takes the place of an instance's control socket for copies.

files_standin.py SOCKET cut BYTES   passes everything on to SOCKET.real, and cuts the connection once so much went one way
files_standin.py SOCKET stall BYTES the same, but then it only keeps silent
files_standin.py SOCKET count FILE  passes everything on, and writes to FILE how much went each way: to the guest, from it
files_standin.py SOCKET evil        is a guest that sends what would be written outside the target, if anybody let it
files_standin.py SOCKET junk        is a guest that answers what it is sent with what is no answer, and then keeps silent
"""
import os
import socket
import struct
import sys
import threading

DIR, LEAVE, FILE, LINK, DATA, DONE, END = 2, 3, 4, 5, 8, 10, 13


def record(kind, payload=b""):
    return struct.pack("<II", kind, len(payload)) + payload


def entry(kind, name, link=b"", mode=0o4755):
    return record(kind, struct.pack("<IqIQHH", mode, 1, 0, 0, 0, len(name)) + name + link)


def whole(name):
    return entry(FILE, name) + record(DATA, b"evil\n") + record(DONE, struct.pack("<Q", 5))


def exec_record(kind, payload):
    return struct.pack("<BBH", kind, 0, len(payload)) + payload


EVIL = [
    # links first, then what would go through them; then a name that is a path
    b"LFILES1\n" + entry(DIR, b"x") + entry(LINK, b"away", b"../../outside", 0o777)
    + entry(DIR, b"away") + whole(b"through") + record(LEAVE)
    + entry(LINK, b"file", b"../../outside/file", 0o777) + whole(b"file") + whole(b"good") + record(LEAVE) + record(END),
    b"LFILES1\n" + whole(b"../outside/dots") + record(END),
    b"LFILES1\n" + whole(b"/outside") + record(END),
    b"LFILES1\n" + whole(b".profile") + record(END),
]


def be_evil(client, turn):
    client.recv(65536)
    client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n"
                   + exec_record(6, EVIL[turn % len(EVIL)]) + exec_record(8, struct.pack("<i", 0)))
    client.shutdown(socket.SHUT_WR)
    while client.recv(65536):
        pass


JUNK = [b"\xff" * 64, b"LFILES1\n" + b"\xff" * 64, b"LFILES1\n" + entry(DIR, b"x")]


def be_junk(client, turn):
    client.recv(65536)
    client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n" + exec_record(6, JUNK[turn % len(JUNK)]))
    while client.recv(65536):
        pass


def pump(source, to, count, which, limit):
    stall, limit = limit < 0, abs(limit)
    try:
        while data := source.recv(65536):
            if limit and count[which] + len(data) > limit:
                to.sendall(data[:limit - count[which]])
                count[which] = limit
                if stall:
                    threading.Event().wait()
                break
            count[which] += len(data)
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    if limit and count[which] == limit:
        source.close()
        to.close()


def pass_on(client, real, limit, report):
    server = socket.socket(socket.AF_UNIX)
    server.connect(real)
    count = [0, 0]
    back = threading.Thread(target=pump, args=(server, client, count, 1, limit), daemon=True)
    back.start()
    pump(client, server, count, 0, limit)
    if limit:
        for s in (client, server):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
    back.join()
    if report:
        with open(report + ".new", "w") as f:
            print(*count, file=f)
        os.rename(report + ".new", report)


def main():
    path, what = sys.argv[1:3]
    real = path + ".real"
    os.rename(path, real)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    turn = 0
    while True:
        client, _ = listener.accept()
        if what == "evil":
            be_evil(client, turn)
        elif what == "junk":
            be_junk(client, turn)
        else:
            limit = {"cut": 1, "stall": -1}.get(what, 0)
            pass_on(client, real, limit and limit * int(sys.argv[3]), sys.argv[3] if what == "count" else None)
        client.close()
        turn += 1


main()
