import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';

import { isUuid } from '@heddle/base/ids';

/** Metadata beside the body, in one attribute of the message. Messages of other senders have none. */
export interface Envelope {
  id: string;
  queue: string;
  group?: string;
  /** The body is in the database, under this id. */
  body_id?: string;
  /** Only for a dead letter: */
  reason?: string;
  receive_count?: number;
  sent_at?: number;
}

export const ENVELOPE_ATTRIBUTE = 'heddle';

/** Maximum size of a request with all its messages; queues often have the same limit for a single message. */
export const REQUEST_BYTES_MAX = 256 * 1024;
/** Larger bodies are stored in the database, since the envelope with a dead letter's reason needs space too. */
export const INLINE_BYTES_MAX = 240 * 1024;

/** Characters of XML 1.0, which SQS accepts. */
const CARRIED = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]+$/u;

/** Returns whether SQS can carry a body as it is. */
export function isCarried(body: string, bytes: number): boolean {
  return bytes <= INLINE_BYTES_MAX && CARRIED.test(body);
}

/** Encodes the attributes of a message in ASCII, since SQS rejects some characters of reasons. */
export function attributesOf(envelope: Envelope): Record<string, MessageAttributeValue> {
  return { [ENVELOPE_ATTRIBUTE]: { DataType: 'String', StringValue: asciiJson(envelope) } };
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Message as received from SQS. */
export interface SqsMessage {
  handle: string;
  /** Body as stored at SQS; a placeholder if it is in the database. */
  raw: string;
  envelope: Envelope;
  receive_count: number;
  sent_at: number;
}

/** Parses a message; one of another sender gets the id that SQS gave it. */
export function messageOfSqs(queue: string, message: Message): SqsMessage {
  const { MessageId: messageId = '', ReceiptHandle: handle = '', Body: raw = '', Attributes: attributes } = message;
  return {
    handle,
    raw,
    envelope: readEnvelope(queue, messageId, message.MessageAttributes?.[ENVELOPE_ATTRIBUTE]?.StringValue),
    receive_count: Number(attributes?.ApproximateReceiveCount ?? 1),
    sent_at: Number(attributes?.SentTimestamp ?? 0),
  };
}

function readEnvelope(queue: string, messageId: string, text: string | undefined): Envelope {
  const plain = { id: messageId, queue };
  if (text === undefined) return plain;
  try {
    const envelope = JSON.parse(text) as Partial<Envelope> | null;
    return isUuid(envelope?.id ?? '') ? { ...plain, ...envelope } : plain;
  } catch {
    // Another sender's attribute of the same name.
    return plain;
  }
}

/** Receipt of a delivery: the SQS handle, and its hold on a body in the database. */
export interface SqsReceipt {
  id: string;
  body: { id: string; receipt: string } | null;
  handle: string;
}

export function writeReceipt({ id, body, handle }: SqsReceipt): string {
  return [id, body?.id ?? '', body?.receipt ?? '', handle].join('.');
}

/** Returns null for an invalid receipt, which is ignored like a stale one. */
export function readReceipt(text: string): SqsReceipt | null {
  const [id, bodyId, bodyReceipt, ...handle] = text.split('.');
  if (id === undefined || bodyId === undefined || bodyReceipt === undefined || handle.length === 0) return null;
  const hasBody = isUuid(bodyId) && isUuid(bodyReceipt);
  return { id, body: hasBody ? { id: bodyId, receipt: bodyReceipt } : null, handle: handle.join('.') };
}
