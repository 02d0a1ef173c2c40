import type { Demand, Requirements } from '../../domain/runner/requirements.ts';
import type { Runner, RunnerMessage } from '../../domain/runner/runner.ts';
import type { RoomWanted } from '../../domain/runner/room.ts';
import type { RequestState } from '../../domain/runner/state.ts';
import type { LaunchBatch, LaunchedRunner, ProviderInstance } from './provider.ts';

export type { RoomWanted } from '../../domain/runner/room.ts';

/** Times, in milliseconds; each is a setting. */
export interface PoolTimes {
  /** From the plan of a launch to its success. */
  readonly created_ms: number;
  /** From a successful launch to the first sign of life. */
  readonly register_ms: number;
  /** From the claim to the agent's word that it has begun. */
  readonly confirm_ms: number;
  /** How long a claim may stay without having begun, whatever the agent says. */
  readonly claim_ms: number;
  /** How long a released runner stays without being claimed. */
  readonly idle_ms: number;
  /** How old the last sign of life of a runner may be that is claimed. */
  readonly fresh_ms: number;
  /** After so long without a sign of life a runner counts as silent; it is lost when it still is at a second look. */
  readonly silent_ms: number;
  /** Least time between the two looks that end a runner which store, provider and signs of life disagree about. */
  readonly doubt_ms: number;
  /** After so long at the head, a request for several at once holds back those behind it. */
  readonly patience_ms: number;
}

/** Where a request comes from. */
export type RequestSource = 'task' | 'holder';

export interface NewRequest extends Demand {
  /** Made by the caller, so that it can ask twice; of a task derived from its id and attempt. */
  readonly id: string;
  /** Whom it is fair to. */
  readonly tenant: string;
  readonly source: RequestSource;
  /** The task, for `task`; what the holder calls itself, for `holder`. */
  readonly run: string;
  /** Of a task. */
  readonly attempt: number | null;
  /** Milliseconds since the epoch; null: it waits for as long as it takes. */
  readonly expires_at: number | null;
}

/** `global`: nobody is idle. `local`: those that are idle are not for this request. `uncertain`: nobody looked hard enough. */
export const EXHAUSTIONS = ['global', 'local', 'uncertain'] as const;

export type Exhaustion = (typeof EXHAUSTIONS)[number];

export interface RunnerRequest extends NewRequest {
  readonly state: RequestState;
  readonly shape_id: number;
  /** Of a hold that waits again since it lost runners: those that it still has, and keeps; else 0. */
  readonly kept: number;
  /** Its turn: lower ones first; fair between tenants. */
  readonly rank: number;
  readonly created_at: number;
  readonly granted_at: number | null;
  readonly exhaustion: Exhaustion | null;
  /** Why it ended, or what its last launch failed of. */
  readonly reason: string | null;
}

/** How many runners a request that waits is to get. */
export function lackingOf({ count, kept }: Pick<RunnerRequest, 'count' | 'kept'>): number {
  return count - kept;
}

/** Where a request stands among those that wait. */
export type Turn = Pick<RunnerRequest, 'rank' | 'id'>;

/** A request with the runners that it has; while it waits those that it keeps. */
export interface RequestWithRunners extends RunnerRequest {
  readonly runners: readonly Runner[];
}

export interface GrantedRunner {
  readonly id: string;
  readonly number: number;
  readonly epoch: number;
  readonly instance_type: string;
  readonly address: string | null;
}

export interface Grant {
  readonly request_id: string;
  /** As many as were asked for, those among them that it had kept. */
  readonly runners: readonly GrantedRunner[];
}

/** Requests of one shape that have no runner, and what is on its way to them. */
export interface Shortage {
  readonly shape_id: number;
  readonly requirements: Requirements;
  /** Runners that waiting requests of the shape ask for, together. */
  readonly wanted: number;
  /** Runners that are created and were planned for this shape. */
  readonly coming: number;
  /** Idle runners that fit the shape, of which a request for several at once may still lack some; absent: none. */
  readonly idle?: number;
  /** Milliseconds since the epoch of the request that waits longest. */
  readonly since: number;
}

