import type { Logger } from '@heddle/base/log';
import { distrust, nextLife, type TaskLife } from '../task-life.ts';
import type { JournalFiles } from './files.ts';
import { nextFrame, readFrames, type RecordSink } from './frames.ts';
import { segmentName, segmentNumber, type FoundSegment } from './segments.ts';

export interface FoundJournal {
  readonly segments: readonly FoundSegment[];
  /** Tasks by id, in order of acceptance. */
  readonly lives: ReadonlyMap<string, TaskLife>;
}

/**
 * Reads all files, oldest first. A torn last record is ignored. Reading continues after a damaged record, but then it
 * is unknown whether the tasks waiting at that point were started.
 */
export async function readJournal(files: JournalFiles, log: Logger): Promise<FoundJournal> {
  const numbers = (await files.list())
    .map(segmentNumber)
    .filter((number) => number !== null)
    .sort((one, other) => one - other);
  const lives = new Map<string, TaskLife>();
  const segments: FoundSegment[] = [];
  for (const number of numbers) {
    const size = await files.size(segmentName(number));
    const bytes = await files.read(segmentName(number), 0, size);
    const note: RecordSink = (record, _body, location) => {
      const ids = 'ids' in record ? record.ids : [record.id];
      for (const id of ids) {
        const life = nextLife(lives.get(id), record, location);
        if (life === undefined) lives.delete(id);
        else lives.set(id, life);
      }
    };
    const file = segmentName(number);
    for (let at = readFrames(bytes, number, note); at < size; at = readFrames(bytes, number, note, at)) {
      const next = nextFrame(bytes, at + 1);
      if (next === null) {
        log.warn({ file, torn_bytes: size - at }, 'journal file ends in a torn record; ignoring it');
        break;
      }
      const fields = { file, at, damaged_bytes: next - at };
      log.error(fields, 'journal file is damaged; not running tasks that waited then, because they may have run');
      for (const [id, life] of lives) lives.set(id, distrust(life));
      at = next;
    }
    segments.push({ number, size });
  }
  return { segments, lives };
}
