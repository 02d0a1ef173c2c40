import type { Logger } from '../../../runtime/log.ts';
import { nextLife, type TaskLife } from '../task-life.ts';
import type { JournalFiles } from './files.ts';
import { readFrames } from './frames.ts';
import { segmentName, segmentNumber, type FoundSegment } from './segments.ts';

export interface FoundJournal {
  readonly segments: readonly FoundSegment[];
  /** Tasks by id, in the order in which they were accepted. */
  readonly lives: ReadonlyMap<string, TaskLife>;
}

/** Reads all files, oldest first. What a crash left of a last record does not count. */
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
    const whole = readFrames(bytes, number, (record, _body, location) => {
      const ids = 'ids' in record ? record.ids : [record.id];
      for (const id of ids) {
        const life = nextLife(lives.get(id), record, location);
        if (life === undefined) lives.delete(id);
        else lives.set(id, life);
      }
    });
    if (whole < size) {
      const fields = { file: segmentName(number), torn_bytes: size - whole };
      log.warn(fields, 'a file of the journal ends in a torn record, which does not count');
    }
    segments.push({ number, size });
  }
  return { segments, lives };
}
