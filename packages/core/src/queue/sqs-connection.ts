import type * as Sdk from '@aws-sdk/client-sqs';
import type { BatchResultErrorEntry, Message, MessageAttributeValue, SQSClient } from '@aws-sdk/client-sqs';

import { HeddleError } from '@heddle/base/errors';
import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import { Permits } from '@heddle/base/permits';
import type { Random } from '@heddle/base/random';
import { setsOf } from './limits.ts';
import { sqsDeadNameOf, sqsNameOf, type SqsAddress } from './sqs-address.ts';
import { ENVELOPE_ATTRIBUTE, REQUEST_BYTES_MAX } from './sqs-envelope.ts';

export type SqsSdk = typeof Sdk;

/** Messages per call. */
export const CALL_MAX = 10;
/** Concurrent calls per set; long polls do not count. */
const CALLS_UNDER_WAY_MAX = 8;
const TRIES_MAX = 5;
const RETRY = { base_ms: 100, factor: 2, max_ms: 2_000, jitter: 0.5 };
/** Maximum retention at SQS. */
const RETENTION_SECS = 1_209_600;
/** Receive limit of SQS, for other consumers; Heddle's dead-letter earlier, with a reason. */
const REDRIVE_SLACK = 5;

/** Entry that SQS rejected after all retries. */
export interface Refusal<Entry> {
  entry: Entry;
  code: string;
  message: string;
  /** A retry does not help. */
  final: boolean;
}

export interface SqsConnectionOptions {
  sdk: SqsSdk;
  client: SQSClient;
  address: SqsAddress;
  maxReceives: number;
  clock: Clock;
  random: Random;
}

export interface ReceiveCall {
  url: string;
  max: number;
  waitSecs: number;
  visibilitySecs: number;
  signal?: AbortSignal;
}

/** Calls to SQS: queues by name, sets in calls of ten, failed entries retried. */
export class SqsConnection {
  readonly #options: SqsConnectionOptions;
  readonly #permits = new Permits(CALLS_UNDER_WAY_MAX);
  readonly #urls = new Map<string, Promise<string>>();

  constructor(options: SqsConnectionOptions) {
    this.#options = options;
  }

  get fifo(): boolean {
    return this.#options.address.fifo;
  }

  urlOf(queue: string): Promise<string> {
    return this.#urlOf(sqsNameOf(this.#options.address, queue), true);
  }

  deadUrl(): Promise<string> {
    return this.#urlOf(sqsDeadNameOf(this.#options.address), false);
  }

