import type { FaultList } from '../validation/explain.ts';
import { memberPath } from '../json/path.ts';
import type { NewActionDto } from '../wire/action.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that belong to the connection, not to the message. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Checks addresses once each, however many tasks share one. */
export class ActionCheck {
  readonly #ssrf: (url: string) => string | null;
  readonly #urlFaults = new Map<string, string | null>();

  constructor(ssrf: (url: string) => string | null) {
    this.#ssrf = ssrf;
  }

  /** What a schema cannot say of a webhook: its address and its headers. */
  check(action: NewActionDto, at: string, faults: FaultList): void {
    const { url, headers } = action.params;
    let fault = this.#urlFaults.get(url);
    if (fault === undefined) {
      fault = this.#urlFault(url);
      this.#urlFaults.set(url, fault);
    }
    if (fault !== null) faults.add(`${at}.params.url`, fault);
    if (headers) checkHeaders(headers, `${at}.params.headers`, faults);
  }

  #urlFault(url: string): string | null {
    const parsed = URL.parse(url);
    if (parsed === null) return 'must be an absolute URL, such as https://example.com/hook';
    if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') return 'must start with http:// or https://';
    if (parsed.username !== '' || parsed.password !== '') {
      return 'must not carry a user or password; send an Authorization header';
    }
    return this.#ssrf(url);
  }
}

function checkHeaders(headers: Record<string, unknown>, at: string, faults: FaultList): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const path = memberPath(at, name);
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(name) || name.length > 255) faults.add(path, 'is not a valid header name');
    else if (CONNECTION_HEADERS.has(lower)) faults.add(path, 'is set by the connection; leave it out');
    else if (seen.has(lower)) faults.add(path, 'is given more than once (names of headers ignore case); keep one');
    else if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      faults.add(path, 'must be a string of printable Latin-1 characters without line breaks');
    }
    seen.add(lower);
  }
}
