import base64
import hashlib
import hmac
import time

TOLERANCE_SECONDS = 5 * 60


def is_genuine(raw_body: bytes, headers, secret: str) -> bool:
    """Whether Sluice sent this request, at most five minutes ago.

    raw_body: the bytes as received, before any JSON parser.
    headers: those of the request, in Flask, Django or FastAPI.
    """
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + raw_body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    # while the secret is rotated, there are two signatures: of the new secret and of the previous one
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(b"v1," + digest, each.encode()) for each in given)
