import type { XmlRpcValue } from './values.ts';

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';
/** Characters that XML 1.0 cannot represent, not even escaped. */
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

export function writeCall(method: string, param: XmlRpcValue): string {
  return `${DECLARATION}<methodCall><methodName>${text(method)}</methodName><params><param>${value(param)}</param></params></methodCall>`;
}

export function writeResponse(answer: XmlRpcValue): string {
  return `${DECLARATION}<methodResponse><params><param>${value(answer)}</param></params></methodResponse>`;
}

export function writeFault(code: number, message: string): string {
  const fault = new Map<string, XmlRpcValue>([
    ['faultCode', code],
    ['faultString', message],
  ]);
  return `${DECLARATION}<methodResponse><fault>${value(fault)}</fault></methodResponse>`;
}

function value(given: XmlRpcValue): string {
  return `<value>${typed(given)}</value>`;
}

function typed(given: XmlRpcValue): string {
  if (typeof given === 'string') return `<string>${text(given)}</string>`;
  if (typeof given === 'number') return `<int>${given}</int>`;
  if (typeof given === 'boolean') return `<boolean>${given ? 1 : 0}</boolean>`;
  if (given instanceof Uint8Array) return `<base64>${base64(given)}</base64>`;
  if (given instanceof Map) return struct(given as ReadonlyMap<string, XmlRpcValue>);
  return `<array><data>${(given as readonly XmlRpcValue[]).map(value).join('')}</data></array>`;
}

function struct(members: ReadonlyMap<string, XmlRpcValue>): string {
  let written = '<struct>';
  for (const [name, member] of members) written += `<member><name>${text(name)}</name>${value(member)}</member>`;
  return `${written}</struct>`;
}

function text(given: string): string {
  return given.replace(UNWRITABLE, '\ufffd').replace(/[&<>\r]/g, (char) => ESCAPES[char]!);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
