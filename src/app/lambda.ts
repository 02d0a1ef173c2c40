import type { Message } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';

import { MANAGER_QUEUE } from '../domain/message.ts';
import { createManager, type Manager, type ManagerRun } from '../engine/manager/manager.ts';
import { openQueue, type OpenedQueue } from '../queue/open.ts';
import type { ReceivedMessage } from '../queue/port.ts';
import { SqsQueue } from '../queue/sqs.ts';
import { readReceipt } from '../queue/sqs-envelope.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { newId, systemRandom } from '../runtime/random.ts';
import type { Tracing } from '../runtime/trace.ts';
import { readClasses } from '../store/runners/policy.ts';
import { loadConfiguration } from './config.ts';
import { EmbeddedMetrics } from './embedded-metrics.ts';
import { ConfigurationError } from './failure.ts';
import { inboxKeepMs, settleFailed } from './manager-loop.ts';
import { deskOf } from './pool/desk.ts';
import { openRunnerStore } from './pool/runner-store.ts';
import { readPolicy } from './pool/shared-policy.ts';
import { processLog, type LogSink } from './process-log.ts';
import { openProcessDatabase, openProcessEngine, openTracing } from './process-parts.ts';
import { requireSchema } from './schema-state.ts';

export interface HandlerOptions {
  /** The variables that configure it; those of the process by default. */
  environment?: Readonly<Record<string, string | undefined>>;
  logSink?: LogSink;
  /** Takes metrics, a line of CloudWatch's embedded metric format each; standard output by default. */
  metricSink?: LogSink;
}

/** An event of SQS, or any other: a schedule's. */
export type ManagerEvent = SQSEvent | Readonly<Record<string, unknown>>;

export interface ManagerHandler {
  (event: ManagerEvent): Promise<SQSBatchResponse | undefined>;
  /** Lets go of everything; a handler that is called again opens it anew. */
  close(): Promise<void>;
}

