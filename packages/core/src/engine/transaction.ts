import type { Database, Queryable, TransactionOptions } from '../store/database.ts';
import type { EngineContext } from './context.ts';
import { Offers } from './offers.ts';
import type { Signal } from './signals.ts';

/**
 * Runs methods of the engine within one database transaction, together with the caller's statements. Loops and metrics
 * are notified after the commit. The transaction is retried after serialization failures and deadlocks, so `run` must
 * have no effects outside of it.
 */
export async function inTransaction<T>(
  context: EngineContext,
  run: (inner: EngineContext, tx: Queryable) => Promise<T>,
): Promise<T> {
  let inner: InnerContext | undefined;
  const result = await context.database.transaction((tx) => {
    inner = innerContext(context, tx);
    return run(inner.context, tx);
  });
  await inner!.observe();
  return result;
}

interface InnerContext {
  context: EngineContext;
  observe(): Promise<void>;
}

function innerContext(outer: EngineContext, tx: Queryable): InnerContext {
  const { observer, signals } = outer;
  const kinds = outer.kinds.on(tx);
  const later: (() => unknown)[] = [];
  const signalLater = (signal: Signal): void => void later.push(() => signals.emit(signal));
  const observeLater = (observe: () => unknown): Promise<void> => {
    later.push(observe);
    return Promise.resolve();
  };
  return {
    context: {
      ...outer,
      database: asDatabase(outer.database, tx),
      kinds,
      // A claimer must not run tasks that may be rolled back.
      offers: new Offers(),
      signals: {
        emit: signalLater,
        onReady: (lanes, wake) => signals.onReady(lanes, wake),
        onDeliveryDue: (wake) => signals.onDeliveryDue(wake),
        onWorkflowChange: (id, wake) => signals.onWorkflowChange(id, wake),
        close: () => Promise.resolve(),
      },
      observer: {
        moved: (moved) => observeLater(() => observer.moved(moved)),
        claimed: (from, to, waits) => observeLater(() => observer.claimed(from, to, waits)),
        delivered: (moved) => observeLater(() => observer.delivered(moved)),
        attemptsEnded: (ended) => void later.push(() => observer.attemptsEnded(ended)),
        refused: (tasks) => void later.push(() => observer.refused(tasks)),
        created: (tasks, withDependencies) => void later.push(() => observer.created(tasks, withDependencies)),
      },
    },
    async observe() {
      outer.kinds.adopt(kinds);
      for (const one of later) await one();
    },
  };
}

/** Wraps a transaction as a database, so that nested transactions become part of it. */
function asDatabase(database: Database, tx: Queryable): Database {
  return {
    query: (statement, values) => tx.query(statement, values),
    transaction: (run, options: TransactionOptions = {}) => {
      if (options.isolation === 'repeatable read') throw new Error('A snapshot cannot begin within a transaction');
      return run(tx);
    },
    listen: (channel, onPayload) => database.listen(channel, onPayload),
    stats: () => database.stats(),
    ping: () => database.ping(),
    close: () => Promise.resolve(),
  };
}
