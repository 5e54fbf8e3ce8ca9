"""Says what python's watchdog sees of a folder; not who opens and closes files."""
import time

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer


class Say(FileSystemEventHandler):
    def on_any_event(self, event):
        if not event.event_type.startswith(("opened", "closed")):
            print(event.event_type, event.src_path + "/" * event.is_directory, flush=True)


observer = Observer()
observer.schedule(Say(), ".", recursive=True)
observer.start()
print("ready", flush=True)
while True:
    time.sleep(1000)
