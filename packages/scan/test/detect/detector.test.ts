import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '@heddle/base/clock';
import { compileRules } from '../../src/detect/compile-rules.ts';
import { createDetector } from '../../src/detect/detector.ts';
import { DETECTIONS_PER_OBJECT_MAX } from '../../src/detect/pending.ts';
import type { DetectionTrace } from '../../src/detect/trace.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { briefly, detectorOf, scanObject } from '../support/detect/fixture.ts';

const TOKEN = `
[[rules]]
id = "token"
description = "A token"
regex = '''tok_([a-z0-9]{8})'''
keywords = ["tok_"]
tags = ["t"]
`;

test('a detection states what was found, where, and how', () => {
  const text = 'one\ntwo = "tok_abcd1234";\n';
  assert.deepEqual(scanObject(detectorOf(TOKEN), text), [
    {
      rule_id: 'token',
      description: 'A token',
      tags: ['t'],
      line: 2,
      column: 8,
      end_line: 2,
      end_column: 20,
      offset: 11,
      length: 12,
      match: 'tok_abcd1234',
      secret: 'abcd1234',
      entropy: 3,
      encodings: [],
      confidence: 'medium',
      confidence_reason: 'the value fits the rule by its form and the text around it',
      context: [
        { number: 1, text: 'one' },
        { number: 2, text: 'two = "tok_a***";', mark: { start: 7, end: 15 } },
      ],
    },
  ]);
});

test('a keyword that is everywhere is found wherever a match follows it', () => {
  const rules = `${TOKEN}
[[rules]]
id = "assigned"
regex = '''(?i:tok)_?[a-z]{0,8} = "([^"]{4,20})"'''
keywords = ["tok"]
`;
  const lines = Array.from({ length: 50_000 }, (_, at) => {
    if (at % 1000 === 7) return `tok_${String(at).padStart(8, 'x')}`;
    return at % 1000 === 11 ? `TOK_name = "value${at}"` : 'tok_en = call(); tok tok_no';
  });
  const found = briefly(scanObject(detectorOf(rules), lines.join('\n'), { chunkBytes: 50_000 }));
  const numbers = Array.from({ length: 50 }, (_, at) => at * 1000);
  assert.deepEqual(
    found,
    numbers.flatMap((at) => [
      ['token', String(at + 7).padStart(8, 'x')],
      ['assigned', `value${at + 11}`],
    ]),
  );
});

test('a value of words hides nothing within its match, whether or not refused values are observed', () => {
  const value = ['q8ZtB5xWm2', 'RfJ9cLd3Vk'].join('');
  const text = [
    `token = process.env.APP_KEY: ${value}\n`,
    `token: my_secret_x = ${value}\n`,
    `secret: "someMoreWords", token: "${value}"\n`,
  ];
  const all = { ...SCAN_DEFAULTS, rules: [] };
  const silent: DetectionTrace = Object.fromEntries(
    ['chunk', 'decoded', 'judged', 'exempted', 'detected', 'settled', 'end'].map((name) => [name, () => undefined]),
  ) as never;
  let refused = 0;
  const trace = { ...silent, refused: () => refused++ };
  const rules = compileRules(all);
  const limits = { buffers_max: 1, buffer_bytes: 1024 };
  const detector = createDetector(rules, all, limits);
  const observed = createDetector(rules, all, limits, { tracer: { begin: () => trace } });
  for (const each of text) {
    refused = 0;
    const found = briefly(scanObject(detector, each));
    assert.deepEqual(
      found.map(([, secret]) => secret),
      [value],
      each,
    );
    assert.deepEqual(briefly(scanObject(observed, each)), found, each);
    assert.ok(refused > 0, each);
    // So often that nothing is tried any more where words follow.
    const often = scanObject(detector, each.repeat(5_000), { chunkBytes: 50_000 });
    assert.deepEqual(briefly(often), Array<[string, string]>(5_000).fill(found[0]!), each);
  }
});

