import { readFileSync } from 'node:fs';

import { CPU_MAX, MEMORY_MIB_MAX } from '@heddle/base/vocabulary/requirements';
import {
  DEFAULT_RESOURCE_CLASSES,
  USAGE_CLASSES,
  type ResourceClass,
  type UsageClass,
} from '@heddle/base/vocabulary/resource-class';
import { scheduleFaults } from '@heddle/core/engine/schedule/cron';
import type { ClassTimes, MinIdle } from '@heddle/core/pool/context';

const CLASSES_MAX = 100;
const MIN_IDLE_MAX = 100;
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const COUNT_MAX = 100_000;

/** Parsed values, and faults that begin with their path. */
export interface Reading<T> {
  readonly values: readonly T[];
  readonly faults: readonly string[];
}

type Entry = Readonly<Record<string, unknown>>;

/** Parsed classes, and their overrides by class name. */
export interface ClassReading extends Reading<ResourceClass> {
  readonly times: Readonly<Record<string, Partial<ClassTimes>>>;
}

/** Settings that a class may override. */
const CLASS_TIMES = {
  idle_secs: 'idle_ms',
  register_secs: 'register_ms',
  confirm_secs: 'confirm_ms',
  claim_secs: 'claim_ms',
} as const;
const CLASS_FIELDS = ['name', 'cpu', 'memory_mib', ...Object.keys(CLASS_TIMES), 'max_uses'];
const SECS_MIN = 0.05;
const SECS_MAX = 86_400;
const USES_MAX = 1_000_000_000;

/** Parses resource classes; an empty string means the default ones. */
export function readClasses(given: string): ClassReading {
  if (given === '') return { values: DEFAULT_RESOURCE_CLASSES, times: {}, faults: [] };
  const entries = entriesOf(given, '[{"name": "large", "cpu": 2, "memory_mib": 4096}]');
  if (typeof entries === 'string') return { values: [], times: {}, faults: [entries] };
  if (entries.length === 0 || entries.length > CLASSES_MAX)
    return { values: [], times: {}, faults: [`must be 1 to ${CLASSES_MAX} classes, not ${entries.length}`] };
  const faults: string[] = [];
  const names = new Set<string>();
  const times: Record<string, Partial<ClassTimes>> = {};
  const values = entries.map((entry, at): ResourceClass => {
    const place = `[${at}]`;
    const { name, cpu, memory_mib, ...others } = entry;
    const own = classTimesOf(others, place, faults);
    if (Object.keys(own).length > 0) times[String(name)] = own;
    if (typeof name !== 'string' || !NAME.test(name))
      faults.push(`${place}.name: must be 1 to 63 of a-z 0-9 . _ -, beginning with a letter or digit`);
    else if (names.has(name)) faults.push(`${place}.name: must be unique; ${name} is used twice`);
    else names.add(name);
    faults.push(...numberFaults(`${place}.cpu`, cpu, 1, CPU_MAX));
    faults.push(...numberFaults(`${place}.memory_mib`, memory_mib, 1, MEMORY_MIB_MAX));
    return { name: String(name), cpu: Number(cpu), memory_mib: Number(memory_mib) };
  });
  return { values, times, faults };
}

function classTimesOf(given: Entry, place: string, faults: string[]): Partial<ClassTimes> {
  const own: Record<string, number | null> = {};
  for (const [field, value] of Object.entries(given)) {
    if (field === 'max_uses') {
      if (value !== null) faults.push(...numberFaults(`${place}.max_uses`, value, 1, USES_MAX));
      own['max_uses'] = value as number | null;
    } else if (Object.hasOwn(CLASS_TIMES, field)) {
      const isTime = typeof value === 'number' && value >= SECS_MIN && value <= SECS_MAX;
      if (!isTime) faults.push(`${place}.${field}: must be seconds between ${SECS_MIN} and ${SECS_MAX}`);
      own[CLASS_TIMES[field as keyof typeof CLASS_TIMES]] = Number(value) * 1_000;
    } else faults.push(...unknownFaults(place, { [field]: value }, CLASS_FIELDS.join(', ')));
  }
  return own;
}

