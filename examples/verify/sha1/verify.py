import hashlib
import hmac


def is_genuine(raw_body: bytes, headers, secret: str) -> bool:
    """Whether Sluice sent this request.

    raw_body: the bytes as received, before any JSON parser.
    headers: those of the request, in Flask, Django or FastAPI.
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha1).hexdigest()
    # while the secret is rotated, the second header is signed with the previous one
    given = [headers.get("X-Signature", ""), headers.get("X-Signature-Previous", "")]
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)
