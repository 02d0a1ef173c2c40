import { spawnSync } from 'node:child_process';
import { messageOf } from '@heddle/base/thrown';
import { engineScenarios, FULL, QUICK } from './engine-scenarios.ts';
import { httpScenarios } from './http-scenarios.ts';
import { scanScenarios } from './scan-scenarios.ts';
import { dnsScenarios } from './recon/dns-scenarios.ts';
import { tcpScenarios } from './recon/tcp-scenarios.ts';
import { tlsScenarios } from './recon/tls-scenarios.ts';
import { executionScenarios } from './remote-execution/scenarios.ts';
import { runnerPoolScenarios } from './runner-pool/scenarios.ts';
import { managerScenarios } from './manager-scenarios.ts';
import { transportScenarios } from './transport-scenarios.ts';
import { workflowScenarios } from './workflow-scenarios.ts';
import { checkOut } from './other-version.ts';
import { matches } from './options.ts';
import type { Options } from './options.ts';
import { openPostgres } from './postgres.ts';
import type { PostgresServer } from './postgres.ts';
import { probeMachine } from './probe.ts';
import { startRedis } from './redis.ts';
import type { RedisServer } from './redis.ts';
import { SUBJECTS } from './registry.ts';
import type { SubjectEntry } from './registry.ts';
import { formatTable, Results } from './results.ts';
import type { Participant, Scenario } from './scenario.ts';
import { median, percentile } from './statistics.ts';
import { startSubject } from './subject-client.ts';
import type { SubjectClient } from './subject-client.ts';

export interface Output {
  /** Progress and explanations. */
  note(text: string): void;
  /** The results in the requested format. */
  result(text: string): void;
}

interface Servers {
  postgres: PostgresServer;
  redis: RedisServer | null;
}

interface Runner {
  participant: Participant;
  subject: SubjectClient;
}

const NO_REDIS = 'redis-server is not installed (apt-get install redis-server)';

/** Runs the requested benches; returns false if a subject failed. */
export async function runBenches(options: Options, databaseUrl: string | undefined, output: Output): Promise<boolean> {
  const chosen = options.quick ? QUICK : FULL;
  const sizes = { ...chosen, stored_many: options.stored ?? chosen.stored_many };
  const wanted = (bench: string): boolean => matches(options, bench);
  const scenarios = [
    ...engineScenarios(sizes),
    ...workflowScenarios(options.quick),
    ...transportScenarios(options.quick),
    ...managerScenarios(options.quick),
    ...httpScenarios(options.quick),
    ...scanScenarios(options.quick),
    ...tcpScenarios(options.quick),
    ...dnsScenarios(options.quick),
    ...tlsScenarios(options.quick),
    ...executionScenarios(options.quick),
    ...runnerPoolScenarios(options.quick),
  ]
    .filter(({ benches }) => benches.some(wanted))
    .map((scenario) => narrowed(scenario, options));
  if (scenarios.length === 0) throw new TypeError('--only: no bench has such a name');
  const other = options.compare === null ? null : await checkOut(options.compare);
  try {
    return await runScenarios(other === null ? scenarios : scenarios.map(other.compared), options, databaseUrl, output);
  } finally {
    await other?.remove();
  }
}

async function runScenarios(
  scenarios: readonly Scenario[],
  options: Options,
  databaseUrl: string | undefined,
  output: Output,
): Promise<boolean> {
  const wanted = (bench: string): boolean => matches(options, bench);
  const postgres = await openPostgres(databaseUrl);
  const redis = await startRedis();
  const results = new Results();
  let complete = true;
  try {
    for (const line of await probeMachine()) output.note(line);
    await describeServers({ postgres, redis }, scenarios, output);
    for (const scenario of scenarios) {
      if (!(await runScenario(scenario, { postgres, redis }, options, results, output))) complete = false;
    }
  } finally {
    await redis?.stop();
    await postgres.stop();
  }
  const list = results.list(wanted);
  if (options.json) for (const result of list) output.result(JSON.stringify(result));
  else output.result(`\n${formatTable(list)}`);
  return complete;
}

