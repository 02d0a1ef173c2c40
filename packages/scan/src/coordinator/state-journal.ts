import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

import { HeddleError } from '@heddle/base/errors';
import { messageOf } from '@heddle/base/thrown';
import type { Verification } from '@heddle/base/vocabulary/verdict';
import { addPackedMetrics, emptyMetrics, METRIC_COUNT, mergeMetrics, packMetrics } from '../graph/metrics.ts';
import type { ScanOptions } from '../options.ts';
import type { Finding, Problem, TaskMetrics } from '../result.ts';
import type { Boundary, Position } from './discovery.ts';
import type { KnownResult, RunJournal } from './run-journal.ts';
import { type LinePlace, StateFile } from './state-file.ts';

const VERSION = 1;

/**
 * The lines of a state file, after the header:
 * `{"run":n}` begins the lines of one process; `{"i":object,"f":findings,"q":problems}` is a part of an object's
 * results;
 * `{"x":object}` voids its parts, as it is read again; `[object, checksum of its path, metrics...]` ends it;
 * `{"b":object,...}` states that all objects before that one are done, and where listing resumes after them;
 * `{"v":key,"w":verification}` is what a provider said of a secret, by the key of the request;
 * `{"complete":true}` ends the whole scan.
 */
type Line =
  | { heddle_scan_state: number; request: string }
  | { run: number }
  | { i: number; f: Finding[]; q: Problem[] }
  | { b: number; source: number; cursor: Position['cursor']; metrics: number[] }
  | { x: number }
  | { v: string; w: Verification }
  | { complete: true }
  | number[];

/** An object that an earlier run completed after its last boundary. */
interface DoneObject {
  pathSum: number;
  metrics: TaskMetrics;
  parts: readonly LinePlace[];
}

/** The state from which a run resumes: where to list, and the counts so far. */
export interface Checkpoint {
  position: Position;
  next_index: number;
  metrics: TaskMetrics;
}

/** The journal of a scan: the record of an interrupted run, and the writer of the run that resumes it. */
export class StateJournal implements RunJournal {
  readonly #file: StateFile;
  readonly #done = new Map<number, DoneObject>();
  /** Parts of objects before the checkpoint, in order of the objects. */
  readonly #replayed: LinePlace[] = [];
  readonly #boundaries: Boundary[] = [];
  readonly #verifications = new Map<string, Verification>();
  #run = 0;
  #checkpoint: Checkpoint = { position: { source: 0, cursor: 'start' }, next_index: 0, metrics: emptyMetrics() };

  private constructor(file: StateFile) {
    this.#file = file;
  }

  /**
   * Opens the state of the scan that the options describe. The file of a completed scan is started over. Throws
   * CONFLICT if the file belongs to another scan or is not a state file.
   */
  static open(path: string, options: ScanOptions): StateJournal {
    const file = openFile(path);
    const journal = new StateJournal(file);
    try {
      const request = requestOf(options);
      const isNew = file.isEmpty || !journal.#load(path, request);
      if (isNew) {
        file.truncate(0);
        file.append(JSON.stringify({ heddle_scan_state: VERSION, request } satisfies Line));
        journal.#forget();
      }
      journal.#run += 1;
      journal.#write({ run: journal.#run });
      file.flush();
    } catch (error) {
      file.close();
      throw error;
    }
    return journal;
  }

  get checkpoint(): Checkpoint {
    return this.#checkpoint;
  }

  /** What providers said in earlier runs. */
  get verifications(): ReadonlyMap<string, Verification> {
    return this.#verifications;
  }

