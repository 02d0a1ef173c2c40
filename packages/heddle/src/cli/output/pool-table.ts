import type { PoolRefreshed, PoolRequest, PoolRunner, PoolSummary, ResourceClass } from './wire.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import { writeFields, writeTable } from '@heddle/base/terminal/table';
import { duration, printable } from '@heddle/base/terminal/text';

const RUNNER_LOOKS: Readonly<Record<PoolRunner['state'], Style>> = {
  created: 'yellow',
  idle: 'green',
  claimed: 'magenta',
  running: 'cyan',
  terminated: 'gray',
};

const ID_CHARS = 8;

/** Writes runners by class and usage, and problems. */
export function writeCensus(
  output: Output,
  { backend, provider, census, parts, obstacles, settings }: PoolSummary,
): void {
  const all = census.reduce((sum, { created, idle, claimed, running }) => sum + created + idle + claimed + running, 0);
  output.line(`runners: ${all} of at most ${settings.max_runners}; provider ${provider}, backend ${backend}`);
  if (census.length === 0) output.line('no runners and no waiting requests');
  else writeCounts(output, census);
  for (const { reason, requirements, retry_at } of obstacles) {
    const what = requirements === null ? 'launches' : `launches of ${requirements.resource_class}`;
    const when = retry_at === null ? '' : `; retry at ${retry_at}`;
    output.line(output.paint('yellow', `${what} are held back: ${printable(reason)}${when}`));
  }
  for (const { name, error } of parts) {
    if (error !== null) output.line(output.paint('red', `${name} failed: ${printable(error)}`));
  }
}

function writeCounts(output: Output, census: PoolSummary['census']): void {
  writeTable(
    output,
    [
      { header: 'CLASS', value: ({ resource_class }) => resource_class },
      { header: 'USAGE', value: ({ usage_class }) => usage_class },
      { header: 'LAUNCHING', value: ({ created }) => String(created), align: 'right' },
      { header: 'IDLE', value: ({ idle }) => String(idle), align: 'right' },
      { header: 'CLAIMED', value: ({ claimed }) => String(claimed), align: 'right' },
      { header: 'RUNNING', value: ({ running }) => String(running), align: 'right' },
      {
        header: 'WAITING',
        value: ({ waiting }) => String(waiting),
        style: ({ waiting }) => (waiting > 0 ? 'yellow' : 'reset'),
        align: 'right',
      },
    ],
    census,
  );
}

export function writeRunners(output: Output, runners: readonly PoolRunner[]): void {
  if (runners.length === 0) {
    output.line('no matching runners');
    return;
  }
  const now = output.clock.now();
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'NO', value: ({ number }) => String(number), align: 'right' },
      { header: 'STATE', value: stateOf, style: ({ state }) => RUNNER_LOOKS[state] },
      { header: 'CLASS', value: ({ resource_class }) => resource_class },
      { header: 'USAGE', value: ({ usage_class }) => usage_class },
      { header: 'TYPE', value: ({ instance_type }) => instance_type ?? '-' },
      { header: 'FOR', value: ({ state_since }) => duration(now - Date.parse(state_since)), align: 'right' },
      { header: 'USES', value: ({ uses }) => String(uses), align: 'right' },
      { header: 'DOES', value: (runner) => doingOf(runner, now), flexible: true },
    ],
    runners,
  );
}

function stateOf({ state, draining }: PoolRunner): string {
  return draining && state !== 'terminated' ? `${state}, draining` : state;
}

/** Describes the runner's task or its next transition. */
function doingOf({ state, request_id, until, reason }: PoolRunner, now: number): string {
  if (reason !== null) return printable(reason);
  if (request_id !== null) return `request ${request_id.slice(0, ID_CHARS)}`;
  if (until === null) return '';
  const left = duration(Math.max(0, Date.parse(until) - now));
  return state === 'idle'
    ? `ends in ${left} unless it is claimed`
    : `marked lost in ${left} unless it sends a heartbeat`;
}

