import { HeddleError } from '@heddle/base/errors';
import { isUuid } from '@heddle/base/ids';
import { newId } from '@heddle/base/random';
import type { OutgoingMessage, ReceiveOptions } from './port.ts';

/** Maximum number of messages per statement or answer. */
export const SET_MAX = 1_000;
/** Approximate bytes of bodies per set, since a set in memory must be bounded in bytes too. */
export const SET_BYTES_MAX = 16 * 1024 * 1024;
export const BODY_BYTES_MAX = SET_BYTES_MAX;
export const REASON_CHARACTERS_MAX = 2_000;
/** Default number of deliveries after which an unsettled message is dead-lettered. */
export const DEFAULT_MAX_RECEIVES = 10;

const QUEUE_NAME_CHARACTERS_MAX = 200;

/** Message with the sender's defaults filled in. */
export interface CheckedMessage {
  id: string;
  body: string;
  /** UTF-8. */
  bytes: number;
  delay_ms: number;
  group: string | null;
}

export function checkQueueName(queue: string): void {
  if (queue.length === 0 || queue.length > QUEUE_NAME_CHARACTERS_MAX || queue.includes('\0')) {
    throw new HeddleError('VALIDATION_FAILED', undefined, {
      details: [`queue: must have 1 to ${QUEUE_NAME_CHARACTERS_MAX} characters, none of them NUL`],
    });
  }
}

/**
 * Fills in ids and rejects what no driver accepts, before anything is sent.
 *
 * @throws HeddleError VALIDATION_FAILED, BODY_TOO_LARGE
 */
export function checkMessages(queue: string, messages: readonly OutgoingMessage[]): CheckedMessage[] {
  checkQueueName(queue);
  return messages.map((message, index) => {
    const { body, id, delay_ms = 0, group = null } = message;
    const refuse = (detail: string): never => {
      throw new HeddleError('VALIDATION_FAILED', undefined, { details: [`messages[${index}].${detail}`] });
    };
    if (body.includes('\0')) refuse('body: must not contain NUL');
    if (id !== undefined && !isUuid(id)) refuse('id: must be a UUID');
    if (!Number.isFinite(delay_ms) || delay_ms < 0) refuse('delay_ms: must not be negative');
    const bytes = Buffer.byteLength(body);
    if (bytes > BODY_BYTES_MAX) {
      throw new HeddleError('BODY_TOO_LARGE', `A message may have ${BODY_BYTES_MAX} bytes; this one has ${bytes}`);
    }
    return { id: id?.toLowerCase() ?? newId(), body, bytes, delay_ms, group };
  });
}

/**
 * Splits into sets of at most `count` messages and about `bytes` of bodies, in order; one message may exceed the
 * latter.
 */
export function setsOf<Message extends { bytes: number }>(
  messages: readonly Message[],
  count = SET_MAX,
  bytes = SET_BYTES_MAX,
): Message[][] {
  const sets: Message[][] = [];
  let set: Message[] = [];
  let setBytes = 0;
  for (const message of messages) {
    if (set.length > 0 && (set.length === count || setBytes + message.bytes > bytes)) {
      sets.push(set);
      set = [];
      setBytes = 0;
    }
    set.push(message);
    setBytes += message.bytes;
  }
  if (set.length > 0) sets.push(set);
  return sets;
}

/** Rejects parameters that only a programming error can cause. */
export function checkReceive(options: ReceiveOptions): void {
  const { max, wait_ms, visibility_ms } = options;
  if (!Number.isSafeInteger(max) || max < 1 || max > SET_MAX) {
    throw new RangeError(`receive: max must be 1 to ${SET_MAX}, not ${max}`);
  }
  if (!(wait_ms >= 0)) throw new RangeError(`receive: wait_ms must not be negative, not ${wait_ms}`);
  if (!(visibility_ms > 0)) throw new RangeError(`receive: visibility_ms must be positive, not ${visibility_ms}`);
}

/** Cuts a reason to the length that dead letters keep. */
export function cutReason(reason: string): string {
  return reason.replaceAll('\0', '').slice(0, REASON_CHARACTERS_MAX).toWellFormed();
}

export function closedError(): HeddleError {
  return new HeddleError('SHUTTING_DOWN', 'The queue is closed');
}