function narrowed(scenario: Scenario, options: Options): Scenario {
  return {
    benches: scenario.benches,
    rounds: options.rounds ?? (options.quick ? Math.min(3, scenario.rounds) : scenario.rounds),
    participants: scenario.participants.filter(({ subject }) => options.subjects?.includes(subject) ?? true),
  };
}

async function describeServers(
  { postgres, redis }: Servers,
  scenarios: readonly Scenario[],
  output: Output,
): Promise<void> {
  const commits = await postgres.commitLatencies(200);
  output.note(
    `postgresql: ${postgres.version} (${postgres.description}); one row a commit: ` +
      `${median(commits).toFixed(2)} ms (p99 ${percentile(commits, 0.99).toFixed(2)} ms)`,
  );
  output.note(redis === null ? `redis: ${NO_REDIS}` : `redis: ${redis.version} (appendonly yes, appendfsync everysec)`);
  const names = new Set(scenarios.flatMap(({ participants }) => participants.map(({ subject }) => subject)));
  for (const name of names) output.note(`${name}: ${SUBJECTS[name].note}`);
}

/** Starts every participant in a separate process and database, alternates among them, and ends them. */
async function runScenario(
  scenario: Scenario,
  servers: Servers,
  options: Options,
  results: Results,
  output: Output,
): Promise<boolean> {
  const title = scenario.benches.join(', ');
  output.note(`\n${title}`);
  const runners: Runner[] = [];
  const databases: string[] = [];
  let complete = true;
  const failed = (label: string, error: unknown): void => {
    complete = false;
    output.note(`  ${label}: failed: ${messageOf(error)}`);
  };
  for (const participant of scenario.participants) {
    const entry: SubjectEntry = SUBJECTS[participant.subject];
    if (entry.needs === 'redis' && servers.redis === null) {
      output.note(`  ${participant.label}: not run: ${NO_REDIS}`);
      continue;
    }
    if (entry.command !== undefined && !isInstalled(entry.command)) {
      output.note(`  ${participant.label}: not run: ${entry.command} is not installed`);
      continue;
    }
    try {
      const database = `heddle_bench_${participant.label.replace(/[^a-z0-9]+/g, '_')}`;
      if (entry.needs === 'postgres') databases.push(database);
      const subject = await start(participant, database, entry, servers, options);
      runners.push({ participant, subject });
      await participant.warmUp(subject);
    } catch (error) {
      failed(participant.label, error);
      await runners.find((runner) => runner.participant === participant)?.subject.end();
      runners.splice(0, runners.length, ...runners.filter((runner) => runner.participant !== participant));
    }
  }
  for (let round = 0; round < scenario.rounds; round++) {
    // Each round begins with another participant, so that none always follows the same one.
    const order = runners.map((_, at) => runners[(at + round) % runners.length]!);
    for (const runner of order) {
      await servers.postgres.checkpoint();
      try {
        const measurements = await runner.participant.round(runner.subject);
        results.add(runner.participant.label, measurements);
        const values = measurements.map(({ metric, value }) => `${metric} ${Number(value.toPrecision(4))}`);
        output.note(`  round ${round + 1} ${runner.participant.label}: ${values.join(', ')}`);
      } catch (error) {
        failed(runner.participant.label, error);
        runners.splice(runners.indexOf(runner), 1);
      }
    }
  }
  for (const { subject } of runners) await subject.end();
  for (const database of databases) await servers.postgres.dropDatabase(database);
  return complete;
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined;
}

async function start(
  { subject: name, directory }: Participant,
  database: string,
  entry: SubjectEntry,
  { postgres, redis }: Servers,
  options: Options,
): Promise<SubjectClient> {
  const profiling = options.profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`];
  return startSubject(
    name,
    {
      database_url: entry.needs === 'postgres' ? await postgres.createDatabase(database) : null,
      redis_port: redis?.port ?? null,
      quick: options.quick,
    },
    {
      ...(directory === undefined ? {} : { directory }),
      execArgv: profiling,
      serverUsage: () =>
        entry.needs === 'postgres' ? postgres.usage() : Promise.resolve({ server_cpu_ms: null, wal_bytes: null }),
    },
  );
}
