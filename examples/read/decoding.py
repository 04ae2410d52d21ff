"""What the readers here share: a record's value in clear, or word of one that cannot be read."""
import functools
import io
import json
import sys

import fastavro
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError

UNKNOWN_SCHEMA = 40403
# times stay milliseconds since 1970: a reader in another zone need not think of its own
fastavro.read.LOGICAL_READERS["long-timestamp-millis"] = lambda milliseconds, *_: milliseconds


def away(error):
    sys.exit(f"The schema registry cannot be asked, is REGISTRY_URL right? {error!r}")


class Undecodable(Exception):
    """Reading the record again would not help."""


def decoder(registry_url):
    """Returns a function of a message to its value as a dict, or to None when it cannot be decoded, which it has said. Ends the program when the registry cannot be asked."""
    registry = SchemaRegistryClient({"url": registry_url})

    @functools.cache
    def schema_of(schema_id):
        try:
            text = registry.get_schema(schema_id).schema_str
        except SchemaRegistryError as error:
            if error.error_code == UNKNOWN_SCHEMA:
                raise Undecodable(f"schema {schema_id} is unknown") from error
            away(error)
        except Exception as error:  # of an HTTP client, by version another
            away(error)
        try:
            return fastavro.parse_schema(json.loads(text))
        except Exception as error:  # Protobuf, or JSON Schema
            raise Undecodable(f"schema {schema_id} is no Avro") from error

    def value_of(message):
        """A zero byte, the id of the schema in 4 bytes, the Avro body."""
        value = message.value()
        if value is None or len(value) < 5 or value[0] != 0:
            raise Undecodable("not Confluent's wire format")
        schema = schema_of(int.from_bytes(value[1:5], "big"))
        try:
            return fastavro.schemaless_reader(io.BytesIO(value[5:]), schema)
        except Exception as error:  # one of many kinds, by what the bytes are not
            raise Undecodable(repr(error)) from error

    def decode(message):
        try:
            return value_of(message)
        except Undecodable as reason:
            where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
            print(f"{where}: cannot be decoded, passed over: {reason}", file=sys.stderr, flush=True)
            return None

    return decode
