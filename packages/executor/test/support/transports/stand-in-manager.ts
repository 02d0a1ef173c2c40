import { checkEnvelope } from '../../../src/protocol/envelope-shape.ts';
import { RemoteFailure } from '../../../src/protocol/codes.ts';
import {
  deriveClientKey,
  deriveSigningKeys,
  signRequest,
  signResponse,
  verifyRequest,
  verifyResponse,
} from '../../../src/protocol/mac.ts';
import type { SignedRequest, SignedResponse } from '../../../src/protocol/envelope.ts';
import type { RemoteMethod } from '../../../src/protocol/messages.ts';
import { refusalPayload } from '../../../src/protocol/refusal.ts';
import type { RemoteManager, Reply } from '../../../src/manager/port.ts';
import type { Received } from '../../../src/security/port.ts';
import { parseStrictJson } from '@heddle/base/json/parse';

export const KEY_ID = 'k1';
export const CLIENT = 'tester';
export const AUDIENCE = 'executors';
const KEYS = deriveSigningKeys(deriveClientKey(Buffer.alloc(32, 7), CLIENT));
const CORRELATION_ID = '0190a7b2-0000-7000-8000-000000000001';

let nonces = 0;

/** Signs a request of the stand-in's only client. */
export function seal(
  method: RemoteMethod,
  payload: object | Uint8Array,
  fields: Partial<SignedRequest> = {},
): SignedRequest {
  const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
  const nonce = (nonces += 1).toString(36).padStart(22, '0');
  const unsigned = { key_id: KEY_ID, timestamp_ms: 1_700_000_000_000, nonce, client: CLIENT, audience: AUDIENCE };
  return { ...signRequest({ ...unsigned, method, payload: bytes }, KEYS), ...fields };
}

export function submit(event_name: string, args: object): SignedRequest {
  return seal('submit', { event_name, args });
}

/** Returns the payload of a response after verifying its MAC. */
export function opened(response: SignedResponse, request: SignedRequest): Record<string, unknown> {
  if (response.mac.length > 0) {
    if (!verifyResponse(response, KEYS.response)) throw new Error('the MAC of the response does not match');
    if (response.nonce !== request.nonce) throw new Error('the response belongs to another request');
  }
  return JSON.parse(Buffer.from(response.payload).toString()) as Record<string, unknown>;
}

interface Held {
  readonly received: Received;
  readonly end: () => void;
}

/**
 * Responds like a manager, without queue or processes: verifies envelope, key and MAC, and knows a few events. `Echo`
 * returns its args, `Hold` waits until released, `Big` returns `bytes` characters, `Steps` reports progress.
 */
export class StandInManager implements RemoteManager {
  readonly received: Received[] = [];
  /** Whether received requests are recorded; off for millions of them. */
  remembers = true;
  readonly held: Held[] = [];
  /** Signals of held requests that aborted. */
  aborted = 0;

  health(): ReturnType<RemoteManager['health']> {
    return { status: 'healthy', workers: 1, busy: 0, queue_depth: 0, uptime_seconds: 1, tier: 'pooled', listeners: [] };
  }

  letGo(): void {
    for (const { end } of this.held.splice(0)) end();
  }

  async handle(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply> {
    const { request } = received;
    if (this.remembers) this.received.push(received);
    let known = false;
    try {
      checkEnvelope(request);
      if (request.key_id !== KEY_ID || request.client !== CLIENT)
        throw new RemoteFailure('UNAUTHENTICATED', `The key ${request.key_id} is unknown`);
      known = true;
      if (!verifyRequest(request, KEYS.request)) throw new RemoteFailure('INVALID_CHECKSUM');
      return this.#reply(request, await this.#answer(received, onProgress));
    } catch (error) {
      const failure = error instanceof RemoteFailure ? error : new RemoteFailure('MALFORMED', String(error));
      const payload = refusalPayload(failure, 1_700_000_000_000);
      return { ...this.#reply(request, payload, known ? 0 : null), code: failure.code };
    }
  }

  async #answer(received: Received, onProgress: ((reply: Reply) => void) | undefined): Promise<object> {
    const { request, signal } = received;
    const body = parseStrictJson(Buffer.from(request.payload), '') as {
      event_name: string;
      args: Record<string, number | undefined>;
    };
    if (request.method !== 'submit') return { status: 'ok' };
    const success = (result: unknown): object => ({ correlation_id: CORRELATION_ID, status: 'success', result });
    switch (body.event_name) {
      case 'Echo':
        return success(body.args);
      case 'Big':
        return success('x'.repeat(body.args['bytes'] ?? 0));
      case 'Steps':
        for (const [index, message] of ['one', 'two'].entries())
          onProgress?.(this.#reply(request, { correlation_id: CORRELATION_ID, status: 'running', message }, index));
        return success('done');
      case 'Hold':
        await new Promise<void>((end) => {
          this.held.push({ received, end });
          signal.addEventListener('abort', () => (this.aborted += 1));
        });
        return success(body.args);
      default:
        throw new RemoteFailure('EVENT_NOT_REGISTERED');
    }
  }

  #reply(request: SignedRequest, answer: object, sequence: number | null = 0): Reply {
    const { key_id, nonce, client, audience, method } = request;
    const payload = answer instanceof Uint8Array ? answer : Buffer.from(JSON.stringify(answer));
    const correlation_id = (answer as { correlation_id?: string }).correlation_id ?? '';
    const fields = {
      key_id,
      nonce,
      client,
      audience,
      method,
      payload,
      correlation_id,
      timestamp_ms: 1_700_000_000_001,
    };
    const response: SignedResponse =
      sequence === null
        ? { ...fields, sequence: 0, mac: new Uint8Array(0) }
        : signResponse({ ...fields, sequence }, KEYS);
    return { response, code: null, pending: false, retryAfterSecs: undefined };
  }
}
