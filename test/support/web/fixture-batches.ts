import type { FixtureBatch, FixtureLink, FixtureTask } from './fixture-server.ts';

const START_MS = Date.UTC(2026, 4, 4, 10, 0, 0);

/** An id of the right form that shows the batch and the position in it. */
export function fixtureId(batch: number, place: number): string {
  return `01970000-${hex(batch, 4)}-7000-8000-${hex(place, 12)}`;
}

function hex(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}

function fixtureTask(
  batch: number,
  place: number,
  name: string,
  status: string,
  more: Partial<FixtureTask> = {},
): FixtureTask {
  const started = ['Running', 'Success', 'Failure'].includes(status);
  const ended = ['Success', 'Failure', 'Canceled'].includes(status);
  const at = (ms: number): string => new Date(START_MS + ms).toISOString();
  return {
    id: fixtureId(batch, place),
    name,
    kind: 'hash',
    status,
    timeout: 3600,
    metadata: { place },
    created_at: at(0),
    started_at: started ? at(1000 + place) : null,
    ended_at: ended ? at(5200 + 3 * place) : null,
    last_updated: at(ended ? 5200 + 3 * place : 0),
    success: 0,
    failures: 0,
    expected_count: null,
    failure_reason: null,
    batch_id: fixtureId(batch, 0),
    ...more,
  };
}

function fixtureBatch(batch: number, name: string | null, tasks: FixtureTask[], links: FixtureLink[]): FixtureBatch {
  const created_at = new Date(START_MS + batch * 1000).toISOString();
  return { id: fixtureId(batch, 0), name, tasks, links, created_at, ended_at: null };
}

/** A small analysis of a repository, with a task in every state and an edge of either kind. */
export function everyState(batch: number): FixtureBatch {
  const named: [name: string, kind: string, status: string, more?: Partial<FixtureTask>][] = [
    ['Inventory', 'inventory', 'Success', { success: 412, expected_count: 412 }],
    ['Hash src', 'hash', 'Success'],
    ['Hash test', 'hash', 'Running', { success: 61, failures: 2, expected_count: 120 }],
    ['Hash docs', 'hash', 'Failure', { failure_reason: 'on_start answered 503 after 5 tries: <b>overloaded</b>' }],
    ['Sizes by language', 'sizes', 'Claimed'],
    ['Licences of all packages, with their texts', 'licences', 'Pending'],
    ['Duplicates', 'duplicates', 'Paused'],
    ['Aggregate', 'aggregate', 'Waiting'],
    ['Upload', 'upload', 'Canceled'],
    ['Report', 'report', 'Waiting'],
  ];
  const tasks = named.map(([name, kind, status, more], i) =>
    fixtureTask(batch, i + 1, name, status, { kind, ...more }),
  );
  const link = (parent: number, child: number, requires_success = true): FixtureLink => ({
    parent_id: fixtureId(batch, parent),
    child_id: fixtureId(batch, child),
    requires_success,
  });
  const links = [
    ...[2, 3, 4, 5, 6].map((child) => link(1, child)),
    ...[2, 3].map((parent) => link(parent, 7)),
    ...[2, 3, 5].map((parent) => link(parent, 8)),
    link(4, 8, false),
    link(4, 9),
    link(6, 10, false),
    link(8, 10),
    link(7, 10),
  ];
  return fixtureBatch(batch, 'Analyse the repository', tasks, links);
}

/** Names, metadata and reasons that would run as scripts if they were treated as HTML. */
export function hostile(batch: number): FixtureBatch {
  const image = '<img src=x onerror="window.__attacked=true">';
  const script = '<script>window.__attacked=true</script>';
  const task = fixtureTask(batch, 1, image, 'Failure', {
    kind: script,
    metadata: { note: image, '</pre><script>': script },
    failure_reason: image,
  });
  return fixtureBatch(batch, `${image} batch`, [task], []);
}

const CYCLE = ['Success', 'Success', 'Success', 'Success', 'Running', 'Failure', 'Pending', 'Waiting', 'Waiting'];

/** A wide, layered graph: `count` tasks in ranks of `width`, each with one or two parents in the rank before. */
export function layeredBatch(batch: number, count: number, width: number): FixtureBatch {
  const tasks: FixtureTask[] = [];
  const links: FixtureLink[] = [];
  for (let i = 0; i < count; i += 1) {
    tasks.push(fixtureTask(batch, i + 1, `Task ${i}`, CYCLE[(i * 7) % CYCLE.length]!));
    if (i < width) continue;
    const above = i - width;
    const parents = new Set([above, i % 7 < 4 ? above - (above % width) + ((above + 37) % width) : above]);
    for (const parent of parents) {
      links.push({ parent_id: tasks[parent]!.id, child_id: tasks[i]!.id, requires_success: i % 9 !== 0 });
    }
  }
  return fixtureBatch(batch, `${count} tasks`, tasks, links);
}

export function emptyBatch(batch: number): FixtureBatch {
  return fixtureBatch(batch, null, [], []);
}
