import type { ArchiveBudget } from './context.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The upper half of code page 437, used by zip entries without the UTF-8 flag. */
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

/** Decodes a name: as UTF-8 if valid, else one character per byte, so that different names stay different. */
export function decodeName(bytes: Uint8Array, fallback: 'latin1' | 'cp437'): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const utf8 = text.toString('utf8');
  if (!utf8.includes('\ufffd')) return utf8;
  try {
    return UTF8.decode(bytes);
  } catch {
    const latin1 = text.toString('latin1');
    return fallback === 'latin1' ? latin1 : latin1.replace(/[\x80-\xff]/g, (c) => CP437[c.charCodeAt(0) - 0x80]!);
  }
}

/**
 * Returns an entry's name, truncated to the limit, and its full path. Reports names that escape the target directory
 * or exceed the limit; the entry is scanned anyway, since names are never used as paths.
 */
export function admitName(
  budget: ArchiveBudget,
  bytes: Uint8Array,
  fallback: 'latin1' | 'cp437',
): { name: string; path: string } {
  const { nameBytesMax } = budget.limits;
  const name = decodeName(bytes.length > nameBytesMax ? cut(bytes, nameBytesMax) : bytes, fallback);
  const path = `${budget.context.path}!${name}`;
  if (bytes.length > nameBytesMax) {
    const message = `the entry's name has ${bytes.length} bytes, more than ${nameBytesMax}; it is shown truncated`;
    budget.report({ code: 'name_budget', path, message, extent: 'notice' });
  }
  const fault = unsafeReason(name);
  if (fault !== null)
    budget.report({ code: 'unsafe_name', path, message: `the entry's name ${fault}`, extent: 'notice' });
  return { name, path };
}

/** Truncates to at most `length` bytes without splitting a UTF-8 character. */
function cut(bytes: Uint8Array, length: number): Uint8Array {
  let end = length;
  while (end > length - 4 && end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

function unsafeReason(name: string): string | null {
  if (name.startsWith('/') || name.startsWith('\\') || /^[A-Za-z]:[\\/]/.test(name)) return 'is an absolute path';
  if (name.includes('..') && /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(name)) return 'escapes its directory';
  if (/[\x00-\x1f\x7f]/.test(name)) return 'contains control characters';
  return null;
}
