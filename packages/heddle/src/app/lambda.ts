import type { Message } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';

import { MANAGER_QUEUE } from '@heddle/core/domain/message';
import { createManager, type Manager, type ManagerRun } from '@heddle/core/engine/manager/manager';
import { openQueue, type OpenedQueue } from '@heddle/core/queue/open';
import type { ReceivedMessage } from '@heddle/core/queue/port';
import { SqsQueue } from '@heddle/core/queue/sqs';
import { readReceipt } from '@heddle/core/queue/sqs-envelope';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { newId, systemRandom } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import { readClasses } from '@heddle/core/store/runners/policy';
import { loadConfiguration } from './config.ts';
import { EmbeddedMetrics } from './embedded-metrics.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { inboxKeepMs, settleFailed } from './manager-loop.ts';
import { runnerBrokerOf } from './pool/runner-broker.ts';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { readPolicy } from './pool/shared-policy.ts';
import { processLog, type LogSink } from './process-log.ts';
import { openProcessDatabase, openProcessEngine, openTracing } from './process-parts.ts';
import { requireSchema } from './schema-state.ts';

export interface HandlerOptions {
  /** Environment variables that configure the handler; those of the process by default. */
  environment?: Readonly<Record<string, string | undefined>>;
  logSink?: LogSink;
  /** Receives metrics, each a line of CloudWatch's embedded metric format; standard output by default. */
  metricSink?: LogSink;
}

/** An SQS event, or any other, such as that of a schedule. */
export type ManagerEvent = SQSEvent | Readonly<Record<string, unknown>>;

export interface ManagerHandler {
  (event: ManagerEvent): Promise<SQSBatchResponse | undefined>;
  /** Releases everything; calling the handler again opens it again. */
  close(): Promise<void>;
}

/** What a cold start opens and every later invocation uses. */
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

/** The maximum run time of a function: its messages are hidden from others until then. */
const HELD_MS = 900_000;
const FORGET_MAX = 5_000;
/** Rounds of one scheduled invocation, if each leaves work for the next. */
const ROUNDS_MAX = 20;

/**
 * Runs the manager as an AWS Lambda function. An SQS event is one batch: the response lists the messages to redeliver
 * (`ReportBatchItemFailures`); dead letters have been moved away with their reasons. Any other event, such as that of a
 * schedule, runs the manager without messages, so that due jobs start and overdue work ends.
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
  if (url === null) throw new ConfigurationError(['DATABASE_URL: is required']);
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
    // The engine keeps the list current, so that a warm function learns of classes that servers add.
    const resourceClasses = [...classes];
    const engine = openProcessEngine(own, { ...common, database, queue, metrics, tracing, resourceClasses });
    const embedded = new EmbeddedMetrics(metrics.registry, metricSink ?? process.stdout, systemClock);
    const jobs = { database, queue, log, newId, now: () => null };
    const holder = `lambda/${newId()}`;
    // Servers assign and launch the runners that it requests.
    const desk = runnerBrokerOf(new PostgresRunnerStore({ database }));
    return {
      manager: createManager({ ...common, database, queue, engine, jobs, desk, metrics, newId, holder }),
      opened,
      inboxKeepMs: inboxKeepMs(settings, queue),
      tracing,
      log,
      async refresh() {
        // If the database is unavailable, the batch itself reports it.
        const current = await readClasses(database).catch(() => resourceClasses);
        resourceClasses.splice(0, resourceClasses.length, ...current);
      },
      async flush() {
        await Promise.all([
          tracing.flush(),
          engine.flushActivity(),
          settings.lambdaMetrics ? embedded.write() : undefined,
        ]);
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
  if (!(queue instanceof SqsQueue))
    throw new ConfigurationError(['QUEUE_URL: must be an SQS address, because the event has SQS messages']);
  const messages = await queue.adopt(MANAGER_QUEUE, records.map(messageOf), HELD_MS);
  const run = await manager.run(messages, systemClock.now());
  if (run.error !== null) log.error({ err: run.error, messages: messages.length }, 'batch failed; will be redelivered');
  const stillQueued = await moveDeadLetters(parts, queue, messages, run);
  const failed = messages.filter(({ id }) => run.failed.includes(id));
  // While the database is unavailable, messages wait for their visibility timeout: every delivery counts toward the
  // dead-letter limit.
  if (run.error === null) {
    await settleFailed(queue, failed, systemRandom).catch((error: unknown) =>
      log.warn({ err: error }, 'messages failed; will be redelivered after their visibility timeout'),
    );
  }
  await deleteBodies(queue, messages, run);
  await relay(parts);
  const handles = new Set([...failed, ...stillQueued].map(({ receipt }) => readReceipt(receipt)?.handle));
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
  await parts.manager.recordDeadLetters();
  await parts.manager.forgetMessages(now - parts.inboxKeepMs, FORGET_MAX);
  await relay(parts);
}

/** As in the SDK; Lambda writes the same names in lower case. */
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

/** Returns the messages that could not be moved, which must be redelivered. */
async function moveDeadLetters(
  { log }: Parts,
  queue: SqsQueue,
  messages: readonly ReceivedMessage[],
  { deadLettered }: ManagerRun,
): Promise<ReceivedMessage[]> {
  const reasons = new Map(deadLettered.map(({ id, reason }) => [id, reason]));
  const dead = messages.filter(({ id }) => reasons.has(id));
  if (dead.length === 0) return [];
  try {
    await queue.deadLetter(
      MANAGER_QUEUE,
      dead.map(({ id, receipt }) => ({ receipt, reason: reasons.get(id)! })),
    );
    return [];
  } catch (error) {
    log.error({ err: error, messages: dead.length }, 'could not move dead letters; their messages will be redelivered');
    return dead;
  }
}

/** Lambda deletes the handled messages; this deletes their bodies in the database. */
async function deleteBodies(queue: SqsQueue, messages: readonly ReceivedMessage[], run: ManagerRun): Promise<void> {
  const kept = new Set([...run.failed, ...run.deadLettered.map(({ id }) => id)]);
  const receipts = messages
    .filter(({ id, receipt }) => !kept.has(id) && (readReceipt(receipt)?.body ?? null) !== null)
    .map(({ receipt }) => receipt);
  if (receipts.length > 0) await queue.delete(MANAGER_QUEUE, receipts);
}

/** Sends what the transactions of this run wrote: nothing runs here between two invocations. */
async function relay({ opened, log }: Parts): Promise<void> {
  await opened.relay?.drain().catch((error: unknown) => log.warn({ err: error }, 'messages left for the next run'));
}
