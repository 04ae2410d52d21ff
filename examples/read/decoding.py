"""Decodes records for the readers in this folder, and reports records that cannot be decoded."""
import functools
import io
import json
import sys

import fastavro
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError

UNKNOWN_SCHEMA = 40403
# keep times as milliseconds since 1970, independent of the reader's time zone
fastavro.read.LOGICAL_READERS["long-timestamp-millis"] = lambda milliseconds, *_: milliseconds


def unreachable(error):
    sys.exit(f"Cannot reach the schema registry. Is REGISTRY_URL correct? {error!r}")


class Undecodable(Exception):
    """Reading the record again would not help."""


def decoder(registry_url):
    """Returns a function that decodes a message to a dict. For a message that cannot be decoded, it prints the reason and returns None.

    Ends the program if the registry cannot be reached.
    """
    registry = SchemaRegistryClient({"url": registry_url})

    @functools.cache
    def schema_of(schema_id):
        try:
            text = registry.get_schema(schema_id).schema_str
        except SchemaRegistryError as error:
            if error.error_code == UNKNOWN_SCHEMA:
                raise Undecodable(f"schema {schema_id} is unknown") from error
            unreachable(error)
        except Exception as error:  # which HTTP client fails depends on the version
            unreachable(error)
        try:
            return fastavro.parse_schema(json.loads(text))
        except Exception as error:  # Protobuf, or JSON Schema
            raise Undecodable(f"schema {schema_id} is not Avro") from error

    def value_of(message):
        """The format is a zero byte, 4 bytes with the schema id, and the Avro body."""
        value = message.value()
        if value is None or len(value) < 5 or value[0] != 0:
            raise Undecodable("not Confluent's wire format")
        schema = schema_of(int.from_bytes(value[1:5], "big"))
        try:
            return fastavro.schemaless_reader(io.BytesIO(value[5:]), schema)
        except Exception as error:  # the type depends on the bytes
            raise Undecodable(repr(error)) from error

    def decode(message):
        try:
            return value_of(message)
        except Undecodable as reason:
            where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
            print(f"{where}: cannot be decoded, skipped: {reason}", file=sys.stderr, flush=True)
            return None

    return decode
