import type { Logger } from '../runtime/log.ts';
import type { StopSequence } from './stop-sequence.ts';

/**
 * A promise that a handler started and did not wait for must not end the process with everything else that runs in it: its
 * rejection is logged instead. An exception that nobody caught still ends the process, since what it left behind is unknown.
 */
export function surviveStrayRejections(log: Logger, stopping: StopSequence): void {
  const onRejection = (reason: unknown): void =>
    log.error({ err: reason }, 'A promise was rejected that no handler waited for; await it, or catch what it throws');
  process.on('unhandledRejection', onRejection);
  stopping.add('the watch for stray rejections', () => {
    process.off('unhandledRejection', onRejection);
    return Promise.resolve();
  });
}
