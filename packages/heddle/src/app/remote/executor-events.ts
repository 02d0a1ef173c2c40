import type { Ingress, Tier } from '@heddle/executor/protocol/messages';

/** Address of a listener, as callers write it. */
export interface ListenerAddress {
  protocol: Ingress;
  url: string;
}

/** Lifecycle events of an executor, for the terminal and for scripts. */
export type ExecutorEvent =
  | {
      event: 'ready';
      pid: number;
      listeners: readonly ListenerAddress[];
      tier: Tier;
      workers: number;
      events: readonly string[];
      allowed_events: readonly string[];
      data_dir: string;
    }
  | { event: 'stopping'; running: number; waiting: number }
  | { event: 'stopped' }
  | { event: 'forced' };
