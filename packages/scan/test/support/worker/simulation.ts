import assert from 'node:assert/strict';
import { seededRandom, type Random } from '@heddle/base/random';
import { errorOf } from '@heddle/base/thrown';
import { Discovery } from '../../../src/coordinator/discovery.ts';
import type { AdmittedObject } from '../../../src/coordinator/numbered-object.ts';
import type { Chunk, Detector } from '../../../src/detect/port.ts';
import { BufferPool } from '../../../src/graph/buffer-pool.ts';
import { CountBudget } from '../../../src/graph/count-budget.ts';
import { EnumCursor } from '../../../src/graph/cursor.ts';
import { ObjectFrontier } from '../../../src/graph/frontier.ts';
import { liveCounts } from '../../../src/graph/live.ts';
import type { ObjectDescriptor, ObjectRef } from '../../../src/graph/object.ts';
import { type ArchiveOptions, SCAN_DEFAULTS } from '../../../src/options.ts';
import type { Problem } from '../../../src/result.ts';
import type { ObjectSource } from '../../../src/source/port.ts';
import { RootObject } from '../../../src/worker/object-reading.ts';
import { ObjectScanner } from '../../../src/worker/object-scanner.ts';
import { byteAt, type Later, makeUp, type MadeUpObject, openMadeUp, openMadeUpArchive } from './made-up-objects.ts';

export interface Scenario {
  seed: number;
  objects: number;
  scanners: number;
  /** Permits beyond the minimum. */
  spare_permits: number;
  buffers: number;
  depth: number;
  policy: ArchiveOptions['policy'];
  /** Stops after this many turns; -1: runs to the end. */
  abort_after: number;
}

export interface Outcome {
  /** Bytes scanned, by path; each was scanned once, in order. */
  scanned: Map<string, number>;
  ended: Set<string>;
  /** Ids of all objects that were begun, by path. */
  ids: Map<string, string>;
  problems: Problem[];
  completed: number[];
  peak: number;
  capacity: number;
  tree: MadeUpObject[];
  failedRun: boolean;
}

const OVERLAP = 5;
const CHUNK = 8;
const TURNS_MAX = 200_000;

/**
 * Runs the scanner's own steps on made-up objects; a seed decides which thread runs next, and which promise resolves.
 */
export async function simulate(scenario: Scenario): Promise<Outcome> {
  const simulation = new Simulation(scenario);
  await simulation.run();
  return simulation.outcome;
}

/** Records the id of each object that a scanner admits or adopts. */
class ObservedFrontier extends ObjectFrontier {
  readonly #ids: Map<string, string>;

  constructor(budget: CountBudget, depthMax: number, ids: Map<string, string>) {
    super(budget, depthMax);
    this.#ids = ids;
  }

  override adopt(descriptor: ObjectDescriptor, depth: number): ObjectRef {
    const { source, idx, entry } = descriptor.object_id;
    this.#ids.set(descriptor.path, `${source}/${idx}/${entry}`);
    return super.adopt(descriptor, depth);
  }
}

