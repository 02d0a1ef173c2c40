import { ByteReader } from './byte-reader.ts';
import { parseCertificates, parseCertificates13, parseStatus } from './certificate-message.ts';
import type { SentChain } from './certificate-message.ts';
import { messageOf } from './client-hello.ts';
import { malformed, TlsFault } from './fault.ts';
import { HandshakeMessages } from './handshake-messages.ts';
import type { HandshakeMessage } from './handshake-messages.ts';
import type { ProbeKeys } from './key-exchange.ts';
import { canRead, HandshakeDecryption, transcriptHash } from './key-schedule.ts';
import { alertName, CONTENT_TYPE, EXTENSION, HANDSHAKE_TYPE, READ_LIMITS } from './protocol.ts';
import { RecordStream } from './record-layer.ts';
import { parseServerHello, readAlpn, readExtensions } from './server-hello.ts';
import type { ServerHello } from './server-hello.ts';

/** `retry`: the server requests another offer, see `server_hello`; `done`: nothing more to learn. */
export type FlightState = 'more' | 'retry' | 'done';

/**
 * Reads a server's answer to a ClientHello, up to its certificate. Sends nothing: up to TLS 1.2 the certificate is
 * plain text, and in TLS 1.3 the offered key share suffices to decrypt it, so the handshake never needs to complete.
 */
export class Flight {
  readonly #goal: 'hello' | 'certificates';
  readonly #keys: ProbeKeys;
  readonly #records = new RecordStream();
  readonly #messages = new HandshakeMessages();
  #transcript: Uint8Array[];
  #decryption: HandshakeDecryption | null = null;
  #idleRecords = 0;
  #hasRetried = false;

  /** Null until received; for a server that requests another offer, its request. */
  server_hello: ServerHello | null = null;
  chain: SentChain | null = null;
  /** Undefined if it cannot be observed: TLS 1.3 encrypts it. */
  alpn: string | null | undefined = undefined;

  /** @param hello the record sent */
  constructor(goal: 'hello' | 'certificates', hello: Buffer, keys: ProbeKeys) {
    this.#goal = goal;
    this.#keys = keys;
    this.#transcript = [messageOf(hello)];
  }

  /** @throws TlsFault for alerts and invalid answers; what was learned before is kept */
  push(bytes: Uint8Array): FlightState {
    this.#records.push(bytes);
    for (let record = this.#records.next(); record !== null; record = this.#records.next()) {
      const state = this.#record(record.type, record.header, record.content);
      if (state !== 'more') return state;
    }
    return 'more';
  }

  /** Continues with the answer to the second offer. */
  retried(hello: Buffer): void {
    this.#hasRetried = true;
    this.#transcript.push(messageOf(hello));
  }

  /** Returns the fault if the server closes the connection now. */
  closed(): TlsFault {
    if (this.server_hello === null) return new TlsFault('refused', 'closed without an answer');
    return new TlsFault('malformed', 'closed during the handshake');
  }

  #record(type: number, header: Uint8Array, content: Uint8Array): FlightState {
    if (type === CONTENT_TYPE.application_data && this.#decryption !== null) {
      const inner = this.#decryption.open(header, content);
      return this.#content(inner.type, inner.content);
    }
    // TLS 1.3 sends this change of ciphers for middleboxes only.
    const isFiller = type === CONTENT_TYPE.change_cipher_spec && this.server_hello?.version === 'tls13';
    if (isFiller) return this.#idle();
    if (this.#decryption !== null && type !== CONTENT_TYPE.alert) throw malformed('plain text after the key change');
    return this.#content(type, content);
  }

  #content(type: number, content: Uint8Array): FlightState {
    if (type === CONTENT_TYPE.alert) return this.#alert(content);
    if (type !== CONTENT_TYPE.handshake) throw malformed(`a record of the type ${type} within the handshake`);
    if (content.length === 0) return this.#idle();
    this.#messages.push(content);
    for (let message = this.#messages.next(); message !== null; message = this.#messages.next()) {
      const state = this.#message(message);
      if (state !== 'more') return state;
    }
    return 'more';
  }

  #alert(content: Uint8Array): FlightState {
    const reader = new ByteReader(content, 'the alert');
    const isFatal = reader.uint8() !== 1;
    const name = alertName(reader.uint8());
    if (!isFatal && name !== 'close_notify') return this.#idle();
    throw new TlsFault('refused', `alert: ${name}`, name);
  }

  #idle(): FlightState {
    this.#idleRecords += 1;
    if (this.#idleRecords > READ_LIMITS.idle_records_max) throw malformed('too many records without content');
    return 'more';
  }

  #message(message: HandshakeMessage): FlightState {
    if (this.server_hello === null || (this.server_hello.is_retry && this.#hasRetried)) return this.#hello(message);
    if (this.server_hello.version === 'tls13') return this.#encrypted(message);
    return this.#plain(message);
  }

  #hello({ type, body, raw }: HandshakeMessage): FlightState {
    if (type !== HANDSHAKE_TYPE.server_hello) throw malformed(`a handshake message ${type} instead of a ServerHello`);
    const wasRetried = this.server_hello !== null;
    const hello = parseServerHello(body);
    if (hello.is_retry && wasRetried) throw malformed('a second HelloRetryRequest');
    this.server_hello = hello;
    if (hello.version !== 'tls13') this.alpn = hello.alpn;
    if (this.#goal === 'hello') return 'done';
    if (hello.version !== 'tls13') return 'more';
    if (this.#messages.hasPending) throw malformed('a message that spans the change of keys');
    if (!canRead(hello.cipher)) return 'done';
    return hello.is_retry ? this.#askedAgain(hello, raw) : this.#readKeys(hello, raw);
  }

  #askedAgain({ cipher, group }: ServerHello, raw: Uint8Array): FlightState {
    if (group !== null && this.#keys.share(group) === null) return 'done';
    const first = transcriptHash(cipher, this.#transcript);
    this.#transcript = [Buffer.of(HANDSHAKE_TYPE.message_hash, 0, 0, first.length), first, Buffer.from(raw)];
    return 'retry';
  }

  #readKeys({ cipher, group, key }: ServerHello, raw: Uint8Array): FlightState {
    if (group === null || key === null) throw malformed('a ServerHello of TLS 1.3 without a key share');
    const transcript = transcriptHash(cipher, [...this.#transcript, raw]);
    this.#decryption = new HandshakeDecryption(cipher, this.#keys.agree(group, key), transcript);
    return 'more';
  }

  #encrypted({ type, body }: HandshakeMessage): FlightState {
    if (type === HANDSHAKE_TYPE.encrypted_extensions) {
      const extensions = readExtensions(new ByteReader(body, 'the encrypted extensions').vector16());
      this.alpn = readAlpn(extensions.get(EXTENSION.alpn));
    }
    if (type !== HANDSHAKE_TYPE.certificate) return type === HANDSHAKE_TYPE.finished ? 'done' : 'more';
    this.chain = parseCertificates13(body);
    return 'done';
  }

  #plain({ type, body }: HandshakeMessage): FlightState {
    if (type === HANDSHAKE_TYPE.certificate) {
      this.chain = parseCertificates(body);
      const mayStaple = this.server_hello!.extensions.includes(EXTENSION.status_request);
      return mayStaple ? 'more' : 'done';
    }
    if (type === HANDSHAKE_TYPE.certificate_status && this.chain !== null)
      this.chain = { ...this.chain, ocsp_stapled: parseStatus(body) };
    return 'done';
  }
}
