import type { Logger } from '@heddle/base/log';
import type { StopSequence } from './stop-sequence.ts';

/**
 * Logs rejections of promises that a handler started and did not await, which must not end the process and everything
 * else in it. An uncaught exception still ends the process, because its state is unknown.
 */
export function surviveStrayRejections(log: Logger, stopping: StopSequence): void {
  const onRejection = (reason: unknown): void =>
    log.error({ err: reason }, 'unhandled promise rejection in a handler; await the promise or catch its error');
  process.on('unhandledRejection', onRejection);
  stopping.add('the watch for stray rejections', () => {
    process.off('unhandledRejection', onRejection);
    return Promise.resolve();
  });
}
