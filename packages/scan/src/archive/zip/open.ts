import type { ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import type { ArchiveReader } from '../port.ts';
import { ObjectFault } from '../../source/port.ts';
import { ZipDirectoryReader } from './directory-reader.ts';
import { findDirectory } from './end-record.ts';
import { ZipStreamReader } from './stream-reader.ts';

/** Opens a zip file by its directory if the reader supports random access and there is one, else entry by entry. */
export async function openZip(
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader> {
  if (!source.canSeek || source.reader.size < 0) return new ZipStreamReader(source, budget, close);
  const { path } = budget.context;
  const directory = await findDirectory(source);
  if (directory?.is_split === true) {
    const message = 'the archive is split over several files, which is not supported';
    throw new ObjectFault({ code: 'unsupported_archive', path, message, extent: 'skipped' });
  }
  if (directory !== null) return new ZipDirectoryReader(source, directory, budget, close);
  const message = 'the archive has no central directory; its entries were read one by one, as far as possible';
  budget.report({ code: 'malformed_archive', path, message, extent: 'partial' });
  source.seek(0);
  return new ZipStreamReader(source, budget, close);
}
