import { isLoopbackHost } from '@heddle/base/net/classify';
import { createSharedData } from '@heddle/core/engine/data/shared-data';
import type { TransactionalEngine } from '@heddle/core/engine/engine';
import { createNotices } from '@heddle/core/engine/notices/notices';
import { validateWebhookUrl, type SsrfPolicy } from '../../dispatch/ssrf.ts';
import type { KindDefinition } from '@heddle/kit';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import type { Database } from '@heddle/core/store/database';
import { EXAMPLE_NAMES } from '../example-names.ts';
import { findingsOf } from '../findings.ts';
import { kindsOfServer } from '../kinds.ts';
import { modelsOf } from '../models.ts';
import { openExecutors } from '../remote/executors.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';

export interface RunnerKindsOptions {
  settings: SettingValues;
  /** Whether `heddle up` launched the runner, which relaxes restrictions on this machine. */
  development: boolean;
  database: Database;
  engine: TransactionalEngine;
  log: Logger;
  tracing: Tracing;
  stopping: StopSequence;
}

/** Returns the kinds that a runner executes, the same as those of the server that launched it. */
export async function kindsOfRunner(options: RunnerKindsOptions): Promise<KindDefinition[]> {
  const { settings, development, database, engine, log, tracing, stopping } = options;
  const common = { clock: systemClock, random: systemRandom, log };
  const executors = openExecutors({ settings, ...common });
  stopping.add('the executors', async () => executors?.close());
  const policy: SsrfPolicy = {
    skipAll: settings.skipSsrfValidation,
    allowLoopback: development,
    blockedHostnames: settings.blockedHostnames,
    blockedSuffixes: settings.blockedSuffixes,
    allowedHosts: settings.allowedHosts,
    allowedCidrs: settings.allowedCidrs,
  };
  return kindsOfServer({
    settings,
    engine,
    ...common,
    tracing,
    stopping,
    findings: findingsOf(database, settings),
    models: modelsOf(database, settings),
    notices: createNotices({ database, log }),
    shared: createSharedData({ database }),
    ssrf: (url) => validateWebhookUrl(url, policy),
    jailByDefault: development && isLoopbackHost(settings.host),
    defaultScanRoot: development && isLoopbackHost(settings.host) ? process.cwd() : null,
    followedNames: development && settings.examples ? EXAMPLE_NAMES : [],
    remote: { executors, tracing },
  });
}
