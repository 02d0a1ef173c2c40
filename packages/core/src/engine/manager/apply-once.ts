import { detailedMessageOf } from '@heddle/base/thrown';
import type { ManagerMessage } from '../../domain/message.ts';
import { forgetMessages, rememberMessages } from '../../store/inbox.ts';
import type { Engine } from '../port.ts';
import type { Batch, Parsed, Verdict } from './batch.ts';
import type { ManagerContext } from './context.ts';
import { faultOf } from './faults.ts';

export interface Application<Message extends ManagerMessage> {
  /** Returns whether the inbox remembers a message; all by default. Others may be applied more than once. */
  remembers?(message: Message): boolean;
  /** Handles a set within a transaction; returns one verdict per message, in order. */
  apply(engine: Engine, messages: readonly Message[]): Promise<Verdict[]>;
}

/**
 * Handles a set of messages, each exactly once however often it is delivered: the inbox rows and the effect commit
 * together. A set that fails because of a single message is halved until that message is alone; the others are applied.
 *
 * @throws if the database is unavailable
 */
export async function applyOnce<Message extends ManagerMessage>(
  context: ManagerContext,
  batch: Batch,
  now: number,
  set: readonly Parsed<Message>[],
  application: Application<Message>,
): Promise<void> {
  if (set.length === 0) return;
  try {
    const verdicts = await applySet(context, now, set, application);
    set.forEach((parsed, index) => batch.settle(parsed, verdicts[index]!));
  } catch (error) {
    const fault = faultOf(error);
    if (fault === 'away') throw error;
    if (fault === 'busy') {
      context.log.warn({ err: error, messages: set.length }, 'database is busy; messages will be redelivered');
      batch.postpone(set, detailedMessageOf(error));
    } else if (set.length === 1) {
      context.log.warn({ err: error, message: set[0]!.id }, 'message failed');
      batch.settle(set[0]!, {
        outcome: fault === 'message' ? 'dead_lettered' : 'failed',
        reason: detailedMessageOf(error),
      });
    } else {
      const middle = set.length >> 1;
      await applyOnce(context, batch, now, set.slice(0, middle), application);
      await applyOnce(context, batch, now, set.slice(middle), application);
    }
  }
}

function applySet<Message extends ManagerMessage>(
  context: ManagerContext,
  now: number,
  set: readonly Parsed<Message>[],
  application: Application<Message>,
): Promise<Verdict[]> {
  const remembered = set.filter(({ message }) => application.remembers?.(message) ?? true);
  // Messages that may be applied again need no transaction with the inbox.
  if (remembered.length === 0) {
    return application.apply(
      context.engine,
      set.map(({ message }) => message),
    );
  }
  return context.engine.transaction(async (engine, tx) => {
    const keys = new Set(remembered.map(({ key }) => key));
    const unseen = await rememberMessages(tx, [...keys], now);
    const fresh: number[] = [];
    const firstOf = new Map<string, number>();
    set.forEach(({ key }, index) => {
      // Of two messages with one key, the first is handled: the key is taken when the second is checked.
      if (keys.has(key) && unseen.delete(key)) firstOf.set(key, index);
      else if (keys.has(key)) return;
      fresh.push(index);
    });
    const verdicts = new Array<Verdict>(set.length).fill({ outcome: 'repeated' });
    if (fresh.length === 0) return verdicts;
    const answers = await application.apply(
      engine,
      fresh.map((index) => set[index]!.message),
    );
    const unhandled: string[] = [];
    fresh.forEach((index, at) => {
      verdicts[index] = answers[at]!;
      if ('reason' in answers[at]! && keys.has(set[index]!.key)) unhandled.push(set[index]!.key);
    });
    // A message that failed must not be repeated either: the queue may know both by one id, and would drop both.
    set.forEach(({ key }, index) => {
      const verdict = verdicts[firstOf.get(key) ?? index]!;
      if ('reason' in verdict) verdicts[index] = verdict;
    });
    // It will be redelivered, at once or out of the dead letters, and must not count as a repetition then.
    if (unhandled.length > 0) await forgetMessages(tx, unhandled);
    return verdicts;
  });
}