test('positions count lines and bytes across chunks; a match over several lines ends on its last one', () => {
  const rule = `[[rules]]\nid = "key"\nregex = '''(?s)BEGIN KEY.{4,}?END KEY'''\nkeywords = ["begin key"]\n`;
  const text = `é\n\n  BEGIN KEY\nabc\nEND KEY\n`;
  for (const chunkBytes of [100, 5]) {
    const [found] = scanObject(detectorOf(rule), text, { chunkBytes });
    assert.deepEqual([found?.line, found?.column, found?.end_line, found?.end_column], [3, 3, 5, 8]);
    assert.deepEqual([found?.offset, found?.length], [6, 21]);
  }
});

test('keywords match in any case, patterns in their own', () => {
  const detector = detectorOf(TOKEN);
  assert.deepEqual(briefly(scanObject(detector, 'TOK_abcd1234 tok_abcd1234')), [['token', 'abcd1234']]);
});

test('secretGroup selects the secret; by default it is the first non-empty group, or the match', () => {
  const rule = (group: string, regex: string) =>
    `[[rules]]\nid = "r"\nregex = '''${regex}'''\nkeywords = ["k="]\n${group}`;
  const secret = (toml: string) => scanObject(detectorOf(toml), 'k=abc-def ')[0]?.secret;
  assert.equal(secret(rule('secretGroup = 2', 'k=(\\w+)-(\\w+)')), 'def');
  assert.equal(secret(rule('', 'k=(x)?(\\w+)-\\w+')), 'abc');
  assert.equal(secret(rule('', 'k=\\w+')), 'k=abc');
});

test('the secret must exceed the entropy', () => {
  const detector = detectorOf(`${TOKEN}entropy = 2\n`);
  assert.deepEqual(briefly(scanObject(detector, 'tok_aabbccdd tok_abcd1234')), [['token', 'abcd1234']]);
});

test('a rule with a path applies to matching paths only; a path-only rule reports the object', () => {
  const detector = detectorOf(`${TOKEN}path = '''\\.env$'''\n[[rules]]\nid = "keystore"\npath = '''\\.p12$'''\n`);
  assert.deepEqual(briefly(scanObject(detector, 'tok_abcd1234', { path: 'a/.env' })), [['token', 'abcd1234']]);
  assert.equal(detector.begin('a/main.ts'), null);
  const [found] = scanObject(detector, 'xyz', { path: 'a/b.p12' });
  assert.deepEqual([found?.rule_id, found?.match, found?.offset], ['keystore', 'a/b.p12', 0]);
});

test('allow lists: path and commit of the object; regexes and stop words of the secret, match or line', () => {
  const found = (list: string, text: string, cut = {}) =>
    scanObject(detectorOf(`${TOKEN}[[rules.allowlists]]\n${list}\n`), text, cut).length;
  const text = 'example: tok_abcd1234';
  assert.equal(found(`paths = ['''test/''']`, text, { path: 'test/a.ts' }), 0);
  assert.equal(found(`paths = ['''test/''']`, text), 1);
  assert.equal(found(`commits = ["ABC1"]`, text, { commit: 'abc1' }), 0);
  assert.equal(found(`commits = ["ABC1"]`, text, { commit: 'abc2' }), 1);
  assert.equal(found(`regexes = ['''^abcd''']`, text), 0);
  assert.equal(found(`regexes = ['''^tok_''']`, text), 1);
  assert.equal(found(`regexTarget = "match"\nregexes = ['''^tok_''']`, text), 0);
  assert.equal(found(`regexTarget = "line"\nregexes = ['''^example''']`, text), 0);
  assert.equal(found(`regexTarget = "line"\nregexes = ['''^example''']`, `example\n${text.slice(9)}`), 1);
  assert.equal(found(`stopwords = ["BCD1"]`, text), 0);
});

test('an allow list with AND requires all of its kinds', () => {
  const list = `[[rules.allowlists]]\ncondition = "AND"\npaths = ['''test/''']\nstopwords = ["abcd"]\n`;
  const detector = detectorOf(TOKEN + list);
  assert.equal(scanObject(detector, 'tok_abcd1234', { path: 'test/a' }).length, 0);
  assert.equal(scanObject(detector, 'tok_abcd1234', { path: 'src/a' }).length, 1);
  assert.equal(scanObject(detector, 'tok_efgh1234', { path: 'test/a' }).length, 1);
});

