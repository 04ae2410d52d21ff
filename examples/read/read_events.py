"""Prints Sluice's topics as JSON, one record per line, without duplicate events. Press Ctrl-C to stop.

Usage: read_events.py BROKERS REGISTRY_URL GROUP TOPIC ...
"""
import hashlib
import json
import os
import signal
import sys

from confluent_kafka import Consumer, KafkaException

from decoding import decoder

REMEMBERED = 1_000_000

if len(sys.argv) < 5:
    sys.exit(__doc__)
brokers, registry_url, group, *topics = sys.argv[1:]
decode = decoder(registry_url)
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": group,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "reconnect.backoff.ms": 1000,  # log an unreachable broker less often
})
seen, stopping = {}, []  # a dict keeps the order of insertion


def is_duplicate(message):
    """Compares messageId and key; the key contains source and user. Duplicates from before the start are not recognized."""
    message_id = dict(message.headers() or []).get("messageId")
    if message_id is None:
        return False
    identity = (hashlib.sha256(message.key() or b"").digest(), message_id)  # a key may have 32 KB
    known = identity in seen
    seen[identity] = True
    if len(seen) > REMEMBERED:
        del seen[next(iter(seen))]
    return known


for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: stopping.append(True))
consumer.subscribe(topics)
try:
    while not stopping:
        messages = consumer.consume(500, timeout=0.5)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            if not is_duplicate(message) and (record := decode(message)):
                print(json.dumps(record))
        if messages:
            sys.stdout.flush()
            consumer.commit(asynchronous=False)  # after the work: a crash before this repeats it
except BrokenPipeError:  # the program that read the output has ended, such as `head`
    # Python flushes the output again when it exits
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
finally:
    consumer.close()
