import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { ClientTransport } from '../../../src/client/port.ts';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { keptWaitingMs } from '@heddle/test-support/processor-time';
import { opened, submit } from './stand-in-manager.ts';

const PAUSE_MS = 2;
/** Maximum latency of a healthy client during an attack, allowing for other programs. */
const LATENCY_MS_MAX = 3_000;

/** A well-behaved client that must not be affected by others. */
export class HealthyClient {
  readonly #transport: ClientTransport;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly failures: unknown[] = [];
  answered = 0;
  slowest_ms = 0;

  constructor(transport: ClientTransport) {
    this.#transport = transport;
    this.#running = this.#run();
  }

  /** Asserts that every call was answered in time, including at least one after this was called. */
  async assertServed(): Promise<void> {
    const before = this.answered;
    await eventually(() => this.answered > before + 1 || this.failures.length > 0, 'the healthy client to be served');
    assert.deepEqual(this.failures, []);
    assert.ok(this.slowest_ms < LATENCY_MS_MAX, `an answer took ${this.slowest_ms} ms`);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#transport.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const never = new AbortController().signal;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const keptBefore = keptWaitingMs();
      const request = submit('Echo', { at: startedAt });
      try {
        const response = await this.#transport.call(request, { signal: never, token: null, traceparent: null });
        assert.deepEqual(opened(response, request)['result'], { at: startedAt });
        this.answered += 1;
        const waited_ms = performance.now() - startedAt - (keptWaitingMs() - keptBefore);
        this.slowest_ms = Math.max(this.slowest_ms, waited_ms);
      } catch (error) {
        this.failures.push(error);
      }
      await systemClock.sleep(PAUSE_MS, signal);
    }
  }
}

/** Starts a healthy client, stopped when the test ends. */
export function startHealthy(t: TestContext, transport: ClientTransport): HealthyClient {
  const healthy = new HealthyClient(transport);
  t.after(() => healthy.stop());
  return healthy;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes in use after garbage collection. */
export function memoryInUse(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the number of open descriptors of this process. */
export function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
