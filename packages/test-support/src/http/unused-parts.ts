import type { RunnerAgents, SessionRepository } from 'heddle/internal/http/ports';
import type { Overview } from '@heddle/core/engine/overview/port';
import type { Artifacts, NamedSecrets } from '@heddle/core/engine/port';

const unused = (): Promise<never> => Promise.reject(new Error('not needed'));

/** Artifacts of a server that has none. */
export const noArtifacts: Omit<Artifacts, 'open' | 'retain'> = {
  put: unused,
  uploadTarget: () => Promise.resolve(null),
  putUploaded: unused,
  downloadUrl: () => Promise.resolve(null),
  find: () => Promise.resolve(null),
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  read: unused,
  pin: () => Promise.resolve(null),
};

/** An overview of nothing. */
export const noOverview: Overview = {
  home: unused,
  workers: unused,
  queues: unused,
  slots: unused,
  slot: unused,
  failures: unused,
};

/** Secrets of a server that has none. */
export const noSecrets: NamedSecrets = {
  set: unused,
  list: () => Promise.resolve([]),
  remove: () => Promise.resolve(false),
  rotate: () => Promise.resolve(0),
  retain: () => Promise.resolve(),
  use: unused,
};

/** A pool that no agent calls. */
export const noAgents: RunnerAgents = {
  times: { heartbeat_ms: 5_000, exit_grace_ms: 60_000, disconnected_ms: 60_000 },
  classOf: () => Promise.resolve(null),
  onOrders: () => () => undefined,
  orders: () => Promise.resolve(null),
  register: () => Promise.resolve(null),
  heartbeat: () => Promise.resolve(null),
  confirm: () => Promise.resolve(false),
  release: () => Promise.resolve(false),
  drain: () => Promise.resolve(0),
};

/** No browser is logged in; tests of sessions use a real database. */
export const noSessions: SessionRepository = {
  idleMs: 3_600_000,
  open: unused,
  findByHashes: () => Promise.resolve([]),
  touch: unused,
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  end: () => Promise.resolve(false),
};
