import { backoffMs } from '@heddle/base/backoff';
import { systemClock } from '@heddle/base/clock';
import { forgeEnvironment } from '@heddle/base/forge-environment';
import { type Answer, sendRequest } from '@heddle/base/outbound/send';
import { STRICT_SSRF_POLICY } from '@heddle/base/outbound/ssrf';
import { systemRandom } from '@heddle/base/random';

import { OutboundAgents } from '../../outbound/agents.ts';
import { proxiesOf } from '../../outbound/proxies.ts';
import { FORGE_NAMES, FORGE_TOKENS, type ForgeAddress, type ForgeType } from './address.ts';
import { rateLimitWaitMs } from './rate-limit.ts';

const ANSWER_TIMEOUT_MS = 60_000;
/** The largest pages are those of 50 issues of 1 MiB each. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const REDIRECTS_MAX = 5;
const TRIES_MAX = 4;
const RETRY = { base_ms: 1000, factor: 3, max_ms: 20_000, jitter: 0.5 };
/** Providers count from zero again after an hour. */
const RATE_LIMIT_WAIT_MAX_MS = 65 * 60_000;
const RATE_LIMIT_WAITS_MAX = 10;

export interface Page {
  body: unknown;
  /** Path and query of the next page, below the address of the API; null after the last. */
  next: string | null;
}

/** An answer that concerns one request only, such as 404. */
export class ForgeRefusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = 'ForgeRefusal';
    this.status = status;
  }
}

/** No further request can succeed. */
export class ForgeOutage extends Error {}

/** Reads from the API of a forge. The token goes to the origin of the API only, whatever that redirects to. */
export class ForgeClient {
  readonly address: ForgeAddress;
  readonly #type: ForgeType;
  readonly #agents: OutboundAgents;
  readonly #token: string | null;
  readonly #closed = new AbortController();
  #waitsUntil: number | null = null;

