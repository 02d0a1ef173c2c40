import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import corpus from './ssrf-corpus.json' with { type: 'json' };
import { classifyAddress } from '@heddle/base/net/classify';
import { SsrfGuard, STRICT_SSRF_POLICY, validateWebhookUrl } from '../../src/outbound/ssrf.ts';
import type { SsrfPolicy } from '../../src/outbound/ssrf.ts';

const policy = (changes: Partial<SsrfPolicy>): SsrfPolicy => ({ ...STRICT_SSRF_POLICY, ...changes });

describe('webhook URLs under the strict policy', () => {
  for (const [group, urls] of Object.entries(corpus.blocked_urls)) {
    it(`rejects ${urls.length} spellings: ${group}`, () => {
      const passed = urls.filter((url) => validateWebhookUrl(url, STRICT_SSRF_POLICY) === null);
      assert.deepEqual(passed, []);
    });
  }

  it('allows ordinary targets, including neighbors of blocked ranges', () => {
    const refused = corpus.allowed_urls
      .map((url) => [url, validateWebhookUrl(url, STRICT_SSRF_POLICY)] as const)
      .filter(([, refusal]) => refusal !== null);
    assert.deepEqual(refused, []);
  });

  it('says what is wrong and what to do', () => {
    assert.match(
      validateWebhookUrl('http://0x7f.1/', STRICT_SSRF_POLICY)!,
      /^127\.0\.0\.1 is a loopback address.*HEDDLE_ALLOWED_WEBHOOK/,
    );
    assert.match(
      validateWebhookUrl('http://localhost/', STRICT_SSRF_POLICY)!,
      /^localhost is on the list .*BLOCKED_HOSTNAMES/,
    );
    assert.match(validateWebhookUrl('http://a.internal/', STRICT_SSRF_POLICY)!, /blocked suffix \.internal/);
    assert.match(validateWebhookUrl('ftp://example.com/', STRICT_SSRF_POLICY)!, /http:\/\/ or https:\/\//);
    const withPassword = validateWebhookUrl('http://user:hunter2@example.com/', STRICT_SSRF_POLICY)!;
    assert.match(withPassword, /Authorization header/);
    assert.doesNotMatch(withPassword, /hunter2/);
    assert.match(validateWebhookUrl(`http://example.com/${'a'.repeat(9000)}`, STRICT_SSRF_POLICY)!, /8192 characters/);
  });
});

describe('resolved addresses', () => {
  const guard = new SsrfGuard(STRICT_SSRF_POLICY);

  it('rejects every address that is not public', () => {
    const passed = corpus.blocked_addresses.filter((address) => guard.refuseResolved(address, 'example.com') === null);
    assert.deepEqual(passed, []);
  });

  it('allows public addresses', () => {
    const refused = corpus.public_addresses.filter((address) => guard.refuseResolved(address, 'example.com') !== null);
    assert.deepEqual(refused, []);
  });

  it('does not reveal the address of a name to the caller', () => {
    const refusal = guard.refuseResolved('10.9.8.7', 'example.com')!;
    assert.match(refusal, /^example\.com resolves to a private address/);
    assert.doesNotMatch(refusal, /10\.9\.8\.7/);
  });

  it('names metadata services as such', () => {
    for (const address of ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', 'FD00:0EC2:0::254']) {
      assert.equal(classifyAddress(address), 'metadata', address);
    }
  });
});

describe('exceptions', () => {
  it('allowLoopback allows loopback in every spelling and nothing else', () => {
    const development = policy({ allowLoopback: true });
    const open = [
      'http://127.0.0.1:4000/',
      'http://127.1/',
      'http://[::1]/',
      'http://localhost:4000/',
      'http://app.localhost/',
    ];
    for (const url of open) assert.equal(validateWebhookUrl(url, development), null, url);
    const shut = [
      'http://0.0.0.0/',
      'http://10.0.0.1/',
      'http://169.254.169.254/',
      'http://x.internal/',
      'http://[::ffff:127.0.0.1]/',
    ];
    for (const url of shut) assert.notEqual(validateWebhookUrl(url, development), null, url);
    assert.equal(new SsrfGuard(development).refuseResolved('127.0.0.1', 'localhost'), null);
    assert.notEqual(new SsrfGuard(development).refuseResolved('192.168.0.1', 'localhost'), null);
  });

  it('an allowed host may be in a private network, but a hijacked one does not reach metadata', () => {
    const guard = new SsrfGuard(policy({ allowedHosts: ['Hooks.Internal.', '.corp.example'] }));
    assert.equal(guard.refuseHost('hooks.internal'), null);
    assert.equal(guard.refuseResolved('10.1.2.3', 'hooks.internal'), null);
    assert.equal(guard.refuseResolved('fd12::1', 'a.corp.example'), null);
    assert.notEqual(guard.refuseResolved('10.1.2.3', 'corp.example.evil.example'), null);
    assert.notEqual(guard.refuseResolved('169.254.169.254', 'hooks.internal'), null);
    assert.notEqual(guard.refuseHost('other.internal'), null);
  });

  it('an allowed range allows its addresses, literal or resolved, but no wrapped spelling of them', () => {
    const guard = new SsrfGuard(policy({ allowedCidrs: ['10.1.0.0/16', 'fd00:1::/32', '127.0.0.1'] }));
    assert.equal(guard.refuseHost('10.1.2.3'), null);
    assert.equal(guard.refuseHost('127.0.0.1'), null, 'the range wins over the list of names');
    assert.equal(guard.refuseResolved('10.1.2.3', 'example.com'), null);
    assert.equal(guard.refuseHost('[fd00:1::5]'), null);
    assert.notEqual(guard.refuseHost('10.2.0.1'), null);
    assert.notEqual(guard.refuseHost('[::ffff:10.1.2.3]'), null);
  });

  it('skipAll checks nothing but the form of the URL', () => {
    const open = policy({ skipAll: true });
    assert.equal(validateWebhookUrl('http://169.254.169.254/', open), null);
    assert.notEqual(validateWebhookUrl('file:///etc/passwd', open), null);
  });

  it('an invalid range is an error at start, not an open door', () => {
    for (const text of ['10.0.0.0/33', '10.0.0.0/', 'ten', '10.0.0.0/8/8', '::/129', '10.0/8']) {
      assert.throws(() => new SsrfGuard(policy({ allowedCidrs: [text] })), /is not an IP address or range/);
    }
  });
});
