import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';

import { isUuid } from '../domain/ids.ts';

/** What travels beside the body, in one attribute of the message. Messages of others have none of it. */
export interface Envelope {
  id: string;
  queue: string;
  group?: string;
  /** The body is in the database, under this id. */
  body_id?: string;
  /** Of a dead letter: */
  reason?: string;
  receive_count?: number;
  sent_at?: number;
}

export const ENVELOPE_ATTRIBUTE = 'heddle';

/** What SQS takes for a request, all its messages together; queues are often set to it for a single one too. */
export const REQUEST_BYTES_MAX = 256 * 1024;
/** Larger bodies are kept in the database: the envelope, with the reason of a dead letter, needs room too. */
export const INLINE_BYTES_MAX = 240 * 1024;

/** Characters of XML 1.0, which is what SQS carries. */
const CARRIED = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]+$/u;

/** Whether SQS carries a body as it is. */
export function isCarried(body: string, bytes: number): boolean {
  return bytes <= INLINE_BYTES_MAX && CARRIED.test(body);
}

/** The attributes of a message, in ASCII: SQS refuses some of what a reason may have. */
export function attributesOf(envelope: Envelope): Record<string, MessageAttributeValue> {
  return { [ENVELOPE_ATTRIBUTE]: { DataType: 'String', StringValue: asciiJson(envelope) } };
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A message as SQS hands it out. */
export interface SqsMessage {
  handle: string;
  /** As it stands at SQS: of a body in the database only what says so. */
  raw: string;
  envelope: Envelope;
  receive_count: number;
  sent_at: number;
}

/** Reads a message; one of another sender gets the id that SQS gave it. */
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
    // Somebody else's attribute of the same name.
    return plain;
  }
}

/** Names a delivery: what to tell SQS, and which hold on a body in the database it has. */
export interface SqsReceipt {
  id: string;
  body: { id: string; receipt: string } | null;
  handle: string;
}

export function writeReceipt({ id, body, handle }: SqsReceipt): string {
  return [id, body?.id ?? '', body?.receipt ?? '', handle].join('.');
}

/** What is no receipt is null and holds nothing, like one that is over. */
export function readReceipt(text: string): SqsReceipt | null {
  const [id, bodyId, bodyReceipt, ...handle] = text.split('.');
  if (id === undefined || bodyId === undefined || bodyReceipt === undefined || handle.length === 0) return null;
  const hasBody = isUuid(bodyId) && isUuid(bodyReceipt);
  return { id, body: hasBody ? { id: bodyId, receipt: bodyReceipt } : null, handle: handle.join('.') };
}
