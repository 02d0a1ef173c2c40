import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { buildAutomaton } from '../../../../../scripts/build-automaton.ts';
import { KeywordScanner } from '../../../src/detect/keywords/scanner.ts';
import { LookAhead, lookAhead, UNDECIDED } from '../../../src/detect/regex/look-ahead.ts';
import { parseRegex } from '../../../src/detect/regex/parse.ts';
import { buildKeywordAutomaton, outputsOf } from '../../../src/detect/keywords/trie.ts';

const MODULE = join(import.meta.dirname, '../../../src/detect/keywords/automaton.wasm');

test('the committed module matches its source', async () => {
  const compiled = Buffer.from(await buildAutomaton());
  assert.ok(compiled.equals(readFileSync(MODULE)), 'run node scripts/build-automaton.ts and commit automaton.wasm');
});

const wordsOf = (minLength: number) =>
  fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'k', '_', '\xe9'), minLength, maxLength: 6 }), {
    minLength: 1,
    maxLength: 8,
  });
/** Those of at least three letters are first searched by their beginnings. */
const words = fc.oneof(wordsOf(1), wordsOf(3));
const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'K', 'k', '_', '\xe9', 'x'), maxLength: 200 });

/** Returns end and word of every hit in `(begin, end]`, longest first. */
function naiveHits(keywords: readonly string[], text: string, begin: number, end: number): [number, string][] {
  const lower = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const hits: [number, string][] = [];
  for (let at = begin + 1; at <= end; at++) {
    const here = keywords.filter((word) => lower.slice(0, at).endsWith(word));
    for (const word of here.sort((left, right) => right.length - left.length)) hits.push([at, word]);
  }
  return hits;
}

test('finds every keyword in order, in four lanes or by beginnings, in any part of the buffer', () => {
  fc.assert(
    fc.property(words, texts, fc.nat(200), (keywords, text, from) => {
      const automaton = buildKeywordAutomaton(keywords);
      const scanner = new KeywordScanner(automaton, 1024);
      const address = scanner.allocate(text.length);
      scanner.bytes.write(text, address, 'latin1');
      const begin = Math.min(from, text.length);
      const hits: [number, string][] = [];
      scanner.scan(address + begin, address + text.length, { floor: address, limit: address }, (end, state) => {
        for (const word of outputsOf(automaton, state)) hits.push([end - address, keywords[word]!]);
      });
      assert.deepEqual(hits, naiveHits(keywords, text, begin, text.length));
    }),
    { numRuns: 400 },
  );
});

for (const keyword of ['aa', 'aaa'])
  test(`finds more hits of ${keyword} than a block may have`, () => {
    const length = 300_000;
    const scanner = new KeywordScanner(buildKeywordAutomaton([keyword]), length);
    const address = scanner.allocate(length);
    scanner.bytes.fill('a', address, address + length);
    let count = 0;
    let last = 0;
    scanner.scan(address, address + length, { floor: address, limit: address }, (end) => {
      assert.ok(end > last);
      last = end;
      count++;
    });
    assert.equal(count, length - keyword.length + 1);
  });

test('finds the keywords of an automaton with more states than 16 bits number', () => {
  const keywords = Array.from({ length: 400 }, (_, at) => `${at}-${'k'.repeat(90)}${at}`);
  const automaton = buildKeywordAutomaton(keywords);
  assert.ok(automaton.states > 0x8000, `${automaton.states} states`);
  const text = `${keywords.join(' ')} kkk`;
  const scanner = new KeywordScanner(automaton, text.length);
  const address = scanner.allocate(text.length);
  scanner.bytes.write(text, address, 'latin1');
  const hits: [number, string][] = [];
  scanner.scan(address, address + text.length, { floor: address, limit: address }, (end, state) => {
    for (const word of outputsOf(automaton, state)) hits.push([end - address, keywords[word]!]);
  });
  assert.deepEqual(hits, naiveHits(keywords, text, 0, text.length));
});

