import { besideBootstrap } from './modules.ts';
import { WARM_UP } from './package-name.ts';
import { runJob } from './run-job.ts';

/**
 * Runs an event that does nothing: what takes its time when it is done for the first time is done before there is a job
 * that waits for it. Where the package of events cannot be found, the event that asks for it is told so.
 */
export async function warmUp(): Promise<void> {
  const url = besideBootstrap(WARM_UP.file);
  const header = { url, event_name: WARM_UP.event, correlation_id: '', traceparent: null, result_bytes_max: 4 };
  await runJob({ serial: 0, header, args: '{}' }, new AbortController().signal).catch(() => undefined);
}
