import { HeddleError } from '@heddle/base/errors';
import type { KnownClasses } from '../domain/runner/parse-requirements.ts';
import { newId, type Random } from '@heddle/base/random';
import { systemClock, type Clock } from '@heddle/base/clock';
import type { Keyring } from '@heddle/base/keyring';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from '@heddle/base/trace';
import type { MessageQueue } from '../queue/port.ts';
import type { Database, Queryable } from '../store/database.ts';
import { findAttempts } from '../store/attempts.ts';
import { findAttemptHolders } from '../store/claims.ts';
import { Kinds } from '../store/kinds.ts';
import { Activity } from './activity.ts';
import { Claims } from './claim.ts';
import type { EngineContext, EngineSettings } from './context.ts';
import { progress } from './counters.ts';
import { dispatch, workersSeen } from './dispatch.ts';
import { explain } from './explain.ts';
import { explainContainer } from './explain-container.ts';
import { ClaimSizes } from './flow/claim-sizes.ts';
import { heartbeat, release } from './heartbeat.ts';
import { KnownKinds } from './known-kinds.ts';
import { laneIds } from './lanes.ts';
import { announceEnds } from './notices/announce-ends.ts';
import { Observer } from './observe.ts';
import { Offers } from './offers.ts';
import * as operate from './operate.ts';
import { operateRun, operateRuns } from './operate-runs.ts';
import * as outbox from './outbox.ts';
import type { Engine } from './port.ts';
import { leave, present } from './presence.ts';
import * as read from './read.ts';
import * as tree from './read-tree.ts';
import { report, update } from './report.ts';
import { retry } from './retry.ts';
import { askForRunners } from './runners/request-runners.ts';
import { SentSecrets } from './secrets/sent-secrets.ts';
import { getDefinition } from './run-definition.ts';
import { Signals } from './signals.ts';
import { submit } from './submit.ts';
import { retain, sweep } from './sweep.ts';
import { Traces } from './traces/traces.ts';
import { appendLogs, readLogs } from './task-logs.ts';
import { inTransaction } from './transaction.ts';
import * as advance from './trees/advance.ts';
import { createNodes } from './trees/create-nodes.ts';
import { submitWorkflows } from './trees/submit-workflows.ts';

export interface EngineOptions extends Partial<EngineSettings> {
  database: Database;
  /** The system clock means the database's time; any other clock (in tests) is used as it is. */
  clock: Clock;
  random: Random;
  log: Logger;
  metrics?: Metrics;
  /** Records the spans of workflows and attempts; none by default. */
  tracing?: Tracing;
  /** Runner classes of the pool; any name is accepted if they are not known. */
  resourceClasses?: KnownClasses;
  /** Destination of tasks of kinds whose workers read queues; without it `dispatch` does nothing. */
  queue?: Pick<MessageQueue, 'sendIn'>;
  /** Keys of the secrets that tasks name, to redact what is reported about them; absent: there are none. */
  secretKeyring?: () => Promise<Keyring>;
}

const DEFAULTS: EngineSettings = {
  claimTimeoutMs: 30_000,
  workerLeaseMs: 60_000,
  archiveAfterMs: 3_600_000,
  deleteAfterMs: 30 * 86_400_000,
};

/** Engine whose methods can share a transaction with each other and with the caller's statements. */
export interface TransactionalEngine extends Engine {
  /** Retries after serialization failures and deadlocks, so `run` must have no effects outside of the transaction. */
  transaction<T>(run: (engine: Engine, tx: Queryable) => Promise<T>): Promise<T>;
}

/** Creates an engine on one database. Any number of engines, in any number of processes, may share it. */
export function createEngine(options: EngineOptions): TransactionalEngine {
  const context = contextOf(options);
  return {
    ...verbsOf(context),
    transaction: (run) => inTransaction(context, (inner, tx) => run(verbsOf(inner), tx)),
  };
}

