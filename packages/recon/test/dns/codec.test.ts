import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { type Answer, decode as peerDecode, encode as peerEncode } from 'dns-packet';
import fc from 'fast-check';

import { DNS_TYPES, TYPE_CODES } from '../../src/dns/codes.ts';
import { type Answers, decodeResponse } from '../../src/dns/decode.ts';
import { QUERY_BYTES_MAX, sameQuestion, writeId, writeQuery, setEdns } from '../../src/dns/encode.ts';
import { seededRandom } from '@heddle/base/random';

const NAME = 'www.example.test';
const HEADER_BYTES = 12;

function query(name: string, typeCode: number): { bytes: Uint8Array; questionEnd: number } {
  const bytes = new Uint8Array(QUERY_BYTES_MAX);
  const questionEnd = writeQuery(bytes, 0, name, typeCode);
  return { bytes: bytes.subarray(0, setEdns(bytes, 0, questionEnd, true)), questionEnd };
}

const QUESTION_END = query(NAME, TYPE_CODES.A).questionEnd;

function response(answers: Answer[], name = NAME, flags = 0): Buffer {
  return peerEncode({ type: 'response', id: 7, flags, questions: [{ type: 'A', name }], answers });
}

function decoded(
  bytes: Uint8Array,
  questionEnd = QUESTION_END,
): { answers: Answers; ttl: number | null; rcode: number } {
  const result = decodeResponse(bytes, questionEnd);
  if (!result.ok) assert.fail(result.fault);
  return result.response;
}

function faultOf(bytes: Uint8Array): string {
  const result = decodeResponse(bytes, QUESTION_END);
  return result.ok ? 'none' : result.fault;
}

/** Builds a response with these bytes as its answer section. */
function handmade(count: number, ...section: number[]): Uint8Array {
  const bytes = Buffer.concat([response([]), Buffer.from(section)]);
  bytes.writeUInt16BE(count, 6);
  return bytes;
}

const fixed = (typeCode: number, length: number): number[] => [
  0,
  typeCode,
  0,
  1,
  0,
  0,
  0,
  60,
  length >> 8,
  length & 255,
];

suite('queries', () => {
  test('can be read by another codec', () => {
    for (const type of DNS_TYPES) {
      const { bytes } = query('_sip._tcp.example.test', TYPE_CODES[type]);
      writeId(bytes, 0, 0xbeef);
      const packet = peerDecode(Buffer.from(bytes));
      assert.equal(packet.id, 0xbeef);
      assert.equal(packet.flag_rd, true);
      assert.deepEqual(packet.questions, [{ name: '_sip._tcp.example.test', type, class: 'IN' }]);
      assert.equal(packet.additionals?.length, 1);
      assert.equal(packet.additionals[0]!.type, 'OPT');
      assert.equal((packet.additionals[0] as { udpPayloadSize: number }).udpPayloadSize, 1232);
    }
  });

  test('without EDNS end with the question', () => {
    const { bytes, questionEnd } = query(NAME, 1);
    assert.equal(setEdns(bytes, 0, questionEnd, false), questionEnd);
    assert.deepEqual(peerDecode(Buffer.from(bytes.subarray(0, questionEnd))).additionals, []);
  });

  test('can contain the longest name', () => {
    const name = [63, 63, 63, 61].map((length) => 'x'.repeat(length)).join('.');
    const { bytes } = query(name, 257);
    assert.equal(peerDecode(Buffer.from(bytes)).questions![0]!.name, name);
  });

  test('are distinguished from other questions', () => {
    const { bytes, questionEnd } = query(NAME, 1);
    const same = (other: Buffer): boolean => sameQuestion(other, bytes, 0, questionEnd);
    assert.equal(same(response([])), true);
    assert.equal(same(response([], 'wWw.Example.TEST')), true);
    assert.equal(same(response([], 'www.example.tesu')), false);
    assert.equal(same(response([], 'ww.example.test')), false);
    assert.equal(same(peerEncode({ type: 'response', questions: [{ type: 'AAAA', name: NAME }] })), false);
    assert.equal(same(peerEncode({ type: 'response', questions: [] })), false);
    assert.equal(same(response([]).subarray(0, questionEnd - 1)), false);
  });
});