/** Parses the minimum numbers of idle runners of these classes. */
export function readMinIdle(given: string, classes: readonly ResourceClass[]): Reading<MinIdle> {
  if (given === '') return { values: [], faults: [] };
  const short = !/^[@[{]/.test(given);
  const entries = short ? shortEntries(given) : entriesOf(given, '[{"class": "large", "count": 2}]');
  if (typeof entries === 'string') return { values: [], faults: [entries] };
  if (entries.length > MIN_IDLE_MAX)
    return { values: [], faults: [`must be at most ${MIN_IDLE_MAX} entries, not ${entries.length}`] };
  const known = new Set(classes.map(({ name }) => name));
  const faults: string[] = [];
  const values = entries.map((entry, at) => minIdleOf(entry, `[${at}]`, known, faults));
  return { values, faults };
}

function minIdleOf(entry: Entry, place: string, known: ReadonlySet<string>, faults: string[]): MinIdle {
  const { class: resource_class, usage = 'on-demand', count, schedule = null, time_zone = 'UTC', ...others } = entry;
  faults.push(...unknownFaults(place, others, 'class, usage, count, schedule, time_zone'));
  if (typeof resource_class !== 'string' || !known.has(resource_class))
    faults.push(`${place}.class: must be one of ${[...known].join(', ')}`);
  if (!USAGE_CLASSES.includes(usage as UsageClass))
    faults.push(`${place}.usage: must be one of ${USAGE_CLASSES.join(', ')}`);
  faults.push(...numberFaults(`${place}.count`, count, 0, COUNT_MAX));
  if (typeof time_zone !== 'string') faults.push(`${place}.time_zone: must be a string such as Europe/Berlin`);
  else if (schedule !== null && typeof schedule !== 'string')
    faults.push(`${place}.schedule: must be a cron expression, or null for always`);
  else
    faults.push(
      ...scheduleFaults(schedule ?? '* * * * *', time_zone).map(
        (fault) => `${place}.${fault.replace(/^cron: /, 'schedule: ')}`,
      ),
    );
  return {
    resource_class: String(resource_class),
    usage_class: usage as UsageClass,
    count: Number(count),
    schedule: schedule as string | null,
    time_zone: String(time_zone),
  };
}

/** `large=2,xlarge/spot=1` */
function shortEntries(given: string): Entry[] | string {
  const entries: Entry[] = [];
  for (const item of given.split(',').map((each) => each.trim())) {
    const [, name, usage, count] = /^([^=/\s]+)(?:\/([^=/\s]+))?=(\d{1,9})$/.exec(item) ?? [];
    if (name === undefined)
      return `must be CLASS=COUNT or CLASS/USAGE=COUNT, separated by commas, or JSON; not ${JSON.stringify(item.slice(0, 60))}`;
    entries.push({ class: name, ...(usage === undefined ? {} : { usage }), count: Number(count) });
  }
  return entries;
}

/** Returns the objects of a JSON array, given inline or as a file, or a fault as a string. */
function entriesOf(given: string, example: string): Entry[] | string {
  let text = given;
  let place = '';
  if (given.startsWith('@')) {
    const path = given.slice(1);
    place = `${path}: `;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      return `cannot read ${path}: ${(error as Error).message}`;
    }
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return `${place}must be JSON such as ${example} (${(error as Error).message})`;
  }
  if (!Array.isArray(parsed)) return `${place}must be an array such as ${example}`;
  const wrong = parsed.findIndex((entry) => typeof entry !== 'object' || entry === null || Array.isArray(entry));
  return wrong >= 0 ? `${place}[${wrong}]: must be an object, as in ${example}` : (parsed as Entry[]);
}

function unknownFaults(place: string, others: Entry, known: string): string[] {
  return Object.keys(others).map((name) => `${place}.${name.slice(0, 60)}: unknown field; the fields are ${known}`);
}

function numberFaults(place: string, value: unknown, min: number, max: number): string[] {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
    ? []
    : [`${place}: must be a whole number between ${min} and ${max}`];
}