function verbsOf(context: EngineContext): Engine {
  const claims = new Claims(context);
  const { signals, metrics } = context;
  return {
    submit: (submissions) => counting(metrics?.tasksDbSaveFailures, submit(context, claims, submissions)),
    submitWorkflows: (submissions) => counting(metrics?.tasksDbSaveFailures, submitWorkflows(context, submissions)),
    createNodes: (creations) => counting(metrics?.tasksDbSaveFailures, createNodes(context, creations)),
    unknownKinds: (kinds) => context.knownKinds.unknown(context.database, kinds),
    completeGenerators: (limit) => advance.completeGenerators(context, limit),
    reevaluate: (ids, tasks) => advance.reevaluate(context, ids, tasks ?? null),
    claim: (request) => claims.claim(request),
    askForRunners: (desk, limit) => askForRunners(context, desk, limit),
    dispatch: (holder, limit) => dispatch(context, holder, limit),
    workersSeen: (workers) => workersSeen(context, workers),
    heartbeat: (beats) => heartbeat(context, beats),
    secretRedactors: (ids) => context.sentSecrets.redactors(context.database, ids),
    attemptHolders: (ids) => findAttemptHolders(context.database, ids),
    release: (tasks) => release(context, tasks),
    claimForDelivery: (holder, limit) => claims.claimForDelivery(holder, limit),
    report: (reports) => counting(metrics?.tasksDbSaveFailures, report(context, reports)),
    reportAndClaim: (reports, request) =>
      counting(metrics?.tasksDbSaveFailures, claims.reportAndClaim(reports, request)),
    update: (updates) => counting(metrics?.tasksDbSaveFailures, update(context, updates)),
    progress: (reports) => counting(metrics?.batchUpdateFailures, progress(context, reports)),
    cancel: (ids, reason) => operate.cancel(context, ids, reason ?? 'it was canceled'),
    cancelWorkflow: (id) => operateRun(context, id, 'cancel'),
    pauseWorkflow: (id) => operateRun(context, id, 'pause'),
    resumeWorkflow: (id) => operateRun(context, id, 'resume'),
    retryWorkflow: (id) => operateRun(context, id, 'retry'),
    operateRuns: (ids, operation) => operateRuns(context, ids, operation),
    pause: (ids) => operate.pause(context, ids),
    resume: (ids) => operate.resume(context, ids),
    retry: (ids, options) => retry(context, ids, options),
    releaseCanceled: (ids) => operate.releaseCanceled(context, ids),
    claimDeliveries: (request) => outbox.claimDeliveries(context, request),
    renewDeliveries: (tries, leaseMs) => outbox.renewDeliveries(context, tries, leaseMs),
    settleDeliveries: (results) => outbox.settleDeliveries(context, results),
    announceEnds: (ids) => announceEnds(context, ids),
    listDeliveries: (filter) => outbox.listDeliveries(context, filter),
    replayDeliveries: (ids) => outbox.replayDeliveries(context, ids),
    sweep: () => sweep(context),
    retain: (limit) => retain(context, limit),
    getTask: (id) => read.getTask(context, id),
    listTasks: (filter) => read.listTasks(context, filter),
    getDag: (id) => read.getDag(context, id),
    getDefinition: (id) => getDefinition(context, id),
    getTree: (id, options) => tree.getTree(context, id, options),
    listChildren: (id, containerId, page) => tree.listChildren(context, id, containerId, page),
    listAttempts: (id, before, limit) => findAttempts(context.database, id, before, limit),
    appendLogs: (chunks) => appendLogs(context, chunks),
    readLogs: (id, query) => readLogs(context, id, query),
    readResult: (id) => tree.readResult(context, id),
    readResults: (scope, after, limit) => tree.readResults(context, scope, after, limit),
    treeChanges: (id, cursor) => tree.treeChanges(context, id, cursor),
    dagChanges: (id, cursor) => read.dagChanges(context, id, cursor),
    getWorkflow: (id) => read.getWorkflow(context, id),
    countStates: (id) => read.countStates(context, id),
    listWorkflows: (page) => read.listWorkflows(context, page),
    explain: (id) => explain(context, id),
    explainContainer: (id, containerId) => explainContainer(context, id, containerId),
    gauges: (kindLimit) => read.gauges(context, kindLimit),
    present: (workers) => present(context, workers),
    leave: (holder) => leave(context, holder),
    flushActivity: () => context.activity.flush(context.database),
    onReady: (lanes, wake) => onReady(context, lanes, wake),
    offerToClaim: (lanes, claimAlong) => context.offers.add(lanes, claimAlong),
    onDeliveryDue: (wake) => signals.onDeliveryDue(wake),
    onWorkflowChange: (id, wake) => signals.onWorkflowChange(id, wake),
    close: () => signals.close(),
  };
}

/** Counts a write that failed after all retries; errors of the caller are not failures of the database. */
async function counting<T>(failures: { inc(): void } | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.status >= 500) failures?.inc();
    throw error;
  }
}

function contextOf(options: EngineOptions): EngineContext {
  const { database, clock, random, log, metrics, tracing } = options;
  const kinds = new Kinds(database);
  const signals = new Signals(database, clock, log, newId(), () => metrics?.notifications.inc());
  const activity = new Activity(clock);
  const traces = tracing?.enabled === true ? new Traces(tracing, database, log) : null;
  return {
    database,
    clock,
    random,
    log,
    metrics,
    kinds,
    signals,
    observer: new Observer({ metrics, kinds, signals, traces, activity }),
    activity,
    traces,
    offers: new Offers(),
    claimSizes: new ClaimSizes(),
    knownKinds: new KnownKinds(options.clock),
    sentSecrets: new SentSecrets(options.secretKeyring ?? null, log),
    settings: {
      claimTimeoutMs: options.claimTimeoutMs ?? DEFAULTS.claimTimeoutMs,
      workerLeaseMs: options.workerLeaseMs ?? DEFAULTS.workerLeaseMs,
      archiveAfterMs: options.archiveAfterMs ?? DEFAULTS.archiveAfterMs,
      deleteAfterMs: options.deleteAfterMs ?? DEFAULTS.deleteAfterMs,
    },
    resourceClasses: options.resourceClasses ?? null,
    queue: options.queue,
    now: () => (clock === systemClock ? null : new Date(clock.now()).toISOString()),
  };
}

/** Looks up the numbers of the named lanes before subscribing, so the subscription begins with a short delay. */
function onReady(context: EngineContext, lanes: readonly string[], wake: () => void): () => void {
  let ended = false;
  let unsubscribe = (): void => {
    ended = true;
  };
  laneIds(context, lanes)
    .then((ids) => {
      if (ended) return;
      unsubscribe = context.signals.onReady(ids, wake);
      wake();
    })
    .catch((error: unknown) => context.log.warn({ err: error }, 'lane lookup failed; continuing with polling'));
  return () => {
    ended = true;
    unsubscribe();
  };
}