test('global allow lists apply to all rules', () => {
  const detector = detectorOf(`[[allowlists]]\npaths = ['''vendor/''']\nstopwords = ["abcd"]\n${TOKEN}`);
  assert.equal(detector.begin('vendor/x'), null);
  assert.equal(scanObject(detector, 'tok_abcd1234').length, 0);
  assert.equal(scanObject(detector, 'tok_efgh1234').length, 1);
});

test('comments exempt only their own line, unless disabled', () => {
  const text = 'tok_aaaa1111 # heddle:allow\ntok_bbbb2222\n// gitleaks:allow\ntok_cccc3333 gitleaks:allow\n';
  assert.deepEqual(briefly(scanObject(detectorOf(TOKEN), text)), [['token', 'bbbb2222']]);
  assert.equal(scanObject(detectorOf(TOKEN, { inlineIgnores: false }), text).length, 3);
});

test('a generic rule yields to a specific one for the same secret', () => {
  const generic = `[[rules]]\nid = "generic-key"\nregex = '''key = (\\S+)'''\nkeywords = ["key"]\n`;
  const detector = detectorOf(TOKEN + generic);
  assert.deepEqual(briefly(scanObject(detector, 'key = tok_abcd1234\nkey = other\n')), [
    ['token', 'abcd1234'],
    ['generic-key', 'other'],
  ]);
});

test('required rules must match near the requiring one', () => {
  const composite = (within: string) => `
[[rules]]
id = "pair"
regex = '''id_[a-z]{4}'''
keywords = ["id_"]
[[rules.required]]
id = "token"
${within}
${TOKEN}skipReport = true
`;
  const found = (within: string, text: string) =>
    briefly(scanObject(detectorOf(composite(within)), text)).map(([id]) => id);
  assert.deepEqual(found('', 'id_abcd\n\n\n\ntok_abcd1234'), ['pair']);
  assert.deepEqual(found('', 'id_abcd'), []);
  assert.deepEqual(found('', 'tok_abcd1234'), []);
  assert.deepEqual(found('withinLines = 2', 'id_abcd\n\ntok_abcd1234'), ['pair']);
  assert.deepEqual(found('withinLines = 2', 'id_abcd\n\n\ntok_abcd1234'), []);
  assert.deepEqual(found('withinColumns = 8', 'id_abcd tok_abcd1234'), ['pair']);
  assert.deepEqual(found('withinColumns = 7', 'id_abcd tok_abcd1234'), []);
});

test('a rule without keywords uses a literal of its pattern, or is searched everywhere', () => {
  const detector = detectorOf(
    `[[rules]]\nid = "literal"\nregex = '''[a-z]{3}-live-[0-9]+'''\n[[rules]]\nid = "digits"\nregex = '''\\b[0-9]{9}\\b'''\n`,
  );
  const filler = 'x '.repeat(5000);
  const text = `abc-live-1 ${filler}123456789 ${filler}xyz-LIVE-1 xyz-live-22`;
  assert.deepEqual(briefly(scanObject(detector, text)), [
    ['literal', 'abc-live-1'],
    ['digits', '123456789'],
    ['literal', 'xyz-live-22'],
  ]);
});

test('a keyword outside the pattern gates matches near it', () => {
  const detector = detectorOf(`[[rules]]\nid = "near"\nregex = '''\\b[a-f0-9]{12}\\b'''\nkeywords = ["acme"]\n`);
  assert.equal(scanObject(detector, `acme ${' '.repeat(900)} abcdef012345`).length, 1);
  assert.equal(scanObject(detector, `abcdef012345 ${' '.repeat(900)} acme acme`).length, 1);
  assert.equal(scanObject(detector, `acme ${' '.repeat(1100)} abcdef012345`).length, 0);
});

test('non-ASCII literals are their UTF-8 bytes, and findings contain text again', () => {
  const detector = detectorOf(`[[rules]]\nid = "word"\nregex = '''clé=(\\S+)'''\nkeywords = ["clé"]\n`);
  const [found] = scanObject(detector, 'clé=säfe');
  assert.deepEqual([found?.match, found?.secret, found?.length], ['clé=säfe', 'säfe', 10]);
});