/** What a cold start opens and every invocation after it uses. */
interface Parts {
  manager: Manager;
  opened: OpenedQueue;
  inboxKeepMs: number;
  tracing: Tracing;
  log: Logger;
  /** Reads what servers may have changed since the last invocation. */
  refresh(): Promise<void>;
  /** Delivers spans and metrics: nothing runs here between two invocations. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** The longest that a function may run: nobody else gets its messages before. */
const HELD_MS = 900_000;
const FORGET_MAX = 5_000;
/** Runs of one invocation of the schedule, where each leaves something for the next. */
const ROUNDS_MAX = 20;

/**
 * The manager as a function of AWS Lambda. An event of SQS is one batch: the answer names the messages to be delivered
 * again (`ReportBatchItemFailures`), and dead letters have been sent away with their reasons. Any other event, a
 * schedule's, runs the manager without messages, so that due jobs start and what is overdue ends.
 */
export function createHandler(options: HandlerOptions = {}): ManagerHandler {
  let opening: Promise<Parts> | undefined;
  const parts = async (): Promise<Parts> => {
    opening ??= open(options);
    try {
      return await opening;
    } catch (error) {
      // The next invocation tries again, in the same process.
      opening = undefined;
      throw error;
    }
  };
  const handle = async (event: ManagerEvent): Promise<SQSBatchResponse | undefined> => {
    const opened = await parts();
    await opened.refresh();
    const messages = isSqsEvent(event) ? event.Records.length : 0;
    const span = { kind: 'consumer' as const, parent: null, attributes: { 'heddle.messages': messages } };
    try {
      return await opened.tracing.span('manager batch', span, () =>
        isSqsEvent(event) ? handleMessages(opened, event.Records) : handleSchedule(opened),
      );
    } finally {
      await opened.flush();
    }
  };
  const close = async (): Promise<void> => {
    const closing = opening;
    opening = undefined;
    await (await closing)?.close();
  };
  return Object.assign(handle, { close });
}

function isSqsEvent(event: ManagerEvent): event is SQSEvent {
  return 'Records' in event && Array.isArray(event['Records']);
}

async function open({ environment = process.env, logSink, metricSink }: HandlerOptions): Promise<Parts> {
  const { values: settings } = loadConfiguration({ flags: {}, environment, workingDirectory: process.cwd() });
  const url = settings.databaseUrl;
  if (url === null) throw new ConfigurationError(['DATABASE_URL: is required by the function']);
  const log = processLog(settings, logSink);
  const common = { clock: systemClock, random: systemRandom, log };
  const own = { role: 'lambda' as const, settings };
  const metrics = createMetrics({ processMetrics: false });
  const tracing = await openTracing(settings, log);
  const database = openProcessDatabase(own, { ...common, url });
  try {
    await requireSchema(database);
    const opened = await openQueue({ ...common, url: settings.queueUrl, database });
    const { queue } = opened;
    const { classes } = await readPolicy(database, settings);
    // The engine keeps the list, so that a function that stays warm learns of classes that servers have now.
    const resourceClasses = [...classes];
    const engine = openProcessEngine(own, { ...common, database, queue, metrics, tracing, resourceClasses });
    const embedded = new EmbeddedMetrics(metrics.registry, metricSink ?? process.stdout, systemClock);
    const jobs = { database, queue, log, newId, now: () => null };
    const holder = `lambda/${newId()}`;
    // What it asks for the servers hand out and launch.
    const desk = deskOf(openRunnerStore(database));
    return {
      manager: createManager({ ...common, database, queue, engine, jobs, desk, metrics, newId, holder }),
      opened,
      inboxKeepMs: inboxKeepMs(settings, queue),
      tracing,
      log,
      async refresh() {
        // Where the database is away the batch itself says so.
        const current = await readClasses(database).catch(() => resourceClasses);
        resourceClasses.splice(0, resourceClasses.length, ...current);
      },
      async flush() {
        await Promise.all([tracing.flush(), settings.lambdaMetrics ? embedded.write() : undefined]);
      },
      async close() {
        await engine.close();
        await queue.close();
        await database.close();
        await tracing.shutdown();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function handleMessages(parts: Parts, records: readonly SQSRecord[]): Promise<SQSBatchResponse> {
  const { manager, log } = parts;
  const { queue } = parts.opened;
  if (!(queue instanceof SqsQueue)) throw new ConfigurationError(['QUEUE_URL: must name SQS, whose messages came']);
  const messages = await queue.adopt(MANAGER_QUEUE, records.map(messageOf), HELD_MS);
  const run = await manager.run(messages, systemClock.now());
  if (run.error !== null) log.error({ err: run.error, messages: messages.length }, 'The batch is to come again');
  const unburied = await buryLetters(parts, queue, messages, run);
  const failed = messages.filter(({ id }) => run.failed.includes(id));
  // While the database is away they wait out their visibility: every delivery counts towards the dead letters.
  if (run.error === null) {
    await settleFailed(queue, failed, systemRandom).catch((error: unknown) =>
      log.warn({ err: error }, 'Messages that failed come again when their visibility ends'),
    );
  }
  await deleteBodies(queue, messages, run);
  await relay(parts);
  const handles = new Set([...failed, ...unburied].map(({ receipt }) => readReceipt(receipt)?.handle));
  return {
    batchItemFailures: records
      .filter(({ receiptHandle }) => handles.has(receiptHandle))
      .map(({ messageId }) => ({ itemIdentifier: messageId })),
  };
}

async function handleSchedule(parts: Parts): Promise<undefined> {
  const now = systemClock.now();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { busy, error } = await parts.manager.run([], systemClock.now());
    if (error !== null) throw error;
    if (!busy) break;
  }
  await parts.manager.noteBuried();
  await parts.manager.forgetMessages(now - parts.inboxKeepMs, FORGET_MAX);
  await relay(parts);
}

/** As the SDK has it: Lambda writes the same names in small letters. */
function messageOf({ messageId, receiptHandle, body, attributes, messageAttributes }: SQSRecord): Message {
  return {
    MessageId: messageId,
    ReceiptHandle: receiptHandle,
    Body: body,
    Attributes: { ...attributes } as Record<string, string>,
    MessageAttributes: Object.fromEntries(
      Object.entries(messageAttributes).map(([name, { dataType, stringValue }]) => [
        name,
        { DataType: dataType, StringValue: stringValue },
      ]),
    ),
  };
}

/** Returns those that could not be sent away, which must come again. */
async function buryLetters(
  { log }: Parts,
  queue: SqsQueue,
  messages: readonly ReceivedMessage[],
  { buried }: ManagerRun,
): Promise<ReceivedMessage[]> {
  const reasons = new Map(buried.map(({ id, reason }) => [id, reason]));
  const dead = messages.filter(({ id }) => reasons.has(id));
  if (dead.length === 0) return [];
  try {
    await queue.bury(
      MANAGER_QUEUE,
      dead.map(({ id, receipt }) => ({ receipt, reason: reasons.get(id)! })),
    );
    return [];
  } catch (error) {
    log.error({ err: error, messages: dead.length }, 'Dead letters could not be sent away; their messages come again');
    return dead;
  }
}

/** Lambda deletes the messages that were handled; their bodies in the database are for us to delete. */
async function deleteBodies(queue: SqsQueue, messages: readonly ReceivedMessage[], run: ManagerRun): Promise<void> {
  const kept = new Set([...run.failed, ...run.buried.map(({ id }) => id)]);
  const receipts = messages
    .filter(({ id, receipt }) => !kept.has(id) && (readReceipt(receipt)?.body ?? null) !== null)
    .map(({ receipt }) => receipt);
  if (receipts.length > 0) await queue.delete(MANAGER_QUEUE, receipts);
}

/** What the run's transactions wrote leaves now: nothing runs here between two invocations. */
async function relay({ opened, log }: Parts): Promise<void> {
  await opened.relay?.drain().catch((error: unknown) => log.warn({ err: error }, 'Messages wait for the next run'));
}
