import type { ObjectReader } from '../source/port.ts';
import { ArReader } from './ar/reader.ts';
import { ByteSource } from './byte-source.ts';
import { openCompressed } from './compressed-file.ts';
import { ArchiveBudget, checkDepth, type ArchiveContext } from './context.ts';
import { CpioReader } from './cpio/reader.ts';
import { openImageArchive } from './image/reader.ts';
import { OfficeArchive } from './office/office-archive.ts';
import type { ArchiveFormat, ArchiveReader } from './port.ts';
import { openPdf } from './pdf/reader.ts';
import { RarReader } from './rar/reader.ts';
import { RpmReader } from './rpm/reader.ts';
import { openSevenZip } from './sevenzip/reader.ts';
import { SqliteLogReader } from './sqlite/log-reader.ts';
import { openSqlite } from './sqlite/reader.ts';
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
  const source = new ByteSource(reader);
  const closeReader = async (): Promise<void> => {
    source.close();
    const problem = await reader.close();
    if (problem !== undefined) budget.report(problem);
    budget.reportRest();
  };
  try {
    checkDepth(context);
    budget.check(context.path, false);
    return await readerOf(format, source, budget, closeReader);
  } catch (error) {
    await closeReader();
    throw error;
  }
}

async function readerOf(
  format: ArchiveFormat,
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader> {
  switch (format) {
    case 'zip':
      return new OfficeArchive(await openZip(source, budget, close), budget.context.path);
    case 'tar':
      return (
        (await openImageArchive(source, budget, close)) ?? new TarReader({ source, budget, charged: false, close })
      );
    case 'deb':
      return new ArReader(source, budget, close);
    case 'rpm':
      return new RpmReader(source, budget, close);
    case 'cpio':
      return new CpioReader({ source, budget, charged: false, close });
    case '7z':
      return await openSevenZip(source, budget, close);
    case 'pdf':
      return await openPdf(source, budget, close);
    case 'sqlite':
      return await openSqlite(source, budget, close);
    case 'sqlite-wal':
      return new SqliteLogReader(source, budget, close);
    case 'rar':
      return new RarReader(source, budget, close);
    case 'gzip':
    case 'bzip2':
    case 'xz':
    case 'zstd':
    case 'lz4':
    case 'lzma':
      return await openCompressed(format, source, budget, close);
  }
}