export function writeRunner(output: Output, runner: PoolRunner): void {
  const { state, instance_type, provider, provider_id, request_id } = runner;
  writeFields(output, [
    ['id', runner.id],
    ['number', String(runner.number)],
    ['state', output.paint(RUNNER_LOOKS[state], stateOf(runner))],
    ['class', `${runner.resource_class}, ${runner.usage_class}`],
    ['type', instance_type === null ? null : printable(instance_type)],
    ['size', `${runner.cpu} processors, ${runner.memory_mib} MiB`],
    ['provider', provider_id === null ? provider : printable(`${provider}, ${provider_id}`)],
    ['request', request_id],
    ['claims', `${runner.epoch}, ${runner.uses} started`],
    ['created', runner.created_at],
    ['since', runner.state_since],
    ['until', runner.until],
    ['last seen', runner.seen_at],
    ['address', runner.address === null ? null : printable(runner.address)],
    ['reason', runner.reason === null ? null : printable(runner.reason)],
  ]);
}

export function writeRequests(output: Output, requests: readonly PoolRequest[]): void {
  if (requests.length === 0) {
    output.line('no matching requests');
    return;
  }
  const now = output.clock.now();
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state },
      { header: 'WANTS', value: wantsOf, flexible: true },
      { header: 'TENANT', value: ({ tenant }) => tenant, flexible: true },
      { header: 'FOR', value: forWhat, flexible: true },
      { header: 'SINCE', value: (request) => duration(now - sinceOf(request)), align: 'right' },
      { header: 'REASON', value: reasonOf, flexible: true },
    ],
    requests,
  );
}

/** Names before ids. */
function forWhat({ source, run, task_name }: PoolRequest): string {
  if (source === 'holder') return run;
  return `task ${task_name ?? run}`;
}

function sinceOf({ granted_at, created_at }: PoolRequest): number {
  return Date.parse(granted_at ?? created_at);
}

/** `2 × large, spot, m7i.*`. */
export function wantsOf({ requirements }: Pick<PoolRequest, 'requirements'>): string {
  const { count, resource_class, usage_class, allowed_instance_types, cpu, memory_mib } = requirements;
  const parts = [`${count} × ${resource_class}`, usage_class];
  if (allowed_instance_types.length > 0) parts.push(allowed_instance_types.join(' or '));
  if (cpu !== null) parts.push(`${cpu} processors`);
  if (memory_mib !== null) parts.push(`${memory_mib} MiB`);
  return parts.join(', ');
}

const EXHAUSTION_WORDS: Readonly<Record<NonNullable<PoolRequest['exhaustion']>, string>> = {
  global: 'no runner is idle',
  local: 'no idle runner matches',
  uncertain: 'unknown whether a runner is idle',
};

/** The reason why it waits, or ended. */
export function reasonOf({ state, requirements, kept, exhaustion, reason }: PoolRequest): string {
  const words = [];
  if (kept > 0) words.push(`lost runners, keeps ${kept} of ${requirements.count}`);
  if (state === 'waiting' && exhaustion !== null) words.push(EXHAUSTION_WORDS[exhaustion]);
  if (reason !== null) words.push(`${state === 'waiting' ? 'the last launch failed: ' : ''}${printable(reason)}`);
  return words.join('; ');
}

export function writeClasses(output: Output, classes: readonly ResourceClass[]): void {
  writeTable(
    output,
    [
      { header: 'CLASS', value: ({ name }) => name },
      { header: 'PROCESSORS', value: ({ cpu }) => String(cpu), align: 'right' },
      { header: 'MIN MIB', value: ({ memory_mib }) => String(memory_mib), align: 'right' },
      { header: 'MIN IDLE', value: keptOf },
    ],
    classes,
  );
}

function keptOf({ min_idle }: ResourceClass): string {
  return min_idle.map(({ usage_class, count }) => `${count} ${usage_class}`).join(', ') || '-';
}

export function writeRefreshed(output: Output, refreshed: PoolRefreshed): void {
  const { changes, ended, terminated, orphans, vanished, offered, failures } = refreshed;
  for (const change of changes) output.line(printable(change));
  const counts = [
    [ended, 'runners terminated after their deadline'],
    [terminated, 'runners terminated at the provider'],
    [orphans, 'instances terminated without a runner'],
    [vanished, 'runners terminated because their instance was gone'],
    [offered, 'idle runners offered again'],
  ] as const;
  const nonzero = counts.filter(([count]) => count > 0);
  for (const [count, what] of nonzero) output.line(`${count} ${what}`);
  if (changes.length + nonzero.length + failures.length === 0) output.line('nothing to do');
  for (const failure of failures) output.notice(`${output.paintError('red', 'failed:')} ${printable(failure)}`);
}
