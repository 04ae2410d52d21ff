"""Prints the records in Sluice's topic parked, one per line, oldest first. With --again, writes one back to its original topic.

Usage: parked.py BROKERS TOPIC
       parked.py BROKERS TOPIC --again PARTITION OFFSET

TOPIC is parked, preceded by TOPIC_PREFIX.
"""
import json
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

SECONDS = 10
PREFIX = "parked-"
PUT_BACK = "put-back"

if len(sys.argv) not in (3, 6) or sys.argv[3:4] not in ([], ["--again"]):
    sys.exit(__doc__)
brokers, topic, *again = sys.argv[1:]
# commits nothing, so other consumers are not affected
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "none", "enable.auto.commit": False, "enable.partition.eof": False})


def text(data):
    return None if data is None else data.decode("utf-8", "backslashreplace")


def parked_headers(message):
    return {name: text(value) for name, value in message.headers() or [] if name.startswith(PREFIX)}


def next_message():
    message = consumer.poll(SECONDS)
    if message is None:
        sys.exit("Kafka does not respond")
    if message.error():
        raise KafkaException(message.error())
    return message


def show(partition):
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=SECONDS)
    consumer.assign([TopicPartition(topic, partition, first)])
    while first < end:
        message = next_message()
        first = message.offset() + 1
        if message.offset() >= end:
            return
        print(json.dumps({
            "partition": partition,
            "offset": message.offset(),
            "key": text(message.key()),
            "bytes": None if message.value() is None else len(message.value()),
            "headers": {name: text(value) for name, value in message.headers() or []},
        }, ensure_ascii=False))


def put_back(partition, offset):
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=SECONDS)
    if not first <= offset < end:
        sys.exit(f"no such record: the topic has offsets {first} to {end - 1}")
    consumer.assign([TopicPartition(topic, partition, offset)])
    message = next_message()
    parked = parked_headers(message)
    if message.offset() != offset or "parked-topic" not in parked:
        sys.exit("no such record")
    if "parked-value-bytes" in parked:
        sys.exit(f"it was too large to be parked whole (value: {parked['parked-value-bytes']} bytes); only the original topic has it")
    if "parked-batch" in parked:
        sys.exit(f"this is not a record but the whole batch of the offsets {parked['parked-batch']}, which could not be decoded")
    if parked.get("parked-reason", "").startswith("it cannot be replayed"):
        sys.exit("a replay parked it, but all destinations would get it again: start another replay instead")
    # a record without a key was parked with this one
    key = None if text(message.key()) == f"{parked['parked-topic']}/{parked.get('parked-partition')}" else message.key()
    # the header does not include TOPIC_PREFIX
    to = topic.removesuffix("parked") + parked["parked-topic"]
    headers = [(name, value) for name, value in message.headers() if not name.startswith(PREFIX) and name != PUT_BACK]
    # otherwise the router might drop an event as a duplicate of itself
    headers.append((PUT_BACK, b"true"))
    failed = []
    # use the same partitioner as Sluice; librdkafka's default differs
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random", "acks": "all", "message.timeout.ms": 30_000})
    producer.produce(to, message.value(), key, headers=headers, on_delivery=lambda error, _: failed.append(error) if error else None)
    producer.flush()
    if failed:
        raise KafkaException(failed[0])
    print(f"written to {to}")


try:
    if again:
        put_back(int(again[1]), int(again[2]))
    else:
        for number in sorted(consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions):
            show(number)
finally:
    consumer.close()
