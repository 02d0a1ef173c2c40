import { nextToBootstrap } from './modules.ts';
import { WARM_UP } from './package-name.ts';
import { runJob } from './run-job.ts';

/**
 * Runs a no-op event, so that first-time costs are paid before a job waits for them. If the event package cannot be
 * found, the event that needs it reports the error.
 */
export async function warmUp(): Promise<void> {
  const url = nextToBootstrap(WARM_UP.file);
  const header = { url, event_name: WARM_UP.event, correlation_id: '', traceparent: null, result_bytes_max: 4 };
  await runJob({ serial: 0, header, args: '{}' }, new AbortController().signal).catch(() => undefined);
}
