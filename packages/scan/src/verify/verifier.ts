import type { Clock } from '@heddle/base/clock';
import type { ResolveHost } from '@heddle/base/outbound/guarded-agent';
import { sendRequest, type SendFailure } from '@heddle/base/outbound/send';
import { Permits } from '@heddle/base/permits';
import { RateBuckets } from '@heddle/base/rate-buckets';
import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { Companion, HttpVerification, VerificationSpec } from '../detect/rules/verification-spec.ts';
import type { DetectedFinding } from '../result.ts';
import { OutboundAgents } from '../outbound/agents.ts';
import { buildRequest, type VerificationRequest } from './build-request.ts';
import { atEndpoint, needsEndpoint } from './endpoint.ts';
import { type Judged, judgeAnswer } from './judge-answer.ts';
import { judgeJwt } from './jwt-expiry.ts';
import { policyOf, type VerifyOptions } from './options.ts';
import { UnusableValue } from './template.ts';

/** Requests under way at the same time, to all hosts. */
const REQUESTS_MAX = 16;
/** Secrets whose verdicts are kept; further ones are not verified. They take about 50 MiB. */
const SECRETS_MAX = 100_000;
/** Failures in a row after which a host is asked no more. */
const FAILURES_MAX = 5;

const STOPPED = 'the scan was stopped before it was verified';

const USER_AGENT = 'heddle-scan (verification of a leaked secret)';

export interface VerifierParts {
  clock: Clock;
  signal: AbortSignal;
  /** Verdicts of an interrupted run, by the key of their request. */
  known: ReadonlyMap<string, Verification>;
  /** Receives each new verdict that a provider gave. */
  record: (key: string, verification: Verification) => void;
  /** The system's resolver by default; for tests. */
  resolve?: ResolveHost;
}

/** How the secrets of a rule are verified. */
export interface RuleVerification {
  spec: VerificationSpec;
  /** Only the name before a secret says whose it is: a rejected one may be something else of theirs. */
  by_name: boolean;
}

interface HostState {
  /** One request at a time waits for the rate. */
  turn: Permits;
  /** In a row. */
  failures: number;
  failure: string;
}

/** Asks providers about secrets: each request once, at a bounded rate, through the guard. */
export class Verifier {
  readonly #options: VerifyOptions;
  readonly #rules: ReadonlyMap<string, RuleVerification>;
  readonly #parts: VerifierParts;
  readonly #agents: OutboundAgents;
  readonly #answers = new Map<string, Promise<Verification>>();
  readonly #slots = new Permits(REQUESTS_MAX);
  readonly #rates: RateBuckets;
  readonly #hosts = new Map<string, HostState>();

  /** @param rules how secrets are verified, by the id of their rule */
  constructor(options: VerifyOptions, rules: ReadonlyMap<string, RuleVerification>, parts: VerifierParts) {
    this.#options = options;
    this.#rules = rules;
    this.#parts = parts;
    this.#agents = new OutboundAgents({ ...options, policy: policyOf(options), resolve: parts.resolve });
    this.#rates = new RateBuckets({ perSecond: options.ratePerSecond, burst: 1 });
    for (const [key, verification] of parts.known) this.#answers.set(key, Promise.resolve(verification));
  }

  /** Returns what is known of the secret of a finding. Rejects only if a verdict cannot be recorded. */
  async verify(finding: DetectedFinding): Promise<Verification> {
    const rule = this.#rules.get(finding.rule_id);
    if (rule === undefined) return this.#unknown('no verification is known for this rule');
    if (finding.secret === '') return this.#unknown('the finding is a path, not a secret');
    const { secret, companions = {} } = finding;
    if (rule.spec.type === 'jwt') return this.#dated(judgeJwt(secret, this.#parts.clock.now()));
    const { name: called } = rule.spec;
    const endpoint = this.#options.endpoints.findLast(({ name }) => name === called)?.url ?? null;
    if (endpoint === null && needsEndpoint(rule.spec)) return this.#unknown(endpointReason(rule.spec));
    const spec = endpoint === null ? rule.spec : atEndpoint(rule.spec);
    const missing = spec.companions.find(({ name, optional }) => !optional && companions[name] === undefined);
    if (missing !== undefined) return this.#unknown(missingReason(spec, missing));
    const values = { ...companions, secret };
    let request: VerificationRequest;
    try {
      request = buildRequest(spec, values, endpoint, USER_AGENT);
    } catch (error) {
      if (error instanceof UnusableValue) return this.#unknown(error.message);
      // An address with a companion that is no host; its message would repeat the value.
      return this.#unknown(`no valid request to ${spec.provider} can be made of it`);
    }
    const verification = await this.#once(spec, request, Object.values(values));
    return rule.by_name && verification.verdict === 'inactive' ? doubted(verification) : verification;
  }

