import { createHash } from 'node:crypto';

import { isUuid } from '@heddle/base/ids';
import type { ManagerMessage } from '../../domain/message.ts';
import type { MANAGER_MESSAGE_OUTCOMES } from '../../metrics/metrics.ts';
import type { ReceivedMessage } from '../../queue/port.ts';

export type MessageOutcome = (typeof MANAGER_MESSAGE_OUTCOMES)[number];

/** Verdict of a step on one message. */
export type Verdict =
  | { outcome: Exclude<MessageOutcome, 'dead_lettered' | 'failed'> }
  | { outcome: 'dead_lettered' | 'failed'; reason: string };

/** Parsed message of the batch. */
export interface Parsed<Message extends ManagerMessage = ManagerMessage> {
  /** Id in the queue. */
  id: string;
  /** Key in the inbox. */
  key: string;
  receive_count: number;
  message: Message;
}

export type MessageType = ManagerMessage['type'];

/** Number of deliveries after which a message that keeps failing is dead-lettered. */
const RECEIVES_MAX = 10;

/** Messages of one run: the kind and the verdict of each, and the workflows to reevaluate. */
export class Batch {
  /** Root containers of all workflows with activity. */
  readonly roots = new Set<string>();
  /** Tasks with a reported end, applied or not; the containers above them are reevaluated. */
  readonly ended = new Set<string>();
  readonly #messages: readonly ReceivedMessage[];
  readonly #parsed = new Map<MessageType, Parsed[]>();
  readonly #verdicts = new Map<string, Verdict>();
  readonly #refusedJobRuns: { job_run_id: string; reason: string }[] = [];

  constructor(messages: readonly ReceivedMessage[]) {
    this.#messages = messages;
  }

  add(parsed: Parsed): void {
    const list = this.#parsed.get(parsed.message.type);
    if (list === undefined) this.#parsed.set(parsed.message.type, [parsed]);
    else list.push(parsed);
  }

  of<Type extends MessageType>(type: Type): Parsed<Extract<ManagerMessage, { type: Type }>>[] {
    return (this.#parsed.get(type) ?? []) as Parsed<Extract<ManagerMessage, { type: Type }>>[];
  }

  refuseJobRun(job_run_id: string, reason: string): void {
    this.#refusedJobRuns.push({ job_run_id, reason });
  }

  /** Rejects the runs of jobs whose workflows will never start. */
  get refusedJobRuns(): { job_run_id: string; reason: string }[] {
    const refused = this.of('CreateTaskCollection').flatMap(({ id, message: { job_run_id } }) => {
      const verdict = this.#verdicts.get(id);
      return verdict?.outcome === 'dead_lettered' && job_run_id !== null
        ? [{ job_run_id, reason: verdict.reason }]
        : [];
    });
    return [...this.#refusedJobRuns, ...refused];
  }

  /** Returns whether the batch may hold the last message that a generator waits for. */
  get mayCompleteGenerators(): boolean {
    return (
      this.#parsed.has('CreateTask') ||
      this.of('CompleteTask').some(({ message }) => message.expected_task_count !== null)
    );
  }

  /** Records the verdict on a message; dead-letters one that has failed too often. */
  settle(message: Pick<Parsed, 'id' | 'receive_count'>, verdict: Verdict): void {
    const isHopeless = verdict.outcome === 'failed' && message.receive_count >= RECEIVES_MAX;
    const reason = isHopeless ? `failed ${message.receive_count} times, the last time so: ${verdict.reason}` : '';
    this.#verdicts.set(message.id, isHopeless ? { outcome: 'dead_lettered', reason } : verdict);
  }

  /** Marks a message for redelivery regardless of its receive count, since the failure is not its own. */
  postpone(messages: readonly Pick<Parsed, 'id'>[], reason: string): void {
    for (const { id } of messages) this.#verdicts.set(id, { outcome: 'failed', reason });
  }

  /** Marks every message that was not dead-lettered for redelivery. */
  postponeAll(reason: string): void {
    this.postpone(
      this.#messages.filter(({ id }) => this.#verdicts.get(id)?.outcome !== 'dead_lettered'),
      reason,
    );
  }

  get failed(): string[] {
    return this.#idsOf('failed');
  }

  get deadLettered(): { id: string; reason: string }[] {
    return [...this.#verdicts].flatMap(([id, verdict]) =>
      verdict.outcome === 'dead_lettered' ? [{ id, reason: verdict.reason }] : [],
    );
  }

  /** Counts messages by type and outcome; the type of unreadable messages is `unknown`. */
  counts(): { type: MessageType | 'unknown'; outcome: MessageOutcome; count: number }[] {
    const typeOf = new Map<string, MessageType>();
    for (const [type, list] of this.#parsed) for (const { id } of list) typeOf.set(id, type);
    const counts = new Map<string, { type: MessageType | 'unknown'; outcome: MessageOutcome; count: number }>();
    for (const [id, { outcome }] of this.#verdicts) {
      const type = typeOf.get(id) ?? 'unknown';
      const entry = counts.get(`${type} ${outcome}`) ?? { type, outcome, count: 0 };
      entry.count += 1;
      counts.set(`${type} ${outcome}`, entry);
    }
    return [...counts.values()];
  }

  #idsOf(outcome: MessageOutcome): string[] {
    return [...this.#verdicts].flatMap(([id, verdict]) => (verdict.outcome === outcome ? [id] : []));
  }
}

/** Returns the inbox key of a message: a UUID itself, or the hash of any other id. */
export function inboxKey(messageId: string): string {
  if (isUuid(messageId)) return messageId.toLowerCase();
  const hex = createHash('sha256').update(messageId).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
