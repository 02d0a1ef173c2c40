import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { mailAddressFault } from '../../../src/domain/notification/mail-address.ts';
import { parseWorkflow } from '../../../src/domain/parse/workflow.ts';
import { newId } from '@heddle/base/random';

const ROOT = { mode: 'parallel', children: [] };
const URL = 'https://hooks.example.com/in';

function parse(notify: unknown): ReturnType<typeof parseWorkflow> {
  return parseWorkflow({ root: ROOT, notify }, newId);
}

function faultsOf(notify: unknown): string[] {
  const parsed = parse(notify);
  return parsed.ok ? assert.fail('it was accepted') : parsed.faults;
}

describe('the member notify of a workflow', () => {
  it('may be left out, and has defaults', () => {
    for (const nothing of [undefined, null, []]) {
      const parsed = parse(nothing);
      assert.ok(parsed.ok);
      assert.deepEqual(parsed.notify, []);
    }
    const parsed = parse([
      { to: { webhook: { url: URL } } },
      { to: { email: { to: ['A@b.cd', 'a@B.cd', 'e@f.gh'] } } },
    ]);
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.notify[0], {
      on: ['PartiallyFailed', 'Failed', 'Timeout'],
      channel: { type: 'webhook', url: URL, verb: 'Post', headers: null },
      title: null,
      text: null,
      payload: undefined,
    });
    // No one gets a mail twice.
    assert.deepEqual(parsed.notify[1]!.channel, { type: 'email', to: ['a@B.cd', 'e@f.gh'], subject: null });
  });

  it('names every fault with its place', () => {
    const faults = faultsOf([
      { on: ['Faild', 'Failed'], to: { slack: { url: 'ftp://x' } } },
      { to: { webhook: { url: URL }, slack: { url: URL } } },
      { to: {} },
      { title: 'no channel', nobody: 1 },
      { to: { email: { to: ['a@example.com', 'Eve <eve@example.com>', 'x@y\r\nBcc: z@y'], subject: 5 } } },
      { to: { webhook: { url: URL, headers: { 'x-a': 'b\r\nc: d' } } } },
      7,
    ]);
    const expected = [
      /^notify\[0\]\.on\[0\]: must be one of .*, not "Faild"; did you mean "Failed"\?$/,
      /^notify\[0\]\.to\.slack\.url: must start with http/,
      /^notify\[1\]\.to: must have one of webhook, slack, email, not several$/,
      /^notify\[2\]\.to: must have one of .*, not none$/,
      /^notify\[3\]\.nobody: is not a known member/,
      /^notify\[3\]\.to: is required$/,
      /^notify\[4\]\.to\.email\.to\[1\]: must .*, not "Eve <eve@example\.com>"$/,
      /^notify\[4\]\.to\.email\.to\[2\]: must /,
      /^notify\[4\]\.to\.email\.subject: must be a string/,
      /^notify\[5\]\.to\.webhook\.headers\["?x-a"?\]|^notify\[5\]\.to\.webhook\.headers\.x-a: must be/,
      /^notify\[6\]: must be an object, not 7$/,
    ];
    assert.equal(faults.length, expected.length, faults.join('\n'));
    for (const pattern of expected)
      assert.ok(
        faults.some((fault) => pattern.test(fault)),
        `${pattern}\n${faults.join('\n')}`,
      );
  });

  it('is bounded', () => {
    const entry = { to: { slack: { url: URL } } };
    assert.match(faultsOf(Array(17).fill(entry))[0]!, /at most 16 notifications, not an array of 17/);
    const many = Array.from({ length: 51 }, (_, index) => `a${index}@example.com`);
    assert.match(faultsOf([{ to: { email: { to: many } } }])[0]!, /1 to 50 addresses, not an array of 51/);
    assert.match(faultsOf([{ to: { email: { to: [] } } }])[0]!, /1 to 50 addresses/);
    assert.match(faultsOf([{ ...entry, payload: 'x'.repeat(40_000) }])[0]!, /payload: must have at most 32768 bytes/);
  });
});

describe('an address for mail', () => {
  it('is a plain one', () => {
    for (const good of [
      'a@b',
      'first.last+tag@sub.example.com',
      'root@localhost',
      "o'brien@x-y.example",
      'a@xn--bcher-kva.example',
    ]) {
      assert.equal(mailAddressFault(good), null, good);
    }
    const bad = [
      '',
      'a',
      '@b',
      'a@',
      'a@b@',
      'a b@c.d',
      'a@b c',
      'a@b\n',
      'a\r\n@b',
      'a@b,c@d',
      '"a b"@c.d',
      'Name <a@b.c>',
      '.a@b',
      'a.@b',
      'a..b@c',
      'a@-b',
      'a@b..c',
      'a@[127.0.0.1]',
      'ä@b.c',
      'a@ä.c',
      `${'a'.repeat(65)}@b.c`,
      `a@${'b'.repeat(64)}.c`,
      `a@${'b.'.repeat(130)}c`,
    ];
    for (const address of bad) assert.notEqual(mailAddressFault(address), null, JSON.stringify(address));
  });
});