test('leaves out exactly the hits after which a look-ahead knows that nothing matches', () => {
  const sources = fc.constantFrom('a', '[ab]{1,3}k', '[^a]{2}b', 'b*_', 'a{0,90}b');
  fc.assert(
    fc.property(words, texts, sources, fc.nat(220), (keywords, text, source, readable) => {
      const automaton = buildKeywordAutomaton(keywords);
      const scanner = new KeywordScanner(automaton, 1024);
      const address = scanner.allocate(text.length);
      scanner.bytes.write(text, address, 'latin1');
      const limit = address + Math.min(readable, text.length);
      const ahead = new LookAhead([{ node: parseRegex(`(?i:k)${source}`).node, literal: 'k' }], (length) =>
        scanner.allocateLookAhead(length),
      );
      const state = [...Array(automaton.states).keys()].findLast((each) => outputsOf(automaton, each).length > 0)!;
      const hits = (): number[][] => {
        const visited: number[][] = [];
        scanner.scan(address, address + text.length, { floor: address, limit }, (...hit) => visited.push(hit));
        return visited;
      };
      const all = hits();
      assert.ok(all.every(([, , outcome]) => outcome === 0));
      const outlooks = new Map(all.map(([end]) => [end, ahead.outlook(scanner.bytes, end!, limit)]));
      const expected = all.filter(([end, at]) => at !== state || outlooks.get(end) !== 0);
      scanner.lookAhead(state, ahead.table);
      const left = hits();
      assert.deepEqual(
        left.map(([end, at]) => [end, at]),
        expected.map(([end, at]) => [end, at]),
      );
      for (const [end, at, outcome] of left) {
        if (at !== state) assert.equal(outcome, 0);
        else if (outcome! < 0) assert.equal(ahead.outlook(scanner.bytes, end!, limit, outcome), outlooks.get(end));
        else assert.equal(outlooks.get(end), UNDECIDED);
      }
      assert.equal(ahead.takeLeftOut(), all.length - expected.length);
      assert.equal(ahead.takeLeftOut(), 0);
      scanner.lookAhead(state, null);
      assert.deepEqual(hits(), all);
    }),
    { numRuns: 400 },
  );
});

test('has memory for a bounded number of look-aheads', () => {
  const scanner = new KeywordScanner(buildKeywordAutomaton(['k']), 1024);
  const patterns = [{ node: parseRegex('k[ab]{3}c').node, literal: 'k' }];
  const make = () => lookAhead(patterns, (length) => scanner.allocateLookAhead(length));
  let made = 0;
  while (make() !== null) made++;
  assert.ok(made > 100, `${made} look-aheads`);
  assert.notEqual(scanner.allocate(1024), 0);
});

test('beginnings are used only for few keywords of at least three bytes', () => {
  const many = Array.from({ length: 33 }, (_, at) => `key${at}`);
  assert.notEqual(buildKeywordAutomaton(many.slice(1)).beginnings, null);
  for (const words of [many, ['key', 'ab'], []]) assert.equal(buildKeywordAutomaton(words).beginnings, null);
});

test('counts newlines and finds the last one, at any position', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('\n', 'x', '\x8a'), maxLength: 100 }), fc.nat(100), (text, from) => {
      const scanner = new KeywordScanner(buildKeywordAutomaton(['x']), 1024);
      const address = scanner.allocate(128);
      scanner.bytes.write(text, address, 'latin1');
      const begin = Math.min(from, text.length);
      const part = text.slice(begin);
      assert.equal(scanner.countNewlines(address + begin, address + text.length), part.split('\n').length - 1);
      const last = part.lastIndexOf('\n');
      assert.equal(scanner.lastNewline(address + begin, address + text.length), last < 0 ? -1 : address + begin + last);
    }),
  );
});

test('finds runs of base64 letters and URL escapes, however the search is divided', () => {
  const pieces = fc.constantFrom(
    'A',
    'z9',
    '+/-_',
    'abcdefghijklmnop',
    ' ',
    '=',
    '%',
    '%2F',
    '%zz',
    '.',
    '@',
    '[',
    '{',
    '\xff',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), fc.nat(300), (parts, cut) => {
      const text = parts.join('');
      const scanner = new KeywordScanner(buildKeywordAutomaton(['x']), 4096);
      const address = scanner.allocate(2048);
      scanner.bytes.write(text, address, 'latin1');
      const end = address + text.length;
      const middle = Math.min(address + cut, end);
      const first = scanner.findEncoded(address, middle, end, 0, 24);
      const second = scanner.findEncoded(middle, end, end, first.open, 24);
      const found = [...first.records, ...second.records].map((record) => [record.address - address, record.length]);
      assert.deepEqual(found, runsAndEscapes(text));
      assert.equal(second.open, /[A-Za-z0-9+/_-]*$/.exec(text)![0].length);
    }),
    { numRuns: 1000 },
  );
});

/** Returns the end and length of completed runs, and the position of escapes, in order. */
function runsAndEscapes(text: string): number[][] {
  const runs = [...text.matchAll(/[A-Za-z0-9+/_-]{24,}/g)].map((match) => [
    match.index + match[0].length,
    match[0].length,
  ]);
  const escapes = [...text.matchAll(/%(?=[0-9a-fA-F]{2})/g)].map((match) => [match.index, 0]);
  return [...runs.filter(([end]) => end! < text.length), ...escapes].sort(
    (left, right) => left[0]! - right[0]! || right[1]! - left[1]!,
  );
}