suite('responses', () => {
  const cases: { answer: Answer; expected: Answers }[] = [
    { answer: { type: 'A', name: NAME, data: '192.0.2.1' }, expected: { a: ['192.0.2.1'] } },
    { answer: { type: 'AAAA', name: NAME, data: '2001:db8::1' }, expected: { aaaa: ['2001:db8::1'] } },
    { answer: { type: 'NS', name: NAME, data: 'ns.Example.test' }, expected: { ns: ['ns.example.test'] } },
    { answer: { type: 'PTR', name: NAME, data: 'host.test' }, expected: { ptr: ['host.test'] } },
    {
      answer: { type: 'MX', name: NAME, data: { preference: 10, exchange: 'mail.example.test' } },
      expected: { mx: [{ preference: 10, exchange: 'mail.example.test' }] },
    },
    {
      answer: { type: 'MX', name: NAME, data: { preference: 0, exchange: '.' } },
      expected: { mx: [{ preference: 0, exchange: '.' }] },
    },
    {
      answer: { type: 'TXT', name: NAME, data: ['v=spf1 ', 'include:x -all'] },
      expected: { txt: ['v=spf1 include:x -all'] },
    },
    { answer: { type: 'TXT', name: NAME, data: ['naïve \\ "q"'] }, expected: { txt: ['naïve \\\\ "q"'] } },
    { answer: { type: 'TXT', name: NAME, data: [Buffer.from([0, 0xff, 0x41])] }, expected: { txt: ['\\000\\255A'] } },
    {
      answer: { type: 'SRV', name: NAME, data: { priority: 1, weight: 2, port: 5060, target: 'sip.example.test' } },
      expected: { srv: [{ priority: 1, weight: 2, port: 5060, target: 'sip.example.test' }] },
    },
    {
      answer: { type: 'CAA', name: NAME, data: { flags: 128, tag: 'issue', value: 'ca.test' } },
      expected: { caa: [{ flags: 128, tag: 'issue', value: 'ca.test' }] },
    },
    {
      answer: {
        type: 'SOA',
        name: NAME,
        data: {
          mname: 'ns.test',
          rname: 'admin.test',
          serial: 4_294_967_295,
          refresh: 1,
          retry: 2,
          expire: 3,
          minimum: 4,
        },
      },
      expected: {
        soa: [
          { mname: 'ns.test', rname: 'admin.test', serial: 4_294_967_295, refresh: 1, retry: 2, expire: 3, minimum: 4 },
        ],
      },
    },
  ];
  for (const { answer, expected } of cases) {
    test(`reads ${answer.type}: ${JSON.stringify(expected)}`, () => {
      const { answers, ttl } = decoded(response([{ ttl: 300, ...answer } as Answer]));
      assert.deepEqual(answers, expected);
      assert.equal(ttl, 300);
    });
  }

  test('the time to live is the smallest one', () => {
    const answers: Answer[] = [300, 20, 100].map((ttl, at) => ({ type: 'A', name: NAME, ttl, data: `192.0.2.${at}` }));
    assert.equal(decoded(response(answers)).ttl, 20);
  });

  test('aliases are followed in any order, and records of other names are ignored', () => {
    const answers: Answer[] = [
      { type: 'A', name: 'end.test', ttl: 5, data: '192.0.2.1' },
      { type: 'CNAME', name: 'middle.test', ttl: 5, data: 'End.test' },
      { type: 'A', name: 'bystander.test', ttl: 1, data: '192.0.2.66' },
      { type: 'CNAME', name: NAME, ttl: 9, data: 'middle.test' },
    ];
    const read = decoded(response(answers));
    assert.deepEqual(read.answers, { a: ['192.0.2.1'], cname: ['end.test', 'middle.test'] });
    assert.equal(read.ttl, 5);
  });

  test('alias loops end', () => {
    const answers: Answer[] = [
      { type: 'CNAME', name: NAME, data: 'other.test' },
      { type: 'CNAME', name: 'other.test', data: NAME },
    ];
    assert.deepEqual(decoded(response(answers)).answers, { cname: ['other.test', NAME] });
  });

  test('the upper bits of the response code come from EDNS', () => {
    const bytes = peerEncode({
      type: 'response',
      questions: [{ type: 'A', name: NAME }],
      additionals: [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: 1232,
          extendedRcode: 1,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [],
        },
      ],
    });
    assert.equal(decoded(bytes).rcode, 16);
  });

  test('every IPv6 address is formatted like the operating system does', () => {
    const groups = fc.array(fc.constantFrom(0, 0, 0, 1, 0xdb8, 0xffff), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (parts) => {
        const address = parts.map((part) => part.toString(16)).join(':');
        const { answers } = decoded(response([{ type: 'AAAA', name: NAME, data: address }]));
        const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
        const mapped = /^::ffff:(?<high>[0-9a-f]+):(?<low>[0-9a-f]+)$/.exec(canonical)?.groups;
        assert.equal(
          answers.aaaa![0],
          mapped === undefined ? canonical : `::ffff:${dotted(mapped['high']!)}.${dotted(mapped['low']!)}`,
        );
      }),
    );
  });
});

