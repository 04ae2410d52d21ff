"""Sends calls with Segment's Python library and waits until each is delivered or given up.

Usage: send_calls.py HOST WRITE_KEY [OPTION ...] < calls.json; options such as sync_mode or gzip are turned on.
Prints how many were given up. Calls have the form of the HTTP API.
"""
import json
import re
import sys
from datetime import datetime
from decimal import Decimal

from segment.analytics.client import Client

if len(sys.argv) < 3:
    sys.exit(__doc__)
host, write_key, *options = sys.argv[1:]
given_up = []
client = Client(
    write_key,
    host=host,
    upload_size=20,
    on_error=lambda error, calls: given_up.extend(calls),
    **{option: True for option in options},
)
# applications pass amounts of money as decimals
for call in json.load(sys.stdin, parse_float=Decimal):
    send = getattr(client, call.pop("type"))
    if "timestamp" in call:
        call["timestamp"] = datetime.fromisoformat(call["timestamp"])
    send(**{re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name): value for name, value in call.items()})
if not client.sync_mode:
    client.shutdown()
print(len(given_up))
