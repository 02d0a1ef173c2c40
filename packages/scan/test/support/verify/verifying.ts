import { systemClock } from '@heddle/base/clock';
import { defaultsOf } from '@heddle/base/setting';
import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { VerificationSpec } from '../../../src/detect/rules/verification-spec.ts';
import type { DetectedFinding } from '../../../src/result.ts';
import { NO_PROXIES } from '../../../src/outbound/proxies.ts';
import { VERIFY_OPTIONS, type VerifyOptions } from '../../../src/verify/options.ts';
import { type RuleVerification, Verifier, type VerifierParts } from '../../../src/verify/verifier.ts';

/** Options that allow one loopback address, as if it were a public one. */
export function verifyOptions(changes: Partial<VerifyOptions> = {}): VerifyOptions {
  const defaults = { ...defaultsOf(VERIFY_OPTIONS), environment: NO_PROXIES };
  return { ...defaults, ratePerSecond: 1000, allow: ['127.0.0.1/32'], ...changes };
}

/** A description whose answers are 200 and 401. */
export function specOf(changes: Partial<Extract<VerificationSpec, { type: 'http' }>> = {}): VerificationSpec {
  return {
    type: 'http',
    name: 'made-up',
    provider: 'Made-up',
    method: 'GET',
    url: 'https://api.example.com/me',
    headers: { authorization: 'Bearer {{secret}}' },
    companions: [],
    active: [{ status: [200] }],
    inactive: [{ status: [401] }],
    identity: ['/login'],
    permissions: ['/scopes'],
    ...changes,
  };
}

export function foundSecret(secret: string, changes: Partial<DetectedFinding> = {}): DetectedFinding {
  return {
    rule_id: 'made-up-token',
    description: 'Found a made-up token; revoke it.',
    tags: [],
    path: 'a.env',
    line: 1,
    column: 1,
    end_line: 1,
    end_column: 1,
    offset: 0,
    length: secret.length,
    match: secret,
    secret,
    entropy: 4,
    encodings: [],
    confidence: 'high',
    confidence_reason: 'made up',
    fingerprint: '0'.repeat(32),
    ...changes,
  };
}

export interface Verifying extends AsyncDisposable {
  verifier: Verifier;
  recorded: Map<string, Verification>;
}

export function verifying(
  options: Partial<VerifyOptions>,
  spec: VerificationSpec = specOf(),
  parts: Partial<VerifierParts> = {},
  by_name = false,
): Verifying {
  const recorded = new Map<string, Verification>();
  const verifier = new Verifier(
    verifyOptions(options),
    new Map<string, RuleVerification>([['made-up-token', { spec, by_name }]]),
    {
      clock: systemClock,
      signal: new AbortController().signal,
      known: new Map(),
      record: (key, verification) => void recorded.set(key, verification),
      ...parts,
    },
  );
  return { verifier, recorded, [Symbol.asyncDispose]: () => verifier.close() };
}
