import type { Logger } from '../../../runtime/log.ts';
import { distrust, nextLife, type TaskLife } from '../task-life.ts';
import type { JournalFiles } from './files.ts';
import { nextFrame, readFrames, type RecordSink } from './frames.ts';
import { segmentName, segmentNumber, type FoundSegment } from './segments.ts';

export interface FoundJournal {
  readonly segments: readonly FoundSegment[];
  /** Tasks by id, in the order in which they were accepted. */
  readonly lives: ReadonlyMap<string, TaskLife>;
}

/**
 * Reads all files, oldest first. What a crash left of a last record does not count. Behind a record that was damaged
 * later the others are read on; of the tasks that waited then it is not known any more whether they were started.
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
        log.warn({ file, torn_bytes: size - at }, 'a file of the journal ends in a torn record, which does not count');
        break;
      }
      const fields = { file, at, damaged_bytes: next - at };
      log.error(
        fields,
        'a file of the journal was damaged; tasks that waited then are not run, since they may have been',
      );
      for (const [id, life] of lives) lives.set(id, distrust(life));
      at = next;
    }
    segments.push({ number, size });
  }
  return { segments, lives };
}
