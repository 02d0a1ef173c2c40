import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CARD_HEIGHT, CARD_WIDTH } from '../../web/src/layout/geometry.ts';
import type { LayoutInput } from '../../web/src/layout/geometry.ts';
import { layeredLayout } from '../../web/src/layout/layered.ts';
import { adjacencyOf, componentsOf, levelsOf } from '../../web/src/layout/levels.ts';
import { levelCurve, pointsOf } from '../../web/src/layout/curves.ts';

function graphOf(count: number, pairs: readonly (readonly [number, number])[]): LayoutInput {
  return { count, edges: Int32Array.from(pairs.flat()) };
}

/** Random graphs whose edges lead from lower to higher numbers. */
const graphs = fc.integer({ min: 1, max: 60 }).chain((count) =>
  fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 90 }).map((pairs) =>
    graphOf(
      count,
      pairs.filter(([a, b]) => a < b),
    ),
  ),
);

function assertApart(positions: Float32Array): void {
  for (let i = 0; i < positions.length; i += 2) {
    assert.ok(Number.isFinite(positions[i]!) && Number.isFinite(positions[i + 1]!));
    for (let j = 0; j < i; j += 2) {
      const dx = Math.abs(positions[i]! - positions[j]!);
      const dy = Math.abs(positions[i + 1]! - positions[j + 1]!);
      assert.ok(dx >= CARD_WIDTH || dy >= CARD_HEIGHT, `cards ${i / 2} and ${j / 2} overlap`);
    }
  }
}

test('no two cards overlap, whatever the graph', () => {
  fc.assert(fc.property(graphs, (graph) => assertApart(layeredLayout(graph))));
});

test('a child stands on a later level than each of its parents', () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const levels = levelsOf(graph, adjacencyOf(graph, 'children'));
      for (let e = 0; e < graph.edges.length; e += 2)
        assert.ok(levels[graph.edges[e]!]! < levels[graph.edges[e + 1]!]!);
    }),
  );
});

test('components have every node once, and no edge leaves one', () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const home = new Map(componentsOf(graph).flatMap((nodes, i) => nodes.map((node) => [node, i] as const)));
      assert.equal(home.size, graph.count);
      for (let e = 0; e < graph.edges.length; e += 2) {
        assert.equal(home.get(graph.edges[e]!), home.get(graph.edges[e + 1]!));
      }
    }),
  );
});

test('edges lead from left to right within one band', () => {
  const positions = layeredLayout(
    graphOf(5, [
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 3],
      [3, 4],
    ]),
  );
  for (const [parent, child] of [
    [0, 1],
    [0, 2],
    [1, 3],
    [3, 4],
  ] as const) {
    assert.ok(positions[2 * parent]! + CARD_WIDTH < positions[2 * child]!);
  }
});

test('a long chain and a wide fan both fit the shape of a screen', () => {
  const chain = graphOf(
    2000,
    Array.from({ length: 1999 }, (_, i) => [i, i + 1] as const),
  );
  const fan = graphOf(
    3002,
    Array.from(
      { length: 3000 },
      (_, i) =>
        [
          [0, i + 1],
          [i + 1, 3001],
        ] as const,
    ).flat(),
  );
  const loose = graphOf(5000, []);
  for (const graph of [chain, fan, loose]) {
    const positions = layeredLayout(graph);
    const xs = positions.filter((_, i) => i % 2 === 0);
    const ys = positions.filter((_, i) => i % 2 === 1);
    const spread = (values: Float32Array): number =>
      values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b));
    const ratio = spread(xs) / spread(ys);
    assert.ok(ratio > 0.5 && ratio < 4, `${graph.count} tasks are ${ratio.toFixed(1)} times as wide as high`);
  }
});

test('an empty graph and a cycle, which cannot occur, do no harm', () => {
  assert.equal(layeredLayout(graphOf(0, [])).length, 0);
  assertApart(
    layeredLayout(
      graphOf(3, [
        [0, 1],
        [1, 2],
        [2, 0],
      ]),
    ),
  );
});

test('a curve starts and ends level at the sides of the cards, and crosses levels level, too', () => {
  const from = { x: 0, y: 0 };
  const to = { x: 900, y: 300 };
  for (const lanes of [[], [{ x: 450, y: 120 }]]) {
    const points = levelCurve(from, to, lanes);
    assert.equal(points.length % 3, 1, 'a start, then two control points and an end for each curve');
    assert.deepEqual(
      [points[0], points.at(-1)],
      [
        { x: CARD_WIDTH / 2, y: 0 },
        { x: to.x - CARD_WIDTH / 2, y: to.y },
      ],
    );
    for (let i = 0; i + 3 < points.length; i += 3) {
      assert.equal(points[i]!.y, points[i + 1]!.y);
      assert.equal(points[i + 2]!.y, points[i + 3]!.y);
    }
    for (const lane of lanes) assert.ok(points.some(({ x, y }) => x === lane.x - CARD_WIDTH / 2 && y === lane.y));
  }
});

test('control points are converted back to the original points', () => {
  const from = { x: 0, y: 0 };
  const to = { x: 1000, y: 400 };
  const points = [
    { x: 230, y: 20 },
    { x: 500, y: 150 },
    { x: 760, y: 390 },
  ];
  // As the layout creates them: weights from border to border, distances from the line between the centers.
  const border = [
    { x: CARD_WIDTH / 2, y: (20 / 230) * (CARD_WIDTH / 2) },
    { x: to.x - CARD_WIDTH / 2, y: to.y - (10 / 240) * (CARD_WIDTH / 2) },
  ];
  const length = Math.hypot(to.x, to.y);
  const share = (p: { x: number; y: number }): number => (p.x * to.x + p.y * to.y) / length ** 2;
  const [first, last] = [share(border[0]!), share(border[1]!)];
  const found = pointsOf(
    {
      weights: points.map((p) => (share(p) - first) / (last - first)),
      distances: points.map((p) => (p.x * -to.y + p.y * to.x) / length),
    },
    from,
    to,
  );
  found.forEach((p, i) => {
    assert.ok(Math.hypot(p.x - points[i]!.x, p.y - points[i]!.y) < 0.5, `point ${i}: ${p.x}, ${p.y}`);
  });
});