const dotted = (group: string): string => `${parseInt(group, 16) >> 8}.${parseInt(group, 16) & 255}`;

suite('malformed responses are faults', () => {
  const faults: { what: string; bytes: Uint8Array; fault: string }[] = [
    { what: 'nothing', bytes: new Uint8Array(0), fault: 'message_too_short' },
    { what: 'a header alone', bytes: response([]).subarray(0, HEADER_BYTES), fault: 'message_too_short' },
    {
      what: 'a pointer to itself',
      bytes: handmade(1, 0xc0, QUESTION_END, ...fixed(1, 4), 1, 2, 3, 4),
      fault: 'pointer_not_back',
    },
    {
      what: 'a pointer forward',
      bytes: handmade(1, 0xc0, QUESTION_END + 9, ...fixed(1, 4), 1, 2, 3, 4),
      fault: 'pointer_not_back',
    },
    {
      what: 'a label that points back into itself',
      bytes: handmade(1, 1, 0x61, 0xc0, QUESTION_END, ...fixed(1, 4), 1, 2, 3, 4),
      fault: 'pointer_not_back',
    },
    {
      what: 'an unknown label type',
      bytes: handmade(1, 0x80, 0, ...fixed(1, 4), 1, 2, 3, 4),
      fault: 'label_type_unknown',
    },
    { what: 'a name without an end', bytes: handmade(1, 3, 0x61), fault: 'name_runs_out' },
    { what: 'half a pointer', bytes: handmade(1, 0xc0), fault: 'name_runs_out' },
    { what: 'records that are not there', bytes: handmade(2), fault: 'name_runs_out' },
    { what: 'data beyond the end', bytes: handmade(1, 0xc0, 0x0c, ...fixed(1, 200), 1), fault: 'record_runs_out' },
    {
      what: 'an address of three bytes',
      bytes: handmade(1, 0xc0, 0x0c, ...fixed(1, 3), 1, 2, 3),
      fault: 'rdata_length_wrong',
    },
    {
      what: 'a name longer than its data',
      bytes: handmade(1, 0xc0, 0x0c, ...fixed(2, 1), 1, 0x61, 0),
      fault: 'rdata_length_wrong',
    },
    {
      what: 'a string longer than its data',
      bytes: handmade(1, 0xc0, 0x0c, ...fixed(16, 2), 9, 0x61),
      fault: 'rdata_length_wrong',
    },
    { what: 'too many records', bytes: handmade(60_000), fault: 'too_many_records' },
    {
      what: 'a name of more than 255 bytes',
      bytes: handmade(
        1,
        ...Array.from({ length: 5 }, () => [63, ...Array<number>(63).fill(0x61)]).flat(),
        0,
        ...fixed(1, 0),
      ),
      fault: 'name_too_long',
    },
  ];
  for (const { what, bytes, fault } of faults) {
    test(what, () => assert.equal(faultOf(bytes), fault));
  }

  test('a name that exceeds 255 bytes through pointers', () => {
    // Each name is a label of 63 bytes and a pointer to the previous one.
    const section: number[] = [];
    let before = 0xc000 + HEADER_BYTES;
    for (let index = 0; index < 5; index++) {
      const at = QUESTION_END + section.length;
      const owner = [63, ...Array<number>(63).fill(0x61 + index), before >> 8, before & 255];
      section.push(...owner, ...fixed(5, 2), 0xc0, 0x0c);
      before = 0xc000 + at;
    }
    assert.equal(faultOf(handmade(5, ...section)), 'name_too_long');
  });
});

