"""Writes topic events to files of JSON lines, one folder per day, for events.sql or any other engine. Press Ctrl-C to stop.

Usage: events_to_files.py BROKERS REGISTRY_URL GROUP TOPIC FOLDER
"""
import json
import os
import signal
import sys
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Consumer, KafkaException

from decoding import decoder

MOST_EVENTS, SECONDS = 10_000, 2  # per file; higher values make fewer files

if len(sys.argv) != 6:
    sys.exit(__doc__)
brokers, registry_url, group, topic, folder = sys.argv[1:]
decode = decoder(registry_url)
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": group,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "reconnect.backoff.ms": 1000,  # log an unreachable broker less often
})
stopping = []


def write(day, partition, first, lines):
    """Names the file after its first record, so that after a crash it is overwritten with the same records."""
    path = Path(folder, f"day={day}", f"{partition}-{first}.ndjson")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.part", path)


for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: stopping.append(True))
consumer.subscribe([topic])
try:
    while not stopping:
        files = {}
        messages = consumer.consume(MOST_EVENTS, timeout=SECONDS)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            event = decode(message)
            if event is None:
                continue
            day = datetime.fromtimestamp(event["receivedAt"] / 1000, timezone.utc).date()
            _, lines = files.setdefault((day, message.partition()), (message.offset(), []))
            lines.append(json.dumps(event) + "\n")
        for (day, partition), (first, lines) in files.items():
            write(day, partition, first, lines)
        if messages:
            consumer.commit(asynchronous=False)  # after the work: a crash before this repeats it
finally:
    consumer.close()
