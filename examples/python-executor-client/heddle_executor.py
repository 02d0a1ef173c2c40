#!/usr/bin/env python3
"""A client of `heddle executor` in one file, using only Python's standard library: TCP and XML-RPC.

    executor = Executor("tcp://edge-7:50053", "keys/client-laptop.json", ca="ca.pem", cert="client.pem", key="client-key.pem")
    print(executor.submit("WordCount", {"text": "to be or not to be"}))

On the command line:

    python3 heddle_executor.py --executor tcp+plain://127.0.0.1:50053 --client-file keys/client-laptop.json submit WordCount '{"text": "a b"}'
"""

import argparse
import base64
import hashlib
import hmac
import json
import secrets
import socket
import ssl
import struct
import sys
import time
import urllib.parse
import xmlrpc.client

DOMAIN = "heddle-remote-v1"
ANSWER_BYTES_MAX = 80 * 1024 * 1024


class RemoteError(Exception):
    """The error returned by the executor."""

    def __init__(self, code, message, answer):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.answer = answer


class UntrustedAnswer(Exception):
    """The response is not signed by the executor, or belongs to another request."""


def prefixed(*fields):
    """Returns the fields, each as its length (32 bits, big-endian) and its bytes."""
    parts = [field if isinstance(field, bytes) else field.encode() for field in fields]
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def hkdf(key, info):
    """Derives 32 bytes with HKDF-SHA-256, without salt."""
    extracted = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def mac(client_key, direction, fields):
    direction_key = hkdf(client_key, prefixed(DOMAIN, direction))
    return hmac.digest(direction_key, prefixed(DOMAIN, direction, *fields), "sha256")


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class TcpTransport:
    """Frames: lengths, a JSON header, and the payload."""

    def __init__(self, address, context):
        self.address, self.context, self.socket, self.last_id = address, context, None, 0

    def call(self, request, payload, token, timeout):
        if self.socket is None:
            plain = socket.create_connection(self.address, timeout=timeout)
            name = self.address[0]
            self.socket = self.context.wrap_socket(plain, server_hostname=name) if self.context else plain
        try:
            self.socket.settimeout(timeout)
            self.last_id += 1
            header = {"id": self.last_id, **request, "mac": unpadded(request["mac"])}
            if token:
                header["token"] = token
            head = json.dumps(header).encode()
            self.socket.sendall(struct.pack(">II", 4 + len(head) + len(payload), len(head)) + head + payload)
            while True:
                answer, body = self.receive()
                # The rejection of an unreadable frame has no id.
                if answer.get("id") in (self.last_id, None) and answer.get("final", True):
                    return {**answer, "mac": from_unpadded(answer.get("mac") or "")}, body
        except BaseException:
            # A late answer on this connection could be mistaken for another one's.
            self.close()
            raise

    def receive(self):
        length, head_length = struct.unpack(">II", self.read(8))
        if length > ANSWER_BYTES_MAX or head_length + 4 > length:
            raise UntrustedAnswer("the answer is not a frame")
        rest = self.read(length - 4)
        return json.loads(rest[:head_length]), rest[head_length:]

    def read(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise ConnectionError("the executor closed the connection")
            parts += part
        return bytes(parts)

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class XmlRpcTransport:
    """POST /RPC2 with one struct; signed errors are answers, unsigned ones are faults."""

    def __init__(self, address, context):
        scheme = "https" if context else "http"
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.url, self.context = f"{scheme}://{host}:{address[1]}/RPC2", context

    def call(self, request, payload, token, timeout):
        headers = [("Authorization", f"Bearer {token}")] if token else []
        transport = xmlrpc.client.SafeTransport if self.context else xmlrpc.client.Transport
        options = {"context": self.context} if self.context else {}
        carrier = transport(headers=headers, use_builtin_types=True, **options)
        make_connection = carrier.make_connection

        def with_timeout(host):
            connection = make_connection(host)
            connection.timeout = timeout
            return connection

        carrier.make_connection = with_timeout
        proxy = xmlrpc.client.ServerProxy(self.url, transport=carrier, use_builtin_types=True)
        struct_ = {**request, "timestamp_ms": str(request["timestamp_ms"]), "payload": payload}
        method = struct_.pop("method")
        try:
            with proxy:
                answer = getattr(proxy, f"heddle.{method}")(struct_)
        except xmlrpc.client.Fault as fault:
            code, _, message = fault.faultString.partition(": ")
            raise RemoteError(code, message, None) from None
        body = answer.pop("payload")
        return {**answer, "method": method, "timestamp_ms": int(answer["timestamp_ms"])}, body

    def close(self):
        pass


class Executor:
    """
    endpoint     tcp://HOST:PORT or xmlrpc://HOST:PORT, with TLS; tcp+plain:// and xmlrpc+plain:// on loopback
    credentials  the client file created by `heddle keys generate`
    ca           authorities of the executor's certificate, PEM
    cert, key    the client's certificate, PEM, if the executor requires one
    token        a JSON Web Token, if the executor requires one
    """

    def __init__(self, endpoint, credentials, ca=None, cert=None, key=None, token=None):
        url = urllib.parse.urlsplit(endpoint)
        protocol, _, mode = url.scheme.partition("+")
        if protocol not in ("tcp", "xmlrpc") or mode not in ("", "plain") or not url.hostname or not url.port:
            raise ValueError(f"{endpoint}: must be tcp://HOST:PORT or xmlrpc://HOST:PORT, or with +plain on loopback")
        context = None
        if mode == "":
            context = ssl.create_default_context(cafile=ca)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            if cert:
                context.load_cert_chain(cert, key)
        transport = TcpTransport if protocol == "tcp" else XmlRpcTransport
        self.transport = transport((url.hostname, url.port), context)
        with open(credentials, encoding="utf-8") as file:
            self.credentials = json.load(file)
        self.token, self.clock_offset_ms = token, 0

    def call(self, method, body, timeout=330):
        answer = self.call_once(method, body, timeout)
        if answer.get("code") == "EXPIRED":
            answer = self.call_once(method, body, timeout)
        if answer["status"] == "error":
            raise RemoteError(answer["code"], answer["message"], answer)
        return answer

    def call_once(self, method, body, timeout):
        key = self.credentials["keys"][0]
        client_key = from_unpadded(key["secret"])
        payload = json.dumps(body).encode()
        request = {
            "key_id": key["id"],
            "timestamp_ms": int(time.time() * 1000) + self.clock_offset_ms,
            "nonce": unpadded(secrets.token_bytes(16)),
            "client": self.credentials["client"],
            "audience": self.credentials["audience"],
            "method": method,
        }
        request["mac"] = mac(client_key, "request", [str(value) for value in request.values()] + [payload])
        answer, data = self.transport.call(request, payload, self.token, timeout)
        self.verify(client_key, request, answer, data)
        # Follows the executor's clock, because it rejects requests that are too old or too new.
        self.clock_offset_ms = answer["timestamp_ms"] - int(time.time() * 1000)
        return json.loads(data)

    @staticmethod
    def verify(client_key, request, answer, data):
        for name in ("key_id", "nonce", "client", "audience", "method"):
            if answer[name] != request[name]:
                if not answer["mac"]:
                    break
                raise UntrustedAnswer(f"the answer's {name} does not match the request")
        if not answer["mac"]:
            refused = json.loads(data)
            raise RemoteError(refused["code"], refused["message"] + " (not signed)", refused)
        names = ("key_id", "timestamp_ms", "nonce", "client", "audience", "method", "correlation_id", "sequence")
        expected = mac(client_key, "response", [str(answer[name]) for name in names] + [data])
        if not hmac.compare_digest(expected, answer["mac"]):
            raise UntrustedAnswer("the answer's MAC does not match")

    def submit(self, event_name, args, timeout_secs=None, idempotency_key=None):
        """Runs the event and returns its result."""
        answer = self._submit(event_name, args, "sync", timeout_secs, idempotency_key)
        self.ack([answer["correlation_id"]])
        return answer["result"]

    def submit_async(self, event_name, args, timeout_secs=None, idempotency_key=None):
        """Submits the event and returns the correlation id for polling."""
        return self._submit(event_name, args, "async", timeout_secs, idempotency_key)["correlation_id"]

    def _submit(self, event_name, args, mode, timeout_secs, idempotency_key):
        body = {"event_name": event_name, "args": args, "mode": mode}
        body["idempotency_key"] = idempotency_key or unpadded(secrets.token_bytes(16))
        if timeout_secs is not None:
            body["timeout_secs"] = timeout_secs
        return self.call("submit", body)

    def poll(self, correlation_id, wait_secs=0):
        return self.call("poll", {"correlation_id": correlation_id, "wait_secs": wait_secs})

    def cancel(self, correlation_id):
        return self.call("cancel", {"correlation_id": correlation_id})

    def ack(self, correlation_ids):
        """Acknowledges results, so that the executor can forget them."""
        return self.call("ack", {"correlation_ids": correlation_ids})["acknowledged"]

    def events(self):
        return self.call("events", {})["events"]

    def exists(self, event_name):
        return self.call("event", {"event_name": event_name})["exists"]

    def status(self):
        return self.call("status", {})

    def close(self):
        self.transport.close()


def main():
    parser = argparse.ArgumentParser(description="submit events to a heddle executor")
    parser.add_argument("--executor", required=True)
    parser.add_argument("--client-file", required=True)
    for name in ("ca", "cert", "key", "token"):
        parser.add_argument(f"--{name}")
    commands = parser.add_subparsers(dest="command", required=True)
    submit = commands.add_parser("submit")
    submit.add_argument("event_name")
    submit.add_argument("args", nargs="?", default="{}", type=json.loads)
    submit.add_argument("--async", dest="asynchronous", action="store_true")
    for name in ("poll", "cancel"):
        commands.add_parser(name).add_argument("correlation_id")
    commands.add_parser("events")
    commands.add_parser("status")
    given = parser.parse_args()
    executor = Executor(given.executor, given.client_file, given.ca, given.cert, given.key, given.token)
    try:
        if given.command == "submit":
            run = executor.submit_async if given.asynchronous else executor.submit
            answer = run(given.event_name, given.args)
        elif given.command in ("poll", "cancel"):
            answer = getattr(executor, given.command)(given.correlation_id)
        else:
            answer = getattr(executor, given.command)()
    except (RemoteError, UntrustedAnswer, OSError) as error:
        sys.exit(f"heddle_executor: {error}")
    finally:
        executor.close()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
