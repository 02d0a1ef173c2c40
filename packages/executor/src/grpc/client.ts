import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';

import type { ChannelCredentials, Client } from '@grpc/grpc-js';

import type { Clock } from '@heddle/base/clock';
import { messageOf } from '@heddle/base/thrown';
import {
  TransportFailure,
  type CallOptions,
  type ClientTls,
  type ClientTransport,
  type Endpoint,
} from '../client/port.ts';
import { CONNECT_MS, requireSafeEndpoint } from '../connect.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { malformed } from '../protocol/refusal.ts';
import { callOver, canceled, type Closeable } from './calling.ts';
import { ANSWER_MESSAGE_BYTES_MAX, GRPC_LIMITS } from './limits.ts';
import { loadGrpc, type GrpcPackage } from './packages.ts';
import { loadWire, type GrpcWire } from './wire.ts';

export interface GrpcTransportOptions {
  readonly clock: Clock;
  /** Timeout for a connection, including TLS, ms; default 10,000. */
  readonly connect_ms?: number;
  /** Maximum connections, opened as needed; default 16. */
  readonly connections_max?: number;
  /** Largest response, bytes; default 64 MiB. */
  readonly message_bytes_max?: number;
}

const CONNECTIONS_MAX = 16;
/**
 * Concurrent calls per connection. Some are reserved for short calls, so that long-running tasks do not block their own
 * cancellation.
 */
const CALLS_MAX = GRPC_LIMITS.in_flight_max;
const LONG_CALLS_MAX = 48;
/** Size allowance for everything in an envelope except the payload. */
const FIELDS_BYTES_MAX = 4_096;
const RECONNECT_MS = 100;
const RECONNECT_MAX_MS = 2_000;
/** Server name sent for endpoints with an IP address, which TLS cannot name; the address itself is verified. */
const NO_NAME = 'executor.invalid';

/**
 * Opens a transport that connects on demand, keeps its connections, and reconnects when they are lost. The gRPC
 * packages are loaded by the first call, which fails if they are not installed.
 *
 * @param tls null only on loopback
 */
export function openGrpcTransport(
  endpoint: Endpoint,
  tls: ClientTls | null,
  options: GrpcTransportOptions,
): ClientTransport {
  requireSafeEndpoint(endpoint, tls);
  return new GrpcTransport(endpoint, tls, options);
}

interface Loaded {
  readonly grpc: GrpcPackage;
  readonly wire: GrpcWire;
  readonly credentials: ChannelCredentials;
}

/** One connection, which the library reconnects. */
interface Channel {
  readonly client: Client;
  calls: number;
}

class GrpcTransport implements ClientTransport {
  readonly endpoint: Endpoint;
  readonly #tls: ClientTls | null;
  readonly #options: GrpcTransportOptions;
  readonly #channels: Channel[] = [];
  readonly #calls = new Set<Closeable>();
  #loaded: Promise<Loaded> | null = null;
  #closed = false;

  constructor(endpoint: Endpoint, tls: ClientTls | null, options: GrpcTransportOptions) {
    this.endpoint = endpoint;
    this.#tls = tls;
    this.#options = options;
  }

  async call(request: SignedRequest, options: CallOptions): Promise<SignedResponse> {
    if (request.payload.length + FIELDS_BYTES_MAX > GRPC_LIMITS.message_bytes_max)
      throw malformed(`payload: has ${request.payload.length} bytes, more than fit into a message`);
    const loaded = await this.#load();
    if (this.#closed) throw new TransportFailure('the transport is closed', false);
    if (options.signal.aborted) throw canceled(false, options.signal);
    const channel = this.#channelFor(loaded, request);
    const { clock, connect_ms: connectMs = CONNECT_MS } = this.#options;
    const name = `grpc ${this.endpoint.host}:${this.endpoint.port}`;
    channel.calls += 1;
    try {
      return await callOver(
        { ...loaded, client: channel.client, clock, connectMs, name },
        request,
        options,
        this.#calls,
      );
    } finally {
      channel.calls -= 1;
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const call of [...this.#calls]) call.close();
    for (const { client } of this.#channels) client.close();
    return Promise.resolve();
  }

  #load(): Promise<Loaded> {
    this.#loaded ??= load(this.endpoint, this.#tls).catch((error: unknown) => {
      this.#loaded = null;
      throw new TransportFailure(messageOf(error), false, error);
    });
    return this.#loaded;
  }

  #channelFor(loaded: Loaded, { method }: SignedRequest): Channel {
    const callsMax = method === 'submit' || method === 'poll' ? LONG_CALLS_MAX : CALLS_MAX;
    const free = this.#channels.find(({ calls }) => calls < callsMax);
    if (free !== undefined) return free;
    if (this.#channels.length < (this.#options.connections_max ?? CONNECTIONS_MAX)) {
      const channel = { client: this.#newClient(loaded), calls: 0 };
      this.#channels.push(channel);
      return channel;
    }
    // The library queues calls that exceed the peer's limit.
    return this.#channels.reduce((least, each) => (each.calls < least.calls ? each : least));
  }

  #newClient({ grpc, credentials }: Loaded): Client {
    const { host, port } = this.endpoint;
    const name = nameOf(this.endpoint, this.#tls);
    return new grpc.Client(`dns:${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, {
      'grpc.max_receive_message_length': this.#options.message_bytes_max ?? ANSWER_MESSAGE_BYTES_MAX,
      'grpc.max_send_message_length': GRPC_LIMITS.message_bytes_max,
      'grpc.keepalive_time_ms': GRPC_LIMITS.keepalive_ms,
      'grpc.keepalive_timeout_ms': GRPC_LIMITS.keepalive_timeout_ms,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_MS,
      'grpc.max_reconnect_backoff_ms': RECONNECT_MAX_MS,
      // Ignores proxies of the environment, channels of other clients and policies from DNS.
      'grpc.enable_http_proxy': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_channelz': 0,
      ...(this.#tls === null ? {} : { 'grpc.ssl_target_name_override': isIP(name) === 0 ? name : NO_NAME }),
    });
  }
}

async function load(endpoint: Endpoint, tls: ClientTls | null): Promise<Loaded> {
  const [grpc, wire] = await Promise.all([loadGrpc(), loadWire()]);
  return { grpc, wire, credentials: credentialsOf(grpc, tls, nameOf(endpoint, tls)) };
}

/** Returns the name that the peer's certificate must match. */
function nameOf(endpoint: Endpoint, tls: ClientTls | null): string {
  return tls?.servername ?? endpoint.host;
}

function credentialsOf(grpc: GrpcPackage, tls: ClientTls | null, name: string): ChannelCredentials {
  if (tls === null) return grpc.credentials.createInsecure();
  const context = createSecureContext({
    ca: tls.ca,
    minVersion: 'TLSv1.3',
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  });
  return grpc.credentials.createFromSecureContext(context, {
    checkServerIdentity: (_asked, certificate) => checkServerIdentity(name, certificate),
  });
}