suite('arbitrary input', () => {
  const rich = response([
    { type: 'CNAME', name: NAME, data: 'alias.example.test' },
    { type: 'A', name: 'alias.example.test', ttl: 60, data: '192.0.2.1' },
    { type: 'MX', name: NAME, data: { preference: 10, exchange: 'mail.example.test' } },
    { type: 'TXT', name: NAME, data: ['one', 'two'] },
    { type: 'SOA', name: NAME, data: { mname: 'ns.test', rname: 'admin.test' } },
    { type: 'SRV', name: NAME, data: { port: 1, target: 'sip.example.test' } },
    { type: 'CAA', name: NAME, data: { tag: 'issue', value: 'ca.test' } },
  ]);

  test('2,000 mutations of a message are read or rejected', () => {
    const random = seededRandom(42);
    let faults = 0;
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(rich);
      const changes = 1 + Math.floor(random.next() * 4);
      for (let change = 0; change < changes; change++) {
        bytes[QUESTION_END + Math.floor(random.next() * (bytes.length - QUESTION_END))] = Math.floor(
          random.next() * 256,
        );
      }
      const cut = random.next() < 0.2 ? Math.floor(random.next() * bytes.length) : bytes.length;
      if (!decodeResponse(bytes.subarray(0, cut), QUESTION_END).ok) faults += 1;
    }
    assert.ok(faults > 400, `only ${faults} of the mutations were faults`);
  });

  test('random bytes are read or rejected', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const result = decodeResponse(bytes, QUESTION_END);
        assert.equal(typeof result.ok, 'boolean');
      }),
      { numRuns: 2000 },
    );
  });

  test('messages of another codec are read correctly', () => {
    const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    const uint16 = fc.integer({ min: 0, max: 65_535 });
    const ttl = fc.integer({ min: 0, max: 0x7fffffff });
    const one = fc.oneof(
      fc.record({ type: fc.constant('A' as const), data: fc.ipV4() }),
      fc.record({ type: fc.constant('NS' as const), data: name }),
      fc.record({ type: fc.constant('PTR' as const), data: name }),
      fc.record({ type: fc.constant('MX' as const), data: fc.record({ preference: uint16, exchange: name }) }),
      fc.record({
        type: fc.constant('SRV' as const),
        data: fc.record({ priority: uint16, weight: uint16, port: uint16, target: name }),
      }),
      fc.record({
        type: fc.constant('CAA' as const),
        data: fc.record({ flags: fc.constantFrom(0, 128), tag: fc.constant('issue' as const), value: label }),
      }),
    );
    fc.assert(
      fc.property(name, fc.array(one, { maxLength: 12 }), ttl, (asked, answers, secs) => {
        const list = answers.map((answer) => ({ ...answer, name: asked, ttl: secs }));
        const questionEnd = query(asked, 1).questionEnd;
        const read = decoded(response(list, asked), questionEnd);
        const expected: Record<string, unknown[]> = {};
        for (const { type, data } of answers)
          (expected[type.toLowerCase()] ??= []).push(typeof data === 'string' ? data : { ...data });
        assert.deepEqual(read.answers, expected);
        assert.equal(read.ttl, answers.length === 0 ? null : secs);
      }),
      { numRuns: 500 },
    );
  });
});