  constructor(type: ForgeType, address: ForgeAddress) {
    this.#type = type;
    this.address = address;
    const environment = forgeEnvironment();
    this.#token = tokenOf(type, environment[FORGE_TOKENS[type]]);
    const proxies = proxiesOf(environment);
    if (proxies === null) throw new Error('HTTPS_PROXY is not an http or https address; unset it, or set it to one');
    // The user named these hosts, so they may be internal; addresses of metadata services stay blocked.
    const allowedHosts = [new URL(address.api).hostname, new URL(address.web).hostname];
    const words = { callers: 'scans', blockList: 'the list of blocked host names', remedy: 'name another server' };
    const policy = { ...STRICT_SSRF_POLICY, allowedHosts, words };
    this.#agents = new OutboundAgents({ policy, proxy: null, environment: proxies });
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** What the client waits for; null if nothing keeps it. */
  get status(): string | null {
    if (this.#waitsUntil === null) return null;
    return `waiting until ${timeOf(this.#waitsUntil)} for the rate limit of ${new URL(this.address.api).host}`;
  }

  /** Authorization of requests for repositories; null without a token. */
  get gitAuthorization(): string | null {
    if (this.#token === null) return null;
    const user = this.#type === 'github' ? 'x-access-token' : 'oauth2';
    return `Basic ${Buffer.from(`${user}:${this.#token}`).toString('base64')}`;
  }

  /** Returns the proxy that leads to the repositories; null if none does. */
  proxyOf(url: string): string | null {
    return this.#agents.proxyOf(new URL(url));
  }

  /**
   * Requests a page of the API.
   *
   * @param path with its query, below the address of the API
   * @throws ForgeRefusal if this request is refused, ForgeOutage if all are, or an Error
   */
  async get(path: string): Promise<Page> {
    const url = new URL(`${this.address.api}${path}`);
    const accept = this.#type === 'github' ? 'application/vnd.github+json' : 'application/json';
    const version: Record<string, string> = this.#type === 'github' ? { 'x-github-api-version': '2022-11-28' } : {};
    const bearer: Record<string, string> = this.#token === null ? {} : { authorization: `Bearer ${this.#token}` };
    const answer = await this.#answerOf(url, { accept, ...version, ...bearer });
    if (answer.status !== 200) throw this.#refusalOf(answer.status, url);
    if (answer.cut === 'size') throw new Error(`${placeOf(url)} answers with more than 64 MiB`);
    return { body: parsed(answer, url), next: this.#nextOf(answer, url) };
  }

  /** Returns the status of a repository for git: 200 if it can be cloned. */
  async repositoryStatus(url: string): Promise<number> {
    const authorization = this.gitAuthorization;
    const headers: Record<string, string> = authorization === null ? {} : { authorization };
    return (await this.#answerOf(new URL(`${url}/info/refs?service=git-upload-pack`), headers)).status;
  }

  /** Aborts what is under way. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#agents.close();
  }

  /** Requests until there is an answer that is neither a redirect nor one to wait for. */
  async #answerOf(first: URL, headers: Record<string, string>): Promise<Answer> {
    let url = first;
    for (let redirects = 0, tries = 1, waits = 0; ;) {
      const answer = await this.#send(url, headers);
      if ('failure' in answer || answer.status >= 500 || answer.cut === 'time' || answer.cut === 'broken') {
        if (tries === TRIES_MAX || this.#closed.signal.aborted) throw this.#failureOf(answer, url);
        await systemClock.sleep(
          backoffMs(RETRY, tries, () => systemRandom.next()),
          this.#closed.signal,
        );
        tries += 1;
        continue;
      }
      const waitMs = rateLimitWaitMs(answer, systemClock.now());
      if (waitMs !== null) {
        waits += 1;
        await this.#waitForLimit(waitMs, waits);
        continue;
      }
      if (!REDIRECTS.has(answer.status)) return answer;
      redirects += 1;
      if (redirects > REDIRECTS_MAX) throw new Error(`${placeOf(first)} redirects too often`);
      url = redirectOf(answer, url);
    }
  }

  async #send(url: URL, headers: Record<string, string>): ReturnType<typeof sendRequest> {
    const way = this.#agents.of(url);
    if ('refusal' in way) throw new ForgeOutage(way.refusal);
    const outbound = { url, method: 'GET' as const, headers: { ...headers, 'user-agent': 'heddle-scan' }, body: null };
    const limits = { limitMs: ANSWER_TIMEOUT_MS, clock: systemClock, stop: this.#closed.signal };
    const answer = await sendRequest(outbound, way.agent, { ...limits, answerBytesMax: ANSWER_BYTES_MAX });
    if ('failure' in answer && answer.failure === 'refused') throw new ForgeOutage(answer.error);
    return answer;
  }

  async #waitForLimit(waitMs: number, waits: number): Promise<void> {
    const { host } = new URL(this.address.api);
    const until = systemClock.now() + waitMs;
    if (waitMs > RATE_LIMIT_WAIT_MAX_MS || waits > RATE_LIMIT_WAITS_MAX)
      throw new ForgeOutage(`${host} limits the rate of requests until ${timeOf(until)}; ${this.#limitAdvice}`);
    this.#waitsUntil = until;
    await systemClock.sleep(waitMs, this.#closed.signal);
    this.#waitsUntil = null;
    if (this.#closed.signal.aborted) throw new ForgeOutage('the scan was stopped');
  }

  get #limitAdvice(): string {
    const token = FORGE_TOKENS[this.#type];
    return this.#token === null ? `set ${token}, which raises the limit` : 'resume the scan then, with --state FILE';
  }

  #failureOf(answer: Awaited<ReturnType<typeof sendRequest>>, url: URL): Error {
    if ('failure' in answer) return new Error(`${url.host} did not answer: ${answer.error}`);
    if (answer.cut !== null) return new Error(`${url.host} broke off its answer`);
    return new Error(`${placeOf(url)} answered with HTTP ${answer.status}`);
  }

  #refusalOf(status: number, url: URL): Error {
    const token = FORGE_TOKENS[this.#type];
    const name = FORGE_NAMES[this.#type];
    if (status === 401) {
      const why =
        this.#token === null ? `${name} wants a token; set ${token}` : `${name} refuses the token in ${token}`;
      return new ForgeOutage(`${url.host}: ${why}`);
    }
    const advice =
      this.#token === null ? `set ${token} if it is not public` : `check what the token in ${token} may read`;
    const suffix = status === 403 || status === 404 ? `; ${advice}` : '';
    return new ForgeRefusal(`${placeOf(url)} answered with HTTP ${status}${suffix}`, status);
  }

  #nextOf({ headers }: Answer, url: URL): string | null {
    const link = [headers['link'] ?? []].flat().join(', ');
    const target = /<([^>]*)>\s*;[^,<]*\brel="?next\b/.exec(link)?.[1];
    if (target === undefined) return null;
    const next = URL.parse(target, url.href);
    const path = next === null ? '' : `${next.origin}${next.pathname}`;
    if (next === null || !path.startsWith(`${this.address.api}/`))
      throw new Error(`${placeOf(url)} names a next page outside ${this.address.api}; it is not requested`);
    return `${path.slice(this.address.api.length)}${next.search}`;
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A renamed repository redirects within its server. A token must not reach another one, nor travel without TLS. */
function redirectOf({ headers }: Answer, url: URL): URL {
  const target = URL.parse(String(headers['location'] ?? ''), url.href);
  if (target?.origin === url.origin) return target;
  const where = target === null ? 'nowhere' : `to ${target.origin}`;
  throw new Error(`${placeOf(url)} redirects ${where}, which is not followed`);
}

function parsed({ text }: Answer, url: URL): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${placeOf(url)} did not answer with JSON; check that it is the address of an API`, {
      cause: error,
    });
  }
}

/** An address without its query. */
function placeOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function timeOf(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace(/:\d\d\.\d+Z$/, ' UTC')
    .replace('T', ' ');
}

function tokenOf(type: ForgeType, given: string | undefined): string | null {
  const token = (given ?? '').trim();
  if (token === '') return null;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error(`${FORGE_TOKENS[type]} is not a token: it has characters that none has`);
  return token;
}
