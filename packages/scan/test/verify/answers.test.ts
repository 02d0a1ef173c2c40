import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import type { Verdict } from '@heddle/base/vocabulary/verdict';
import { compileFrom } from '../../src/detect/compile-rules.ts';
import { createDetector } from '../../src/detect/detector.ts';
import { loadRules } from '../../src/detect/rules/load-rules.ts';
import type { Rule } from '../../src/detect/rules/rule.ts';
import type { VerificationSpec } from '../../src/detect/rules/verification-spec.ts';
import type { DetectedFinding } from '../../src/result.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { Verifier } from '../../src/verify/verifier.ts';
import { type CaseText, expandCase, readCases } from '../support/detect/rules/case-text.ts';
import { checkedText } from '../support/detect/rules/checked-text.ts';
import { formCases } from '../support/detect/rules/form-cases.ts';
import { type ReceivedRequest, startProvider } from '../support/verify/provider.ts';
import { verifyOptions } from '../support/verify/verifying.ts';

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
  identity?: string;
  permissions?: string[];
}

/** What a provider documents: the request, and its answers to a secret that is active, and to one that is not. */
interface Documented {
  name: string;
  rule: string;
  text?: string;
  /** Text before the first case of the rule. */
  before?: string;
  request: { method?: string; url: string; headers?: Record<string, string>; body?: string };
  active: Answer;
  /** Null where a refusal says nothing for certain, not even at an address that the user names. */
  inactive: Answer | null;
  unknown?: Answer;
}

const ANSWERS = join(import.meta.dirname, '../support/verify/answers');
const families = globSync('*.json', { cwd: ANSWERS })
  .sort()
  .map((file) => ({
    name: basename(file, '.json'),
    documented: JSON.parse(readFileSync(join(ANSWERS, file), 'utf8')) as Documented[],
  }));
const set = loadRules(SCAN_DEFAULTS);
const specs = new Map<string, VerificationSpec>();
for (const { verify } of set.rules) if (typeof verify === 'object') specs.set(verify.name, verify);

/** Finds the secret of a case as a scan does, with what its verification needs besides. */
function detected({ rule: id, text, before = '' }: Documented): DetectedFinding {
  const rule = set.rules.find((each) => each.id === id)!;
  const template = text ?? readCases().get(id)?.positive[0] ?? formCases().get(id)!.positive[0]!;
  const expanded = expandCase(template, id);
  expanded.text = expandCase(before, `${id} before`).text + checkedText(rule, expanded.text);
  const found = detect(rule, expanded);
  assert.ok(found, `${id} finds nothing in ${expanded.text}`);
  return found;
}

function detect(rule: Rule, { path, text }: CaseText): DetectedFinding | undefined {
  const options = { ...SCAN_DEFAULTS, ruleTimeoutMs: 60_000, verifies: true };
  const limits = { buffers_max: 1, buffer_bytes: 65_536 };
  const detector = createDetector(compileFrom({ ...set, rules: [rule] }), options, limits);
  const bytes = Buffer.from(text);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
  const [detection] = detector.begin(path)?.scan(chunk) ?? [];
  return detection === undefined ? undefined : { ...detection, path, fingerprint: '0'.repeat(32) };
}

/** Fills what is expected of a request: `{secret}`, `{name}` of a companion, `{base64 ...}` of the rest. */
function expected(template: string, { secret, companions = {} }: DetectedFinding): string {
  const values: Record<string, string> = { secret, ...companions };
  const filled = template.replaceAll(/\{([a-z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
  return filled.replace(/\{base64 (.*)\}$/, (_whole, text: string) => Buffer.from(text).toString('base64'));
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

async function verify(name: string, finding: DetectedFinding, url: string) {
  const { rule_id } = finding;
  const verifier = new Verifier(
    verifyOptions({ endpoints: [{ name, url }] }),
    new Map([[rule_id, { spec: specs.get(name)!, by_name: false }]]),
    {
      clock: systemClock,
      signal: new AbortController().signal,
      known: new Map(),
      record: () => undefined,
    },
  );
  const verification = await verifier.verify(finding);
  await verifier.close();
  return verification;
}

describe('each verification asks as its provider documents, and understands the answers', () => {
  // A test for each of them would take most of the time for itself.
  for (const { name: family, documented } of families) {
    test(family, async () => {
      let answer: Answer;
      await using provider = await startProvider((_request, response) => reply(response, answer));
      for (const each of documented) {
        const finding = detected(each);
        for (const [verdict, given] of outcomesOf(each)) {
          answer = given;
          const verification = await verify(each.name, finding, provider.url);
          assert.equal(verification.verdict, verdict, `${each.name}: ${verification.reason}`);
          assert.equal(verification.identity, answer.identity ?? null, each.name);
          assert.deepEqual(verification.permissions, answer.permissions ?? [], each.name);
          assert.ok(
            !JSON.stringify(verification).includes(finding.secret),
            `the secret of ${each.name} does not leave`,
          );
          const received = provider.received.splice(0);
          assert.equal(received.length, 1, each.name);
          assertAsked(received[0]!, each, finding);
        }
      }
    });
  }
});

function outcomesOf({ active, inactive, unknown }: Documented): [Verdict, Answer][] {
  const outcomes: [Verdict, Answer | null][] = [
    ['active', active],
    ['inactive', inactive],
    ['unknown', unknown ?? { status: 429, body: {} }],
    ['unknown', { status: 503, body: {} }],
  ];
  return outcomes.flatMap(([verdict, answer]) => (answer === null ? [] : [[verdict, answer]]));
}

function assertAsked(sent: ReceivedRequest, { name, request }: Documented, finding: DetectedFinding): void {
  assert.equal(sent.method, request.method ?? 'GET', name);
  assert.equal(sent.url, expected(request.url, finding), name);
  if (request.body !== undefined) assert.equal(sent.body, expected(request.body, finding), name);
  for (const [header, value] of Object.entries(request.headers ?? {}))
    assert.equal(sent.headers[header], expected(value, finding), `${name}: ${header}`);
}

test('every verification that asks a provider has its documented answers', () => {
  const asking = [...specs.values()].filter(({ type }) => type === 'http').map(({ name }) => name);
  const documented = families.flatMap((family) => family.documented);
  assert.deepEqual(documented.map(({ name }) => name).toSorted(), asking.toSorted());
  for (const { name, inactive } of documented) {
    const spec = specs.get(name)!;
    assert.ok(spec.type === 'http');
    // They are asked at an address that the test names.
    assert.equal((spec.endpoint_inactive ?? spec.inactive).length > 0, inactive !== null, name);
  }
});