  /** Yields the findings before the checkpoint, in order. */
  *replay(): Generator<{ findings: readonly Finding[]; problems: readonly Problem[] }> {
    for (const place of this.#replayed) yield this.#part(place);
  }

  part(index: number, findings: readonly Finding[], problems: readonly Problem[]): void {
    this.#write({ i: index, f: [...findings], q: [...problems] });
  }

  restart(index: number): void {
    this.#write({ x: index });
  }

  completed(index: number, path: string, metrics: Float64Array | null): void {
    this.#write([index, crc32(path), ...(metrics ?? new Float64Array(METRIC_COUNT))]);
  }

  verified(key: string, verification: Verification): void {
    this.#write({ v: key, w: verification });
    this.#file.flush();
  }

  boundary(boundary: Boundary): void {
    this.#boundaries.push(boundary);
  }

  advanced(end: number): void {
    while (this.#boundaries.length > 0 && this.#boundaries[0]!.end <= end) {
      const { end: b, source, cursor, metrics } = this.#boundaries.shift()!;
      const packed = new Array<number>(METRIC_COUNT).fill(0);
      packMetrics(metrics, packed, 0);
      this.#write({ b, source, cursor, metrics: packed });
    }
  }

  known(index: number, path: string): KnownResult | null {
    const done = this.#done.get(index);
    if (done === undefined) return null;
    this.#done.delete(index);
    // The tree has changed: the results belong to another object.
    if (done.pathSum !== crc32(path)) return null;
    const parts = done.parts.map((place) => this.#part(place));
    return {
      findings: parts.flatMap(({ findings }) => findings),
      problems: parts.flatMap(({ problems }) => problems),
      metrics: done.metrics,
    };
  }

  flush(): void {
    this.#file.flush();
  }

  complete(): void {
    this.#write({ complete: true });
    this.#file.flush();
  }

  close(): void {
    this.#file.close();
  }

  #write(line: Line): void {
    this.#file.append(JSON.stringify(line));
  }

  #part(place: LinePlace): { findings: readonly Finding[]; problems: readonly Problem[] } {
    const { f, q } = JSON.parse(this.#file.read(place)) as { f: Finding[]; q: Problem[] };
    return { findings: f, problems: q };
  }

  /** Returns false if the scan had completed. */
  #load(path: string, request: string): boolean {
    /** Parts of unfinished objects of the run being read. */
    const open = new Map<number, LinePlace[]>();
    let end = 0;
    let isComplete = false;
    for (const { text, place } of this.#file.lines()) {
      const line = parseLine(text);
      if (end === 0) checkHeader(path, line, request);
      // After a power loss the end of the file may be garbage: everything after it is ignored.
      if (line === null) break;
      end = place.offset + place.length + 1;
      if (Array.isArray(line)) this.#objectDone(line, open);
      else if ('i' in line) open.set(line.i, [...(open.get(line.i) ?? []), place]);
      else if ('x' in line) open.delete(line.x);
      else if ('b' in line) this.#fold(line);
      else if ('v' in line) this.#verifications.set(line.v, line.w);
      else if ('run' in line) {
        this.#run = line.run;
        open.clear();
      } else if ('complete' in line) isComplete = true;
    }
    if (end === 0) checkHeader(path, null, request);
    this.#file.truncate(end);
    return !isComplete;
  }

  #objectDone(row: number[], open: Map<number, LinePlace[]>): void {
    const index = row[0]!;
    const metrics = emptyMetrics();
    addPackedMetrics(metrics, Float64Array.from(row), 2);
    this.#done.set(index, { pathSum: row[1]!, metrics, parts: open.get(index) ?? [] });
    open.delete(index);
  }

  #fold(line: { b: number; source: number; cursor: Position['cursor']; metrics: number[] }): void {
    const { metrics } = this.#checkpoint;
    addPackedMetrics(metrics, Float64Array.from(line.metrics), 0);
    for (let index = this.#checkpoint.next_index; index < line.b; index++) {
      const done = this.#done.get(index);
      if (done === undefined) continue;
      mergeMetrics(metrics, done.metrics);
      this.#replayed.push(...done.parts);
      this.#done.delete(index);
    }
    this.#checkpoint = { position: { source: line.source, cursor: line.cursor }, next_index: line.b, metrics };
  }

  #forget(): void {
    this.#done.clear();
    this.#verifications.clear();
    this.#replayed.length = 0;
    this.#run = 0;
    this.#checkpoint = { position: { source: 0, cursor: 'start' }, next_index: 0, metrics: emptyMetrics() };
  }
}

function openFile(path: string): StateFile {
  try {
    return new StateFile(path);
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    const why = messageOf(error);
    throw new HeddleError('VALIDATION_FAILED', `the state file ${path} cannot be used: ${why}`, { cause: error });
  }
}

function parseLine(text: string): Line | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? (value as Line) : null;
  } catch {
    return null;
  }
}

function checkHeader(path: string, line: Line | null, request: string): void {
  if (line === null || Array.isArray(line) || !('heddle_scan_state' in line) || line.heddle_scan_state !== VERSION)
    throw new HeddleError('CONFLICT', `${path} is not a scan state file; name another file`);
  if (line.request !== request)
    throw new HeddleError(
      'CONFLICT',
      `${path} is the state of a scan with other sources, rules or options; ` +
        'name another file, or remove it to start over',
    );
}

/** Hashes all options but those that only affect speed: they must match for a scan to resume. */
function requestOf(options: ScanOptions): string {
  const { threads: _threads, chunkBytes: _bytes, frontierCapacity: _capacity, verify, ...asked } = options;
  // Only scans that verify collect what that needs; how they ask may change.
  const verifies = verify === null ? {} : { verifies: true };
  return createHash('sha256')
    .update(JSON.stringify({ ...asked, ...verifies }))
    .digest('hex');
}