  /** Returns the queue to which SQS moves messages that were received too often; null if there is none. */
  async redriveTargetOf(queue: string): Promise<string | null> {
    const { sdk } = this.#options;
    const url = await this.urlOf(queue);
    const { Attributes: attributes } = await this.call((client) =>
      client.send(new sdk.GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['RedrivePolicy'] })),
    );
    const policy = JSON.parse(attributes?.['RedrivePolicy'] ?? '{}') as { deadLetterTargetArn?: string };
    // arn:aws:sqs:REGION:ACCOUNT:NAME
    const [account, name] = policy.deadLetterTargetArn?.split(':').slice(4) ?? [];
    if (account === undefined || name === undefined) return null;
    const { QueueUrl: target } = await this.call((client) =>
      client.send(new sdk.GetQueueUrlCommand({ QueueName: name, QueueOwnerAWSAccountId: account })),
    );
    return target ?? null;
  }

  /** Returns approximate counts of `name`, as reported by SQS. */
  async counts(url: string): Promise<{ visible: number; in_flight: number; delayed: number }> {
    const { sdk } = this.#options;
    const { Attributes: counts = {} } = await this.call((client) =>
      client.send(
        new sdk.GetQueueAttributesCommand({
          QueueUrl: url,
          AttributeNames: [
            'ApproximateNumberOfMessages',
            'ApproximateNumberOfMessagesNotVisible',
            'ApproximateNumberOfMessagesDelayed',
          ],
        }),
      ),
    );
    return {
      visible: Number(counts['ApproximateNumberOfMessages'] ?? 0),
      in_flight: Number(counts['ApproximateNumberOfMessagesNotVisible'] ?? 0),
      delayed: Number(counts['ApproximateNumberOfMessagesDelayed'] ?? 0),
    };
  }

  async receive(call: ReceiveCall): Promise<Message[]> {
    const { sdk } = this.#options;
    const command = new sdk.ReceiveMessageCommand({
      QueueUrl: call.url,
      MaxNumberOfMessages: Math.min(call.max, CALL_MAX),
      WaitTimeSeconds: call.waitSecs,
      VisibilityTimeout: call.visibilitySecs,
      MessageSystemAttributeNames: ['ApproximateReceiveCount', 'SentTimestamp'],
      MessageAttributeNames: [ENVELOPE_ATTRIBUTE],
    });
    const options = call.signal === undefined ? {} : { abortSignal: call.signal };
    const { Messages: messages = [] } = await this.call((client) => client.send(command, options));
    return messages;
  }

  send(url: string, entries: readonly SqsEntry[], inOrder: boolean): Promise<Refusal<SqsEntry>[]> {
    const { sdk } = this.#options;
    return this.#inCalls(entries, inOrder, (client, batch) =>
      client.send(
        new sdk.SendMessageBatchCommand({
          QueueUrl: url,
          Entries: batch.map(({ body, attributes, delaySecs, group, deduplicationId }, index) => ({
            Id: String(index),
            MessageBody: body,
            MessageAttributes: attributes,
            ...(this.fifo
              ? { MessageGroupId: group, MessageDeduplicationId: deduplicationId }
              : { DelaySeconds: delaySecs }),
          })),
        }),
      ),
    );
  }

  delete(url: string, handles: readonly string[]): Promise<Refusal<HandleEntry>[]> {
    const { sdk } = this.#options;
    return this.#inCalls(handles.map(entryOf), false, (client, batch) =>
      client.send(
        new sdk.DeleteMessageBatchCommand({
          QueueUrl: url,
          Entries: batch.map(({ handle }, index) => ({ Id: String(index), ReceiptHandle: handle })),
        }),
      ),
    );
  }

  hide(url: string, handles: readonly string[], secs: number): Promise<Refusal<HandleEntry>[]> {
    const { sdk } = this.#options;
    return this.#inCalls(handles.map(entryOf), false, (client, batch) =>
      client.send(
        new sdk.ChangeMessageVisibilityBatchCommand({
          QueueUrl: url,
          Entries: batch.map(({ handle }, index) => ({
            Id: String(index),
            ReceiptHandle: handle,
            VisibilityTimeout: secs,
          })),
        }),
      ),
    );
  }

  /** Runs one call; turns outages of SQS into QUEUE_UNAVAILABLE. */
  async call<T>(run: (client: SQSClient) => Promise<T>): Promise<T> {
    try {
      return await run(this.#options.client);
    } catch (error) {
      const { name, message } = error as Error;
      throw new HeddleError('QUEUE_UNAVAILABLE', `SQS rejected a request: ${name}: ${message}`, {
        cause: error,
      });
    }
  }

  close(): void {
    this.#options.client.destroy();
  }

  /** Splits into calls of at most ten entries and one request's bytes; calls run in sequence if order matters. */
  async #inCalls<Entry extends { bytes: number }>(
    entries: readonly Entry[],
    inOrder: boolean,
    call: (client: SQSClient, batch: Entry[]) => Promise<{ Failed?: BatchResultErrorEntry[] | undefined }>,
  ): Promise<Refusal<Entry>[]> {
    const sets = setsOf(entries, CALL_MAX, REQUEST_BYTES_MAX);
    const run = async (set: Entry[]): Promise<Refusal<Entry>[]> => {
      using _permit = await this.#permits.acquire();
      return await this.#trying(set, call);
    };
    if (!inOrder) return (await Promise.all(sets.map(run))).flat();
    const refused: Refusal<Entry>[] = [];
    for (const set of sets) refused.push(...(await run(set)));
    return refused;
  }

  async #trying<Entry>(
    set: readonly Entry[],
    call: (client: SQSClient, batch: Entry[]) => Promise<{ Failed?: BatchResultErrorEntry[] | undefined }>,
  ): Promise<Refusal<Entry>[]> {
    const { clock, random } = this.#options;
    const refused: Refusal<Entry>[] = [];
    for (let batch = [...set], tries = 1; ; tries += 1) {
      const { Failed: failed = [] } = await this.call((client) => call(client, batch));
      const refusals = failed.map((failure) => refusalOf(batch[Number(failure.Id)]!, failure));
      refused.push(...refusals.filter(({ final }) => final || tries === TRIES_MAX));
      batch = refusals.filter(({ final }) => !final).map(({ entry }) => entry);
      if (batch.length === 0 || tries === TRIES_MAX) return refused;
      await clock.sleep(backoffMs(RETRY, tries, () => random.next()));
    }
  }

  #urlOf(name: string, hasDeadLetters: boolean): Promise<string> {
    const known = this.#urls.get(name);
    if (known !== undefined) return known;
    const found = this.#findOrCreate(name, hasDeadLetters);
    this.#urls.set(name, found);
    // Requested again the next time.
    found.catch(() => this.#urls.delete(name));
    return found;
  }

  async #findOrCreate(name: string, hasDeadLetters: boolean): Promise<string> {
    const { sdk, client, address } = this.#options;
    try {
      const { QueueUrl: url } = await client.send(
        new sdk.GetQueueUrlCommand({ QueueName: name, QueueOwnerAWSAccountId: address.account }),
      );
      return url!;
    } catch (error) {
      const missing = /QueueDoesNotExist|NonExistentQueue/.test((error as Error).name);
      if (missing && address.create) return await this.#create(name, hasDeadLetters);
      const advice = missing ? `The queue ${name} does not exist; create it, or add create=1 to QUEUE_URL` : undefined;
      throw new HeddleError('QUEUE_UNAVAILABLE', advice ?? `SQS: ${(error as Error).message}`, { cause: error });
    }
  }

  async #create(name: string, hasDeadLetters: boolean): Promise<string> {
    const { sdk, address, maxReceives } = this.#options;
    const attributes: Record<string, string> = { MessageRetentionPeriod: String(RETENTION_SECS) };
    if (address.fifo) {
      attributes['FifoQueue'] = 'true';
      attributes['DeduplicationScope'] = 'messageGroup';
      attributes['FifoThroughputLimit'] = 'perMessageGroupId';
    }
    if (hasDeadLetters) {
      attributes['RedrivePolicy'] = JSON.stringify({
        deadLetterTargetArn: await this.#arnOf(await this.deadUrl()),
        maxReceiveCount: maxReceives + REDRIVE_SLACK,
      });
    }
    const { QueueUrl: url } = await this.call((client) =>
      client.send(new sdk.CreateQueueCommand({ QueueName: name, Attributes: attributes })),
    );
    return url!;
  }

  async #arnOf(url: string): Promise<string> {
    const { sdk } = this.#options;
    const { Attributes: attributes } = await this.call((client) =>
      client.send(new sdk.GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] })),
    );
    return attributes!['QueueArn']!;
  }
}

/** Message to send. */
export interface SqsEntry {
  body: string;
  attributes: Record<string, MessageAttributeValue>;
  /** Size of the body and the attributes. */
  bytes: number;
  delaySecs: number;
  group: string;
  deduplicationId: string;
}

interface HandleEntry {
  handle: string;
  bytes: number;
}

function entryOf(handle: string): HandleEntry {
  return { handle, bytes: handle.length };
}

function refusalOf<Entry>(entry: Entry, failure: BatchResultErrorEntry): Refusal<Entry> {
  const { Code: code = 'unknown', Message: message = '', SenderFault: senderFault = false } = failure;
  return { entry, code, message, final: senderFault };
}