test('detections of one object are limited', () => {
  const detector = detectorOf(TOKEN);
  for (const more of [0, 5]) {
    const object = detector.begin('x')!;
    const bytes = Buffer.from('tok_abcd1234\n'.repeat(DETECTIONS_PER_OBJECT_MAX + more));
    const found = object.scan({ bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true });
    assert.equal(found.length, DETECTIONS_PER_OBJECT_MAX);
    assert.equal(object.has_dropped, more > 0);
  }
});

test('after too many detections of one object no more are judged, and one with less confidence is none of them', () => {
  const detector = createDetector(
    compileRules({ rules: [{ name: 'builtin', toml: '[extend]\nuseDefault = true\n' }] }),
    { confidence: 'medium', decodeDepth: 0, inlineIgnores: true, ruleTimeoutMs: 60_000, contextLines: 0 },
    { buffers_max: 0, buffer_bytes: 0 },
  );
  const [one, other] = ['k3Vq8ZtB5x', 'Wm2RfJ9cLd'];
  const doubted = `api_key = "${one}${one}"\n`;
  const sure = `api_key = "${one}${other}"\n`;
  const counts = [0, 1].map((more) => {
    const object = detector.begin('x.py')!;
    const bytes = Buffer.from(doubted + sure.repeat(DETECTIONS_PER_OBJECT_MAX + more) + doubted.repeat(2));
    const found = object.scan({ bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true });
    return [Object.groupBy(found, ({ confidence }) => confidence), object.has_dropped] as const;
  });
  assert.deepEqual(
    counts.map(([{ low = [], high = [] }, hasDropped]) => [low.length, high.length, hasDropped]),
    [
      [3, DETECTIONS_PER_OBJECT_MAX, false],
      [1, DETECTIONS_PER_OBJECT_MAX, true],
    ],
  );
});

test('a rule that takes too long on an object is stopped there and reported', () => {
  const clock = new VirtualClock();
  const slow = new Proxy(clock, {
    get: (target, name) => (name === 'monotonic' ? () => (ticks += 30) : (Reflect.get(target, name) as unknown)),
  });
  let ticks = 0;
  const detector = createDetector(
    compileRules({ rules: [{ name: 't', toml: TOKEN }] }),
    { confidence: 'medium', decodeDepth: 0, inlineIgnores: true, ruleTimeoutMs: 100, contextLines: 0 },
    { buffers_max: 0, buffer_bytes: 0 },
    { clock: slow },
  );
  const object = detector.begin('x')!;
  const bytes = Buffer.from('tok_abcd1234 '.repeat(20));
  const found = object.scan({ bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true });
  // The sixteenth search is the first that is timed, for all before it.
  assert.equal(found.length, 16);
  assert.deepEqual(object.timed_out_rules, ['token']);
  assert.equal(detector.begin('y')!.timed_out_rules.length, 0);
});

test('path-only rules apply to an empty object', () => {
  const detector = detectorOf(`${TOKEN}[[rules]]\nid = "keystore"\npath = '''\\.p12$'''\n`);
  assert.equal(scanObject(detector, '').length, 0);
  assert.equal(scanObject(detector, '', { path: 'a.p12' }).length, 1);
});

test('a chunk without its overlap is rejected', () => {
  const object = detectorOf(TOKEN).begin('x')!;
  const bytes = Buffer.alloc(200_000);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, last: false };
  object.scan({ ...chunk, base_offset: 0 });
  assert.throws(() => object.scan({ ...chunk, base_offset: 200_000 }), /lacks the overlap/);
});

test("the detector's own buffers are limited", () => {
  const detector = detectorOf(TOKEN);
  const buffer = detector.allocate(1024);
  assert.equal(buffer.length, 1024);
  assert.equal(scanObject(detector, 'tok_abcd1234', { allocated: buffer }).length, 1);
  assert.throws(() => detector.allocate(1), /at most 1 buffers/);
});
