import type { ObjectReader } from '../source/port.ts';
import { ArReader } from './ar/reader.ts';
import { ByteSource } from './byte-source.ts';
import { openCompressed } from './compressed-file.ts';
import { ArchiveBudget, checkDepth, type ArchiveContext } from './context.ts';
import { openImageArchive } from './image/reader.ts';
import type { ArchiveFormat, ArchiveReader } from './port.ts';
import { TarReader } from './tar/reader.ts';
import { openZip } from './zip/open.ts';

export { detectArchive, detectUnsupported, DETECT_BYTES } from './detect.ts';

/**
 * Opens an archive that begins at the reader's byte 0. Takes ownership of the reader: it is closed with the archive,
 * or here on rejection, and problems on closing are reported. Rejects with `ObjectFault` (`BudgetFault` for an
 * exhausted budget) if nothing of it can be read.
 */
export async function openArchive(
  format: ArchiveFormat,
  reader: ObjectReader,
  context: ArchiveContext,
): Promise<ArchiveReader> {
  const budget = new ArchiveBudget(context);
  const closeReader = async (): Promise<void> => {
    const problem = await reader.close();
    if (problem !== undefined) budget.report(problem);
    budget.reportRest();
  };
  try {
    checkDepth(context);
    budget.check(context.path, false);
    const source = new ByteSource(reader);
    if (format === 'zip') return await openZip(source, budget, closeReader);
    if (format === 'tar')
      return (
        (await openImageArchive(source, budget, closeReader)) ??
        new TarReader({ source, budget, charged: false, close: closeReader })
      );
    if (format === 'deb') return new ArReader(source, budget, closeReader);
    return await openCompressed(format, source, budget, closeReader);
  } catch (error) {
    await closeReader();
    throw error;
  }
}
