"""Checks the vectors beside this file with Python's own HMAC and SHA-256, written from the description of the wire."""

import hashlib
import hmac
import json
import pathlib
import struct
import sys


def lp(data):
    if isinstance(data, str):
        data = data.encode()
    return struct.pack(">I", len(data)) + data


def hkdf_sha256(secret, info, length=32):
    extracted = hmac.new(b"\0" * 32, secret, hashlib.sha256).digest()
    block, out, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.new(extracted, block + info + bytes([counter]), hashlib.sha256).digest()
        out += block
        counter += 1
    return out[:length]


def check(vector):
    fields, direction = vector["fields"], vector["direction"]
    payload = bytes.fromhex(vector["payload_hex"]) * vector.get("payload_repeats", 1)
    domain = "heddle-remote-v1"
    client_key = hkdf_sha256(bytes.fromhex(vector["secret"]), lp(domain) + lp("client") + lp(fields["client"]))
    direction_key = hkdf_sha256(client_key, lp(domain) + lp(direction))
    parts = [domain, direction, fields["key_id"], str(fields["timestamp_ms"]), fields["nonce"], fields["client"]]
    parts += [fields["audience"], fields["method"]]
    if direction == "response":
        parts += [fields["correlation_id"], str(fields["sequence"])]
    data = b"".join(lp(part) for part in parts) + lp(payload)
    mac = hmac.new(direction_key, data, hashlib.sha256).hexdigest()
    found = (client_key.hex(), direction_key.hex(), hashlib.sha256(data).hexdigest(), mac)
    wanted = tuple(vector[name] for name in ("client_key", "direction_key", "input_sha256", "mac_hex"))
    return found == wanted


vectors = json.loads(pathlib.Path(__file__).with_name("mac-vectors.json").read_text())["vectors"]
wrong = [vector["name"] for vector in vectors if not check(vector)]
print(json.dumps({"checked": len(vectors), "wrong": wrong}))
sys.exit(1 if wrong else 0)
