"""Reads topic events as a data engineer would: Confluent's client, the schema from the registry.

Usage: read_events.py BROKERS REGISTRY_URL TOPIC COUNT. Prints one event a line as JSON.
"""
import json
import sys
import uuid

from confluent_kafka import DeserializingConsumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

if len(sys.argv) != 5:
    sys.exit(__doc__)
brokers, registry_url, topic, count = sys.argv[1:5]
registry = SchemaRegistryClient({"url": registry_url})
consumer = DeserializingConsumer(
    {
        "bootstrap.servers": brokers,
        "group.id": f"reader-{uuid.uuid4()}",
        "auto.offset.reset": "earliest",
        "value.deserializer": AvroDeserializer(registry),
    }
)
consumer.subscribe([topic])
for _ in range(int(count)):
    message = consumer.poll(20)
    if message is None:
        sys.exit("no more events within 20 s")
    event = message.value()
    event["key"] = message.key().decode()
    print(json.dumps(event, default=lambda value: value.isoformat()))
consumer.close()
