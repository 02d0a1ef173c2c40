import { CodeFault } from '../code-fault.ts';
import { utf8 } from './text.ts';

/** Parses a pax header, `<length> <key>=<value>\n` records; the last of repeated keys wins. @throws CodeFault */
export function paxRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  let at = 0;
  while (at < content.length) {
    const space = content.indexOf(0x20, at);
    const digits = space < 0 ? '' : content.toString('latin1', at, space);
    const end = /^[1-9]\d{0,5}$/.test(digits) ? at + Number(digits) : 0;
    const equals = content.indexOf(0x3d, space);
    if (end > content.length || equals < 0 || equals >= end || content[end - 1] !== 0x0a) {
      throw new CodeFault('the archive has an invalid extended header');
    }
    records.set(utf8(content.subarray(space + 1, equals)), utf8(content.subarray(equals + 1, end - 1)));
    at = end;
  }
  return records;
}
