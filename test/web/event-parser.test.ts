import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EventStreamParser } from '../../web/src/api/event-parser.ts';

function parse(chunks: readonly string[]): unknown[] {
  const parser = new EventStreamParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

test('comments are dropped, data lines joined, the name defaults to message', () => {
  assert.deepEqual(parse([': hello\n\ndata: one\ndata: two\n\nevent: change\ndata:{"a":1}\n\n']), [
    { event: 'message', data: 'one\ntwo', id: null },
    { event: 'change', data: '{"a":1}', id: null },
  ]);
});

test('an end without data is reported; a break in the middle reports nothing', () => {
  assert.deepEqual(parse(['event: end\n\n']), [{ event: 'end', data: '', id: null }]);
  assert.deepEqual(parse(['event: change\ndata: {"half']), []);
});

test('chunk boundaries make no difference, with any line end', () => {
  const source = fc
    .constantFrom('\n', '\r\n', '\r')
    .map((end) =>
      [': ping', '', 'event: change', 'data: {"tasks":[]}', 'id: 7', '', 'event: end', 'data: x', '', ': tail'].join(
        end,
      ),
    );
  fc.assert(
    fc.property(source, fc.array(fc.nat(80), { maxLength: 12 }), (text, cuts) => {
      const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
      const chunks = at.slice(1).map((end, i) => text.slice(at[i], end));
      assert.deepEqual(parse(chunks), [
        { event: 'change', data: '{"tasks":[]}', id: '7' },
        { event: 'end', data: 'x', id: '7' },
      ]);
    }),
  );
});