  async close(): Promise<void> {
    await this.#agents.close();
  }

  #once(spec: HttpVerification, request: VerificationRequest, secrets: readonly string[]): Promise<Verification> {
    const { key } = request;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (this.#answers.size >= SECRETS_MAX)
      return Promise.resolve(this.#unknown(`more than ${SECRETS_MAX} secrets: this one is not verified`));
    const answer = this.#ask(spec, request, secrets).then((judged) => {
      const verification = this.#dated(judged);
      // Without a verdict, a resumed run asks again.
      if (judged.verdict !== 'unknown') this.#parts.record(key, verification);
      return verification;
    });
    this.#answers.set(key, answer);
    return answer;
  }

  async #ask(spec: HttpVerification, request: VerificationRequest, secrets: readonly string[]): Promise<Judged> {
    const { clock, signal } = this.#parts;
    const { provider } = spec;
    const host = this.#hostOf(request.host);
    try {
      const refusal = await this.#turn(spec, request.host, host);
      if (refusal !== null) return unknown(refusal);
      using _slot = await this.#slots.acquire(signal);
      const outbound = request.at(clock.now());
      const way = this.#agents.of(outbound.url);
      if ('refusal' in way) return unknown(`${provider} was not asked: ${way.refusal}`);
      const limits = { limitMs: this.#options.timeoutMs, clock, stop: signal };
      const answer = await sendRequest(outbound, way.agent, limits);
      if ('failure' in answer) return this.#failed(spec, answer, host);
      const judged = judgeAnswer(spec, answer, { host: request.host, secrets });
      const isOverloaded = judged.verdict === 'unknown' && (answer.status === 429 || answer.status >= 500);
      host.failures = isOverloaded ? host.failures + 1 : 0;
      if (isOverloaded) host.failure = `HTTP ${answer.status}`;
      return judged;
    } catch {
      return unknown(signal.aborted ? STOPPED : `the request to ${provider} failed`);
    }
  }

  #failed({ provider }: HttpVerification, { failure, error }: SendFailure, host: HostState): Judged {
    if (failure === 'stopped') return unknown(STOPPED);
    if (failure === 'refused') return unknown(`${provider} was not asked: ${error}`);
    host.failures += 1;
    host.failure = error;
    return unknown(
      failure === 'unsendable' ? `the request to ${provider} cannot be sent` : `${provider} did not answer: ${error}`,
    );
  }

  /** Waits until the rate permits a request to the host. Returns why none may be sent. */
  async #turn({ provider }: HttpVerification, name: string, host: HostState): Promise<string | null> {
    const { clock, signal } = this.#parts;
    using _turn = await host.turn.acquire(signal);
    for (;;) {
      if (signal.aborted) return STOPPED;
      if (host.failures >= FAILURES_MAX)
        return `${provider} was not asked: the last ${FAILURES_MAX} requests failed (${host.failure})`;
      const waitMs = this.#rates.take(name, clock.monotonic());
      if (waitMs === 0) return null;
      await clock.sleep(waitMs, signal);
    }
  }

  #hostOf(name: string): HostState {
    let host = this.#hosts.get(name);
    if (host === undefined) this.#hosts.set(name, (host = { turn: new Permits(1), failures: 0, failure: '' }));
    return host;
  }

  #unknown(reason: string): Verification {
    return this.#dated(unknown(reason));
  }

  #dated({ verdict, reason, identity, permissions }: Judged): Verification {
    return { verdict, reason, checked_at: new Date(this.#parts.clock.now()).toISOString(), identity, permissions };
  }
}

function doubted({ reason, ...verification }: Verification): Verification {
  return { ...verification, verdict: 'unknown', reason: `${reason}, but it may be another kind of secret` };
}

function missingReason({ provider }: HttpVerification, { name, of }: Companion): string {
  if (of !== 'nearby') return `${provider} is not asked about secrets of this form`;
  return `${provider} cannot be asked: there is no ${name.replaceAll('_', ' ')} near it`;
}

function endpointReason({ provider, name }: HttpVerification): string {
  return `${provider} has no address of its own; name yours with --verify-endpoint ${name}=URL, or HEDDLE_VERIFY_ENDPOINTS on a worker`;
}

function unknown(reason: string): Judged {
  return { verdict: 'unknown', reason, identity: null, permissions: [] };
}
