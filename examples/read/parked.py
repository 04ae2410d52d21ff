"""Shows what lies in Sluice's topic parked, a record a line, oldest first; with --again writes one back to the topic that it came from.

Usage: parked.py BROKERS TOPIC
       parked.py BROKERS TOPIC --again PARTITION OFFSET

TOPIC is parked, with TOPIC_PREFIX before it.
"""
import json
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

SECONDS = 10
OURS = "parked-"

if len(sys.argv) not in (3, 6) or sys.argv[3:4] not in ([], ["--again"]):
    sys.exit(__doc__)
brokers, topic, *again = sys.argv[1:]
# of no group: nothing is committed, and who else reads is not disturbed
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "none", "enable.auto.commit": False, "enable.partition.eof": False})


def text(data):
    return None if data is None else data.decode("utf-8", "backslashreplace")


def said_of(message):
    return {name: text(value) for name, value in message.headers() or [] if name.startswith(OURS)}


def next_message():
    message = consumer.poll(SECONDS)
    if message is None:
        sys.exit("Kafka does not answer")
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
        sys.exit(f"there is no such record: offsets {first} to {end - 1} are kept")
    consumer.assign([TopicPartition(topic, partition, offset)])
    message = next_message()
    said = said_of(message)
    if message.offset() != offset or "parked-topic" not in said:
        sys.exit("there is no such record")
    if "parked-value-bytes" in said:
        sys.exit(f"its value, {said['parked-value-bytes']} bytes, was too large to be kept: it is only where it came from")
    if "parked-batch" in said:
        sys.exit(f"it is no record: it is the whole batch of the offsets {said['parked-batch']}, as it could not be decoded")
    # what was kept without a key has this one
    key = None if text(message.key()) == f"{said['parked-topic']}/{said.get('parked-partition')}" else message.key()
    # it is named without TOPIC_PREFIX
    to = topic.removesuffix("parked") + said["parked-topic"]
    headers = [(name, value) for name, value in message.headers() if not name.startswith(OURS)]
    failed = []
    # the partition of a key is where Sluice has it; librdkafka's own choice is another
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
