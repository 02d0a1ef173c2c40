/** A runner without tasks: `node yard-runner.ts ARGUMENTS --runner ID --runner-home DIRECTORY`. */
import { appendFileSync } from 'node:fs';

import { isolationLoop, MonitoredConnection } from '../../../../../src/app/pool/monitored-connection.ts';
import { RunnerAgent } from '@heddle/core/pool/agent/agent';
import { becomeRunner } from '@heddle/core/pool/providers/process/records';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { systemClock } from '@heddle/base/clock';
import { createLogger } from '@heddle/base/log';
import { openTestDatabase } from '@heddle/test-support/postgres';
import { dyingAt, onceOf } from './dying-port.ts';
import { ALONE_MS, POLICY, HEARTBEAT_MS, WORK_MS, type YardArguments } from './yard-settings.ts';

const given = JSON.parse(process.argv[2]!) as YardArguments;
const valueOf = (flag: string): string => process.argv[process.argv.indexOf(flag) + 1]!;
const id = valueOf('--runner');
const record = becomeRunner(valueOf('--runner-home'), process.pid);
if (record === null) process.exit(0);

const note = (entry: object): void => {
  const text = JSON.stringify({ runner: id, pid: process.pid, at: systemClock.now(), ...entry });
  try {
    appendFileSync(`${given.journal}/${process.pid}.jsonl`, `${text}\n`);
  } catch {
    // The test has ended, and its directories are gone.
  }
};
const log = createLogger({ level: 'warn' });
const database = openTestDatabase(given.url, { maxSize: 2 });
const { classes, times, max_uses } = POLICY;
const store = dyingAt(new PostgresRunnerStore({ database, classes, times, max_uses }), given.point, onceOf(given));
const connection = new MonitoredConnection(store, systemClock, () => undefined);
const end = (reason: string): void => {
  note({ event: 'ended', reason });
  process.exit(0);
};
const agent = new RunnerAgent({
  connection,
  registration: { runner_id: id, batch_id: record.batch_id, provider_id: id, address: null },
  clock: systemClock,
  log,
  heartbeat_ms: HEARTBEAT_MS,
  exit_grace_ms: ALONE_MS,
  onClaimed: ({ epoch, request_id }) => {
    note({ event: 'started', epoch, request: request_id });
    // Every other claim is kept until it is revoked.
    if (epoch % 2 === 1) setTimeout(() => void agent.finish(epoch), WORK_MS);
  },
  onRevoked: (epoch) => note({ event: 'revoked', epoch }),
  onEnd: end,
});
await database.listen('heddle_runner', (payload) => {
  if (payload === '' || payload === id) agent.wake();
});
agent.start();
isolationLoop({
  connection,
  server: record.server,
  aloneMs: ALONE_MS,
  clock: systemClock,
  log,
  onIsolated: end,
}).start();
process.on('SIGTERM', () => {
  void agent.drain('its process received a stop signal');
  setTimeout(() => end('the runner was stopped'), 1_000);
});
setInterval(() => undefined, 60_000);
