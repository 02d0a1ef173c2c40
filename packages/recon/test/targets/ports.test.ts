import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { parsePorts } from '../../src/targets/ports.ts';
import { TOP_TCP_PORTS } from '../../src/targets/top-ports.ts';

test('the list of top ports has a thousand distinct ports', () => {
  assert.equal(TOP_TCP_PORTS.length, 1000);
  assert.equal(new Set(TOP_TCP_PORTS).size, 1000);
  assert.ok(TOP_TCP_PORTS.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535));
  const first = new Set(TOP_TCP_PORTS.slice(0, 100));
  for (const port of [21, 22, 25, 53, 80, 443, 445, 3306, 3389, 5432, 6379, 8080])
    assert.ok(first.has(port), String(port));
});

test('its beginning is ordered by relevance, not by number', () => {
  assert.deepEqual(parsePorts('top-1000'), TOP_TCP_PORTS);
  const hundred = parsePorts('top-100');
  assert.equal(new Set(hundred).size, 100);
  const high = hundred.filter((port) => port >= 49_152);
  assert.deepEqual(high, [61_616], 'only well-known ports in the ephemeral range');
  assert.deepEqual(hundred.slice(0, 8), [80, 443, 22, 8080, 8443, 21, 25, 53]);
  const ascents = TOP_TCP_PORTS.filter((port, index) => port > (TOP_TCP_PORTS[index - 1] ?? 0)).length;
  assert.ok(ascents < 990, 'not sorted');
});

test('ports, ranges, lists and exclusions', () => {
  assert.deepEqual(parsePorts('22,80-82, 22'), [22, 80, 81, 82]);
  assert.deepEqual(parsePorts('!81,80-82'), [80, 82]);
  assert.deepEqual(parsePorts('top-3'), TOP_TCP_PORTS.slice(0, 3));
  assert.equal(parsePorts('top-100,!443').length, 99);
  assert.equal(parsePorts('all').length, 65_535);
  assert.equal(parsePorts('-').length, 65_535);
  assert.deepEqual(parsePorts('all,!top-1000,!1-65000').slice(0, 2), [65_001, 65_002]);
});

test('an invalid port is rejected with its text and the expected form', () => {
  for (const [text, fault] of [
    ['80,0', /ports: "0" is not a port from 1 to 65535/],
    ['65536', /"65536" is not a port/],
    ['90-80', /"90-80" ends before it begins/],
    ['080', /"080" is not a port/],
    ['0x50', /"0x50" is not a port/],
    ['1-2-3', /"1-2-3" is not a port/],
    ['http', /"http" is not a port/],
    ['top-1001', /"top-1001" is not a known list; use top-1 to top-1000/],
    ['top-0', /is not a known list/],
    ['', /the list is empty; name some/],
    ['!443', /the list is empty; name what to exclude them from: all,!443/],
    ['80,!80', /every named port is excluded/],
  ] as const) {
    assert.throws(() => parsePorts(text), fault, text);
  }
});

test('any input is a list of ports or an error', () => {
  const piece = fc.constantFrom('1', '80', '-', ',', '!', 'top-', '65535', '70000', ' ', 'all', '0');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      let ports: number[];
      try {
        ports = parsePorts(pieces.join(''));
      } catch (error) {
        assert.equal((error as Error).name, 'HeddleError');
        return;
      }
      assert.equal(new Set(ports).size, ports.length);
      assert.ok(ports.length > 0 && ports.every((port) => port >= 1 && port <= 65_535));
    }),
  );
});
