import { isCpioHead } from './cpio/reader.ts';
import { isLzmaAlone } from './lzma-alone.ts';
import type { ArchiveFormat } from './port.ts';
import { hasTarMagic, isTarHead } from './tar/header.ts';

/** Bytes from the start of an object that detection needs. */
export const DETECT_BYTES = 512;

/** Extensions read as zip files whatever precedes their first entry. */
const ZIP_NAME =
  /\.(?:zip|jar|war|ear|aar|apk|apks|ipa|xpi|crx|vsix|whl|egg|nupkg|docx|docm|dotx|xlsx|xlsm|xltx|pptx|pptm|potx|odt|ods|odp|odg|epub|kmz|sfx|pyz|cbz)$/i;

const MAGIC: readonly (readonly [ArchiveFormat, readonly number[]])[] = [
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['zip', [0x50, 0x4b, 0x05, 0x06]],
  // The marker of an archive that was meant to be split but was not.
  ['zip', [0x50, 0x4b, 0x07, 0x08, 0x50, 0x4b, 0x03, 0x04]],
  ['zip', [0x50, 0x4b, 0x30, 0x30, 0x50, 0x4b, 0x03, 0x04]],
  ['gzip', [0x1f, 0x8b, 0x08]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['7z', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
  ['rar', [0x52, 0x61, 0x72, 0x21, 0x1a, 0x07, 0x00]],
  ['rar', [0x52, 0x61, 0x72, 0x21, 0x1a, 0x07, 0x01, 0x00]],
  // `SQLite format 3` and a zero.
  ['sqlite', [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20, 0x66, 0x6f, 0x72, 0x6d, 0x61, 0x74, 0x20, 0x33, 0x00]],
  ['sqlite-wal', [0x37, 0x7f, 0x06, 0x82]],
  ['sqlite-wal', [0x37, 0x7f, 0x06, 0x83]],
  ['pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ['rpm', [0xed, 0xab, 0xee, 0xdb]],
  ['lz4', [0x04, 0x22, 0x4d, 0x18]],
  ['lz4', [0x02, 0x21, 0x4c, 0x18]],
  // The beginning of any `ar` archive, and of the name of its first entry.
  ['deb', [0x21, 0x3c, 0x61, 0x72, 0x63, 0x68, 0x3e, 0x0a, 0x64, 0x65, 0x62, 0x69, 0x61, 0x6e]],
];

/** Formats that are recognized but not supported. */
const UNSUPPORTED: readonly (readonly [string, readonly number[]])[] = [
  ['lzip', [0x4c, 0x5a, 0x49, 0x50, 0x01]],
  ['compress (.Z)', [0x1f, 0x9d, 0x90]],
  ['cabinet', [0x4d, 0x53, 0x43, 0x46, 0x00, 0x00, 0x00, 0x00]],
  ['LZO', [0x89, 0x4c, 0x5a, 0x4f, 0x00, 0x0d, 0x0a]],
  ['Snappy', [0xff, 0x06, 0x00, 0x00, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59]],
  ['SquashFS', [0x68, 0x73, 0x71, 0x73]],
  ['XAR', [0x78, 0x61, 0x72, 0x21]],
];

/**
 * Returns the format of an object from its first bytes (`DETECT_BYTES` of them, or all there are), and from its name
 * only if they are inconclusive: a zip file may begin with anything. Returns null if it is not a supported archive.
 */
export function detectArchive(path: string, head: Uint8Array): ArchiveFormat | null {
  for (const [format, magic] of MAGIC) if (startsWith(head, magic)) return format;
  if (isBzip2(head)) return 'bzip2';
  if (isCpioHead(head)) return 'cpio';
  if (isTarHead(head) || hasTarMagic(head)) return 'tar';
  if (isSkippableFrame(head) && /\.(?:zst|zstd|tzst)$/i.test(path)) return 'zstd';
  if (isSkippableFrame(head) && /\.lz4$/i.test(path)) return 'lz4';
  // A tar file without entries is all zeros.
  if (head.length === DETECT_BYTES && /\.tar$/i.test(path) && head.every((byte) => byte === 0)) return 'tar';
  if (ZIP_NAME.test(path) && head.length >= 22) return 'zip';
  if (isLzmaAlone(head) || (/\.(?:lzma|tlz)$/i.test(path) && isAnyLzma(head))) return 'lzma';
  return null;
}

/** Returns the name of a recognized but unsupported archive format; null for everything else. */
export function detectUnsupported(head: Uint8Array): string | null {
  if (isSkippableFrame(head)) return 'LZ4 or Zstandard after a skippable frame';
  if (isLha(head)) return 'LHA';
  return UNSUPPORTED.find(([, magic]) => startsWith(head, magic))?.[0] ?? null;
}

/** Accepts any parameters if the name claims LZMA: less than 5 * 9 * 5, and a zero. */
function isAnyLzma(head: Uint8Array): boolean {
  return head.length >= 14 && head[0]! < 225 && head[13] === 0;
}

/** Matches `-lh5-` and similar methods after the size and checksum of the header. */
function isLha(head: Uint8Array): boolean {
  return (
    head[2] === 0x2d &&
    /^-l[hz][0-9a-z]-$/.test(Buffer.from(head.subarray(2, 7)).toString('latin1')) &&
    head[20] !== undefined &&
    head[20] <= 3
  );
}

function startsWith(head: Uint8Array, magic: readonly number[]): boolean {
  // Of nearly all objects, the first byte says it.
  return head[0] === magic[0] && head.length >= magic.length && magic.every((byte, i) => head[i] === byte);
}

/** Matches `BZh`, a level, and the magic of a block or of the end: digits of pi or of its square root. */
function isBzip2(head: Uint8Array): boolean {
  if (!startsWith(head, [0x42, 0x5a, 0x68]) || head[3]! < 0x31 || head[3]! > 0x39) return false;
  const mark = head.subarray(4);
  return (
    startsWith(mark, [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]) || startsWith(mark, [0x17, 0x72, 0x45, 0x38, 0x50, 0x90])
  );
}

function isSkippableFrame(head: Uint8Array): boolean {
  return (head[0]! & 0xf0) === 0x50 && startsWith(head.subarray(1), [0x2a, 0x4d, 0x18]);
}