class Simulation {
  readonly outcome: Outcome;
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #budget: CountBudget;
  readonly #byPath = new Map<string, MadeUpObject>();
  readonly #open = new Set<string>();
  readonly #answers: (() => void)[] = [];
  readonly #queue: AdmittedObject[] = [];
  readonly #scanners: { scanner: ObjectScanner; frontier: ObjectFrontier; waits: boolean }[] = [];
  readonly #discovery: Discovery;
  readonly #liveBefore = liveCounts();
  #aborted = false;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#random = seededRandom(scenario.seed);
    const tree = Array.from({ length: scenario.objects }, (_, i) => makeUp(this.#random, scenario.depth + 1, `o${i}`));
    for (const object of tree) this.#index(object, object.name);
    const capacity = scenario.depth + 1 + scenario.spare_permits;
    this.#budget = CountBudget.create(capacity, scenario.scanners + 1);
    const scanned = new Map<string, number>();
    this.outcome = {
      scanned,
      ended: new Set(),
      ids: new Map(),
      problems: [],
      completed: [],
      peak: 0,
      capacity,
      tree,
      failedRun: false,
    };
    for (let i = 0; i < scenario.scanners; i++) this.#scanners.push(this.#scannerOf(i));
    const frontier = new ObjectFrontier(this.#budget, scenario.depth);
    const from = { position: { source: 0, cursor: 'start' as const } };
    this.#discovery = new Discovery(
      [this.#source(tree)],
      frontier,
      { objectBytesMax: 0, from: from.position, next_index: 0 },
      {
        admitted: (admitted) => void this.#queue.push(admitted),
        problems: () => assert.fail('the listing has no problems'),
        isKnown: () => false,
        boundary: () => undefined,
        isDelivered: () => true,
        isHeld: () => false,
        passes: () => true,
        ready: () => undefined,
        failed: (_, error) => assert.fail(String(error)),
      },
    );
  }

  async run(): Promise<void> {
    for (let turn = 0; ; turn++) {
      assert.ok(turn < TURNS_MAX, 'does not terminate');
      if (turn === this.#scenario.abort_after || this.outcome.failedRun) this.#abort();
      const moves = this.#moves();
      if (moves.length > 0) {
        moves[Math.floor(this.#random.next() * moves.length)]!();
        await Promise.resolve();
        continue;
      }
      // Messages may still be in transit.
      await new Promise(setImmediate);
      if (this.#discovery.executor.isStalled) this.#discovery.executor.wake();
      if (this.#moves().length === 0 || this.#isStuck()) break;
    }
    await Promise.all(this.#scanners.map(({ scanner }) => scanner.closed()));
    this.outcome.peak = this.#budget.peak;
    assert.equal(this.#budget.inUse, 0, 'every permit is free');
    // Compared with the state before, so that one failure does not fail every smaller case too.
    assert.deepEqual(liveCounts(), this.#liveBefore);
    assert.deepEqual([...this.#open], [], 'every reader is closed');
  }

  /** Only waiting steps are left although nothing in flight could wake them. */
  #isStuck(): boolean {
    return this.#aborted && this.#answers.length === 0 && this.#discovery.executor.isEmpty;
  }

  #moves(): (() => void)[] {
    const moves: (() => void)[] = [];
    const { executor } = this.#discovery;
    if (executor.canRun) moves.push(() => executor.runOne());
    if (this.#answers.length > 0) moves.push(() => this.#answerOne());
    this.#scanners.forEach((each, i) => {
      const { scanner } = each;
      if (scanner.executor.canRun) moves.push(() => scanner.executor.runOne());
      else if (scanner.executor.isStalled) this.#waitForPermit(each);
      if (this.#queue.length > 0 && scanner.open < 3) moves.push(() => this.#begin(i));
    });
    return moves;
  }

  #waitForPermit(each: { scanner: ObjectScanner; frontier: ObjectFrontier; waits: boolean }): void {
    if (each.waits) return;
    const fits = each.frontier.whenRefusedFits();
    if (fits === null) return;
    each.waits = true;
    void fits.then(() => {
      each.waits = false;
      each.scanner.executor.wake();
    });
  }

  #begin(i: number): void {
    const { object, reference } = this.#queue.shift()!;
    const { scanner, frontier } = this.#scanners[i]!;
    const descriptor = reference.detach();
    this.#budget.move(0, i + 1, 1);
    const made = this.#byPath.get(object.path)!;
    const opener = { open: () => openMadeUp(made, object.path, this.#later, this.#open), close: () => undefined };
    scanner.begin(new RootObject(object, opener), frontier.adopt(descriptor, 0));
  }

  #abort(): void {
    this.#aborted = true;
    this.#discovery.executor.abort();
    for (const { reference } of this.#queue.splice(0)) reference[Symbol.dispose]();
    for (const { scanner } of this.#scanners) scanner.executor.abort();
  }

  #scannerOf(i: number): { scanner: ObjectScanner; frontier: ObjectFrontier; waits: boolean } {
    const { depth, policy, buffers } = this.#scenario;
    const frontier = new ObservedFrontier(CountBudget.attach(this.#budget.memory, i + 1), depth, this.outcome.ids);
    const allocate = (length: number): Uint8Array => new Uint8Array(length);
    const archives = { ...SCAN_DEFAULTS.archives, policy, depthMax: depth };
    const scanner = new ObjectScanner({
      limits: { chunkBytes: CHUNK, objectBytesMax: 0, archives },
      detector: this.#detector(allocate),
      formats: {
        detect: (path) => (this.#byPath.get(path)!.entries === null ? null : 'tar'),
        detectUnsupported: () => null,
        stubSearchOf: () => null,
        open: (_, __, context) => openMadeUpArchive(this.#byPath.get(context.path)!, context, this.#later, this.#open),
      },
      pool: new BufferPool({ buffers_max: buffers, buffer_bytes: CHUNK + OVERLAP, allocate }),
      frontier,
      sink: {
        part: () => undefined,
        completed: (root) => {
          if (this.#aborted) return;
          this.outcome.completed.push(root.index);
          this.outcome.problems.push(...root.problems);
        },
        failRun: () => void (this.outcome.failedRun = true),
      },
      isExcluded: () => false,
      mark: () => undefined,
      divide: () => null,
      divideStream: () => undefined,
      scanAhead: () => assert.fail('made-up objects are not divided'),
      onReady: () => undefined,
      onDefect: (error) => {
        throw error;
      },
    });
    return { scanner, frontier, waits: false };
  }

  /** Checks that chunks come in order, with the right overlap and bytes. */
  #detector(allocate: (length: number) => Uint8Array): Detector {
    const { scanned, ended } = this.outcome;
    const look = (path: string, chunk: Chunk): [] => {
      const seen = scanned.get(path) ?? 0;
      assert.ok(!ended.has(path), `${path} was scanned twice`);
      assert.equal(chunk.base_offset + chunk.prefix_length, seen, `${path} has gaps`);
      assert.equal(chunk.prefix_length, Math.min(OVERLAP, seen));
      for (let i = 0; i < chunk.length; i++) assert.equal(chunk.bytes[i], byteAt(path, chunk.base_offset + i));
      scanned.set(path, chunk.base_offset + chunk.length);
      if (chunk.last) ended.add(path);
      return [];
    };
    return {
      overlap: OVERLAP,
      allocate,
      begin: (path) => ({
        scan: (chunk) => look(path, chunk),
        adopt: () => null,
        timed_out_rules: [],
        has_dropped: false,
      }),
      beginSegment: () => assert.fail('made-up objects are not divided'),
    };
  }

  readonly #later: Later = (answer) =>
    new Promise((resolve, reject) => {
      this.#answers.push(() => {
        try {
          resolve(answer());
        } catch (error) {
          reject(errorOf(error));
        }
      });
    });

  #answerOne(): void {
    const [answer] = this.#answers.splice(Math.floor(this.#random.next() * this.#answers.length), 1);
    answer!();
  }

  #source(tree: MadeUpObject[]): ObjectSource {
    const enumerate: ObjectSource['enumerate'] = (cursor) => {
      const position = cursor.take();
      const at = position.at === 'continue' && position.state.type === 'offset' ? position.state.offset : 0;
      const objects = tree.slice(at, at + 7).map(({ name, size }) => ({ path: name, locator: name, size_hint: size }));
      const next = at + objects.length;
      const batch = {
        objects,
        problems: [],
        cursor: next >= tree.length ? EnumCursor.done() : EnumCursor.continue({ type: 'offset', offset: next }),
      };
      return at % 2 === 0 ? batch : this.#later(() => batch);
    };
    return { name: 'made up', enumerate, close: () => undefined };
  }

  #index(object: MadeUpObject, path: string): void {
    this.#byPath.set(path, object);
    for (const entry of object.entries ?? []) this.#index(entry, `${path}!${entry.name}`);
  }
}
