#!/usr/bin/env python3
"""What a program that tests with containers does, by testcontainers: containers.py FOLDER. A container with FOLDER of this host in
it serves what is there on a port of its own, and writes a file. Nobody cleans up behind it: its reaper is an image of a registry."""
import sys
import time
import urllib.error
import urllib.request

from testcontainers.core.container import DockerContainer
from testcontainers.core.waiting_utils import wait_for_logs

folder = sys.argv[1]
serve = "cd /site && echo written >of-container && echo ready && exec /bin/busybox httpd -f -p 80 -h /site"
container = DockerContainer("busybox").with_command(["/bin/sh", "-c", serve])


def fetch(url):
    """Its server listens a moment after it said so."""
    end = time.monotonic() + 60
    while True:
        try:
            return urllib.request.urlopen(url, timeout=60).read().decode().strip()
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


with container.with_volume_mapping(folder, "/site", "rw").with_exposed_ports(80) as c:
    wait_for_logs(c, "ready", timeout=60)
    print(fetch(f"http://{c.get_container_host_ip()}:{c.get_exposed_port(80)}/of-host"))