export interface NewBatch {
  readonly id: string;
  readonly provider: string;
  readonly requirements: Requirements;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly runner_ids: readonly string[];
  /** Created runners of its shape that its planner saw: where there are others by now, it is left out. Absent: any. */
  readonly coming?: number;
}

export interface Registration {
  /** One of the two tells which it is: its own id, or the batch it was started by. */
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly provider_id: string;
  readonly address: string | null;
}

/** What an agent is told at each sign of life. */
export interface Orders {
  readonly runner_id: string;
  readonly number: number;
  readonly state: Runner['state'];
  readonly epoch: number;
  readonly request_id: string | null;
  /** The task that it is to run, where its request is a task's and it is the first of its runners. */
  readonly task_id: string | null;
  /** No other runner of its request has still to begin: what earlier claims of them were for has ended. */
  readonly ready: boolean;
  /** All runners of its request, itself included. */
  readonly peers: readonly GrantedRunner[];
  /** Its state ends then, milliseconds since the epoch. */
  readonly threshold: number;
  readonly draining: boolean;
  /** The moment of the store, milliseconds since the epoch: what `threshold` is held against. */
  readonly now: number;
}

/**
 * `gone`: it is not idle, or not what the request asks for. `silent`: it gave no sign of life lately. `barred`: a request for
 * several at once, whose turn comes first, has lost its patience for its type, or one that waits for room was overtaken often enough. `settled`: it was not needed.
 */
export type Claimed = 'claimed' | 'gone' | 'silent' | 'barred' | 'settled';

export interface ClassCensus {
  readonly resource_class: string;
  readonly usage_class: string;
  readonly created: number;
  readonly idle: number;
  readonly claimed: number;
  readonly running: number;
  /** Runners that waiting requests ask for. */
  readonly waiting: number;
}

export interface SweepResult {
  /** Runners that were ended, by reason. */
  readonly ended: Readonly<Record<string, number>>;
  /** Requests that wait again, since their runner did not begin. */
  readonly requeued: number;
  readonly expired: number;
  /** Runners that were let go of, since what they were claimed for is over. */
  readonly released: number;
}

/** Which runners are meant: those that everything said here is true of. */
export interface RunnerFilter {
  readonly state?: Runner['state'];
  readonly resource_class?: string;
  readonly ids?: readonly string[];
  /** False: it has not ended. */
  readonly ended?: false;
}

/**
 * The one truth about runners and requests. Every method is one transaction, takes sets, is conditional on what it
 * changes, and may be called again with the same words. Where nothing else is said, sets are at most 1,000.
 */
export interface RunnerStore {
  /** Writes requests in the order given; those with a known id stay as they are. */
  ask(requests: readonly NewRequest[]): Promise<void>;
  request(id: string): Promise<RequestWithRunners | null>;
  /** Those of them that there are, in no order. */
  requests(ids: readonly string[]): Promise<RequestWithRunners[]>;
  /** Requests that wait, of any shape or of these, in the order of their turn; of a longer list those after this one. */
  waiting(limit: number, after?: Turn, shapeIds?: readonly number[]): Promise<RunnerRequest[]>;
  /** Requests that have their runners, the latest grant first. */
  granted(limit: number): Promise<RunnerRequest[]>;
  /** Ends requests; their runners are released as by `release`. */
  withdraw(requestIds: readonly string[], reason: string): Promise<void>;
  /** Notes why requests got nothing. */
  noteExhausted(exhausted: readonly { request_id: string; exhaustion: Exhaustion }[]): Promise<void>;

