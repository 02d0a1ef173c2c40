import { createHash } from 'node:crypto';

import { HeddleError } from '@heddle/base/errors';
import { newId } from '@heddle/base/random';
import type { CheckedMessage } from './limits.ts';
import { PLACEHOLDER, type SqsBodies } from './sqs-bodies.ts';
import type { Refusal, SqsConnection, SqsEntry } from './sqs-connection.ts';
import { attributesOf, ENVELOPE_ATTRIBUTE, isCarried, type Envelope, type SqsMessage } from './sqs-envelope.ts';

/** Error of SQS for a body with a character that it does not accept. */
const UNFIT_BODY = 'InvalidMessageContents';

/** Sends messages to a queue; stores bodies that SQS cannot carry in the database first. */
export async function sendToSqs(
  connection: SqsConnection,
  bodies: SqsBodies,
  queue: string,
  messages: readonly CheckedMessage[],
): Promise<void> {
  const url = await connection.urlOf(queue);
  const byId = new Map(messages.map((message) => [message.id, message]));
  const entries = await entriesOf(bodies, queue, messages, ({ body, bytes }) => !isCarried(body, bytes));
  const refused = await connection.send(url, entries, inOrder(connection, messages));
  const unfit = refused.filter(({ code }) => code === UNFIT_BODY);
  const again = unfit.map(({ entry }) => byId.get(idOf(entry))!);
  refuse(refused.filter(({ code }) => code !== UNFIT_BODY));
  if (again.length > 0) refuse(await connection.send(url, await entriesOf(bodies, queue, again, () => true), true));
}

/** Sends a message to the dead letters with its reason; a FIFO queue drops a repeat of the same delivery. */
export async function sendToDead(
  connection: SqsConnection,
  letters: readonly { message: SqsMessage; reason: string }[],
): Promise<void> {
  const entries = letters.map(({ message: { envelope, handle, raw, receive_count, sent_at }, reason }) =>
    entryOf(
      { ...envelope, reason, receive_count, sent_at },
      raw,
      Buffer.byteLength(raw),
      createHash('sha256').update(handle).digest('hex'),
    ),
  );
  refuse(await connection.send(await connection.deadUrl(), entries, false));
}

/** Sends dead letters to a queue again, under new ids, since a FIFO queue remembers the old ones for minutes. */
export async function sendAgain(
  connection: SqsConnection,
  queue: string,
  letters: readonly SqsMessage[],
): Promise<Refusal<SqsEntry>[]> {
  const entries = letters.map(({ envelope: { id, body_id, group }, raw }) => {
    const envelope: Envelope = { id, queue, ...(body_id && { body_id }), ...(group && { group }) };
    return entryOf(envelope, raw, Buffer.byteLength(raw), newId());
  });
  return await connection.send(await connection.urlOf(queue), entries, false);
}

async function entriesOf(
  bodies: SqsBodies,
  queue: string,
  messages: readonly CheckedMessage[],
  isSpilled: (message: CheckedMessage) => boolean,
): Promise<SqsEntry[]> {
  const spilled = messages.filter(isSpilled);
  const bodyIds = await bodies.save(spilled.map(({ body }) => body));
  const bodyIdOf = new Map(spilled.map((message, index) => [message, bodyIds[index]!]));
  return messages.map((message) => {
    const { id, group, body, bytes, delay_ms } = message;
    const bodyId = bodyIdOf.get(message);
    const envelope: Envelope = { id, queue, ...(group !== null && { group }), ...(bodyId && { body_id: bodyId }) };
    if (bodyId !== undefined) return entryOf(envelope, PLACEHOLDER, PLACEHOLDER.length, id, delay_ms);
    return entryOf(envelope, body, bytes, id, delay_ms);
  });
}

function entryOf(envelope: Envelope, body: string, bodyBytes: number, deduplicationId: string, delayMs = 0): SqsEntry {
  const attributes = attributesOf(envelope);
  const text = attributes[ENVELOPE_ATTRIBUTE]!.StringValue!;
  return {
    body,
    attributes,
    bytes: bodyBytes + ENVELOPE_ATTRIBUTE.length + 'String'.length + text.length,
    delaySecs: Math.ceil(delayMs / 1_000),
    // In its own group, a message waits for no other.
    group: groupOf(envelope),
    deduplicationId,
  };
}

/** SQS accepts 128 printable ASCII characters as a group. */
function groupOf({ id, group }: Envelope): string {
  if (group === undefined) return id;
  return /^[!-~]{1,128}$/.test(group) ? group : createHash('sha256').update(group).digest('hex');
}

function idOf(entry: SqsEntry): string {
  return (JSON.parse(entry.attributes[ENVELOPE_ATTRIBUTE]!.StringValue!) as Envelope).id;
}

function inOrder(connection: SqsConnection, messages: readonly CheckedMessage[]): boolean {
  return connection.fifo && messages.some(({ group }) => group !== null);
}

/** Fails the call if entries were rejected for good or too often; the others were sent. */
function refuse(refused: readonly Refusal<SqsEntry>[]): void {
  const [first] = refused;
  if (first === undefined) return;
  throw new HeddleError('QUEUE_UNAVAILABLE', `SQS rejected ${refused.length} messages: ${first.code}`, {
    details: refused.slice(0, 10).map(({ entry, code, message }) => `${idOf(entry)}: ${code}: ${message}`),
  });
}
