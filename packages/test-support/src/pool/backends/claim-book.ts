import type { RunnerMessage } from '@heddle/core/domain/runner/runner';
import type { Claimed, Grant, RunnerRequest, RunnerStore } from '@heddle/core/pool/port/store';
import type { KnownType, KnownTypes } from '@heddle/core/internal/pool/port/types';
import { shardOf } from '@heddle/core/internal/pool/backends/shards';

let ids = 0;

/** Ascending IDs. */
function nextId(): string {
  ids += 1;
  return `018bcfe5-6800-7000-8000-${ids.toString(16).padStart(12, '0')}`;
}

/** Far beyond the end of every test. */
const NEVER = Date.UTC(2999, 0, 1);

export function runnerOf(overrides: Partial<RunnerMessage> = {}): RunnerMessage {
  return {
    id: nextId(),
    resource_class: 'large',
    usage_class: 'on-demand',
    instance_type: 'a.large',
    cpu: 2,
    memory_mib: 4_096,
    threshold: NEVER,
    ...overrides,
  };
}

export function requestOf(overrides: Partial<RunnerRequest> = {}): RunnerRequest {
  const id = nextId();
  return {
    id,
    resource_class: 'large',
    usage_class: 'on-demand',
    allowed_instance_types: [],
    cpu: null,
    memory_mib: null,
    count: 1,
    tenant: 'acme',
    source: 'holder',
    run: 'a client',
    attempt: null,
    expires_at: null,
    state: 'waiting',
    shape_id: 1,
    kept: 0,
    rank: 1,
    created_at: 0,
    granted_at: null,
    exhaustion: null,
    reason: null,
    ...overrides,
  };
}

/** Records which request has which runner: a minimal store for queue backends. */
export class ClaimBook implements Pick<RunnerStore, 'claim'>, KnownTypes {
  readonly idle = new Map<string, RunnerMessage>();
  readonly silent = new Set<string>();
  /** Silent runners. */
  readonly wasSilent = new Set<string>();
  /** Runners that are reserved for earlier requests. */
  readonly barred = new Set<string>();
  /** Requests that have ended. */
  readonly over = new Set<string>();
  readonly holders = new Map<string, string>();
  readonly claims: string[][] = [];
  readonly #types = new Map<string, RunnerMessage>();

  /** Makes runners idle. */
  add(...runners: readonly RunnerMessage[]): readonly RunnerMessage[] {
    for (const runner of runners) {
      this.idle.set(runner.id, runner);
      this.#types.set(`${shardOf(runner)} ${runner.memory_mib}`, runner);
    }
    return runners;
  }

  claim(requestId: string, runnerIds: readonly string[]): Promise<{ grant: Grant | null; answers: Claimed[] }> {
    this.claims.push([...runnerIds]);
    const isSettled = this.over.has(requestId) || [...this.holders.values()].includes(requestId);
    const answers = runnerIds.map((id): Claimed => {
      if (isSettled) return 'settled';
      if (this.silent.has(id)) {
        this.wasSilent.add(id);
        return 'silent';
      }
      if (this.barred.has(id)) return 'barred';
      return this.idle.has(id) ? 'claimed' : 'gone';
    });
    if (answers.some((answer) => answer !== 'claimed')) return Promise.resolve({ grant: null, answers });
    const runners = runnerIds.map((id) => {
      const { instance_type } = this.idle.get(id)!;
      this.idle.delete(id);
      this.holders.set(id, requestId);
      return { id, number: 2, epoch: 1, instance_type, address: null };
    });
    return Promise.resolve({ grant: { request_id: requestId, runners }, answers });
  }

  list(): Promise<KnownType[]> {
    return Promise.resolve(
      [...this.#types].map(([key, type]) => {
        const idle = [...this.idle.values()].filter((each) => `${shardOf(each)} ${each.memory_mib}` === key);
        return { ...type, idle: idle.length };
      }),
    );
  }
}
