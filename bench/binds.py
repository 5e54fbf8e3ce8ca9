"""binds.py AGENT HOSTAGENT SECONDS RATE: what short-lived UDP sockets in the agent's network namespace cost, and what they delay.

Prints lines "agent PERCENT", "hostagent PERCENT" (of a core) and "appeared MS", one for each listener opened in the middle.
Started by bench/binds.sh; the half in the namespace is this file again.
"""
import os, select, socket, subprocess, sys, time

def inside(rate, seconds):
    """Binds and closes; a port number read from standard input is listened on, and the moment it did is told."""
    begin = time.monotonic()
    keep = []
    for i in range(int(rate * seconds)):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("0.0.0.0", EXPLICIT + i % 1000 if EXPLICIT else 0))
        s.close()
        wait = begin + (i + 1) / rate - time.monotonic()
        if not select.select([sys.stdin], [], [], max(wait, 0))[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            return
        keep.append(socket.create_server(("0.0.0.0", int(line))))
        print(time.monotonic(), flush=True)

def ran(pid):
    """Seconds a process has had on a processor."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9

def appears(port):
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return time.monotonic()
        except ConnectionRefusedError:
            time.sleep(0.0002)

def main():
    agent, hostagent, seconds, rate = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    job = subprocess.Popen(["nsenter", "-t", agent, "-n", sys.executable, __file__, "inside", str(rate), str(seconds)],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    begin, before = time.monotonic(), (ran(agent), ran(hostagent))
    for port in range(7100, 7110):
        time.sleep((seconds - 2) / 11)
        job.stdin.write(f"{port}\n")
        job.stdin.flush()
        at = appears(port)
        print("appeared %.3f" % ((at - float(job.stdout.readline())) * 1000))
    took = time.monotonic() - begin
    for name, pid, old in (("agent", agent, before[0]), ("hostagent", hostagent, before[1])):
        print("%s %.3f" % (name, (ran(pid) - old) / took * 100))
    job.stdin.close()
    job.wait()

EXPLICIT = int(os.environ.get("PORT", "0"))
if sys.argv[1] == "inside":
    inside(float(sys.argv[2]), float(sys.argv[3]))
else:
    main()