  /** Claims idle runners for waiting requests, of those given or of all, in the order of their turn. */
  claimIdle(limit: number, requestIds?: readonly string[]): Promise<Grant[]>;
  /**
   * Claims these runners, as many as the request lacks, for it: all or none. One answer for each runner; of EC2 each
   * may also be named by its instance (`i-…`).
   */
  claim(requestId: string, runnerIds: readonly string[]): Promise<{ grant: Grant | null; answers: Claimed[] }>;
  /** Idle runners that the backend may not know of: never offered, or not since `before`; they count as offered now. */
  unoffered(limit: number, before: number): Promise<RunnerMessage[]>;

  /** What waiting requests lack, by shape. */
  shortages(): Promise<Shortage[]>;
  /**
   * Writes the intent of launches: the runners exist from now on, as `created`. A batch that is known stays as it is.
   * Runners that would be more than `maxRunners`, all together that are not terminated, are left out.
   */
  plan(batches: readonly NewBatch[], maxRunners?: number): Promise<void>;
  /**
   * Makes room: ends idle runners that fit no request whose turn comes before this one's, nor itself, those that were idle for longest
   * first; as many as are needed, or none. Where there are too few, later requests get nothing after so many grants more.
   * Returns how many it ended.
   */
  makeRoom(wanted: RoomWanted): Promise<number>;
  /** Returns those of these batches that are written down already. */
  knownBatches(ids: readonly string[]): Promise<string[]>;
  /** Batches to be launched now, with a lease; bounded by the budget of the provider, in runners. */
  takeBatches(provider: string, limit: number, leaseMs: number, rate: LaunchRate): Promise<LaunchBatch[]>;
  /** What a launch came to; the runners of the batch that are not named are ended. */
  launched(batchId: string, runners: readonly LaunchedRunner[], missing: string | null): Promise<void>;
  /** Another try at `retryAt`, or none where it is null: then its runners end. */
  launchFailed(batchId: string, reason: string, retryAt: number | null): Promise<void>;

  /** A runner's first word: it goes to who waits longest, or becomes idle. Null where it is to end itself. */
  register(registration: Registration): Promise<Orders | null>;
  /** A sign of life. Null where the runner is over: it is to end itself. */
  pulse(runnerId: string): Promise<Orders | null>;
  /** It has begun. False where the epoch is an older one. */
  confirm(runnerId: string, epoch: number): Promise<boolean>;
  /** It is free, with all runners of its request: each goes to who waits longest, becomes idle or ends. False where the epoch is an older one; null: any. */
  release(runnerId: string, epoch: number | null): Promise<boolean>;
  /** It ends when it is released; at once where it is idle or created. */
  drain(runnerIds: readonly string[], reason: string): Promise<number>;
  /** Ends runners whatever they do; requests that they were claimed for wait again, and a hold keeps its other runners. */
  terminate(runnerIds: readonly string[], reason: string): Promise<number>;

  /** Ends what is past its time. `keep`: so many idle ones of a class and usage stay. */
  sweep(
    limit: number,
    keep: readonly { resource_class: string; usage_class: string; count: number }[],
  ): Promise<SweepResult>;
  /** Counts runners that ended, whoever ended them, each once; by kind of their end. At most so many at once. */
  countEnded(limit: number): Promise<Readonly<Record<string, number>>>;
  /** Ended runners that their provider may still run. */
  leaving(provider: string, limit: number): Promise<{ id: string; provider_id: string }[]>;
  /** The provider does not run them any more. */
  gone(runnerIds: readonly string[]): Promise<void>;
  /**
   * Holds one whole listing of a provider against the table. Returns what the provider runs in vain, seen twice at least
   * `doubt_ms` apart; ends rows whose instance was missing twice.
   */
  reconcile(provider: string, listed: readonly ProviderInstance[]): Promise<{ orphans: string[]; vanished: number }>;

  census(): Promise<ClassCensus[]>;
  /** Runners, the latest first. */
  list(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]>;
  /** Removes what ended before this moment; returns how many rows. */
  forget(before: number, limit: number): Promise<number>;
}

/** A budget that all processes share. */
export interface LaunchRate {
  readonly per_second: number;
  readonly burst: number;
}
