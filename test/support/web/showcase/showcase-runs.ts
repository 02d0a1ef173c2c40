/** The runs of the showcase. */
import type { Behaviour } from './showcase-kinds.ts';

export const ORDERS = 'nightly orders ETL';

const REGIONS = ['eu', 'us', 'ap'];

/** The batch of a day: each region is extracted, transformed and loaded; then a report. Loads of some regions fail. */
export function ordersOf(day: string, failing: readonly string[]): object[] {
  const task = (id: string, kind: string, after: readonly string[], behaviour: Behaviour): object => ({
    id,
    name: id.replace('-', ' '),
    kind,
    dependencies: after.map((name) => ({ id: name })),
    metadata: { day, ...behaviour },
  });
  return [
    ...REGIONS.flatMap((region, at) => [
      task(`extract-${region}`, 'Extract', [], {
        secs: 1 + at,
        lines: [`asking for the orders of ${day}`, `${at + 3},120 orders`],
      }),
      task(`transform-${region}`, 'Transform', [`extract-${region}`], {
        secs: 0.5 + at / 2,
        lines: ['3 columns renamed'],
      }),
      task(`load-${region}`, 'Load', [`transform-${region}`], loadOf(region, failing)),
    ]),
    task(
      'report',
      'Report',
      REGIONS.map((region) => `load-${region}`),
      {
        secs: 0.5,
        result: { day, orders: 12_360, revenue: 412_833.5 },
        files: { 'report.csv': 'region,orders\neu,3120\nus,4120\nap,5120\n' },
      },
    ),
  ];
}

function loadOf(region: string, failing: readonly string[]): Behaviour {
  const lines = ['connecting to the warehouse', 'loading orders', 'waiting for the connection'];
  if (!failing.includes(region)) return { secs: 1, lines: lines.slice(0, 2) };
  return { secs: 1.5, lines, fails: 'connect ECONNREFUSED 10.0.0.12:5432' };
}

/** A task, many equal ones after it, and one after them. */
export const RESIZE: readonly object[] = [
  { id: 'list', name: 'list images', kind: 'Extract', metadata: { secs: 0.5 } },
  ...Array.from({ length: 400 }, (_, at) => ({
    id: `resize-${at}`,
    name: `image ${at + 1}`,
    kind: 'Resize',
    dependencies: [{ id: 'list' }],
    metadata: { secs: 4, ...(at % 40 === 7 ? { fails: 'not a JPEG: the file begins with "<html>"' } : {}) },
  })),
  {
    id: 'publish',
    name: 'publish',
    kind: 'Report',
    dependencies: Array.from({ length: 400 }, (_, at) => ({ id: `resize-${at}`, requires_success: false })),
  },
];

/** A workflow that is under way for a while. */
export const INVOICES: object = {
  name: 'monthly invoices',
  root: {
    mode: 'sequential',
    children: [
      { id: 'list customers', kind: 'Extract', input: { secs: 1, lines: ['48 customers'] } },
      {
        id: 'render',
        mode: 'parallel',
        policy: 'ContinueOnPartialFailure',
        children: Array.from({ length: 24 }, (_, at) => ({
          id: `customer ${at + 1}`,
          kind: 'Render',
          priority: 5,
          input: at === 4 ? { secs: 2, fails: 'the customer has no address' } : { secs: at < 18 ? 2 : 600 },
        })),
      },
      { id: 'send', kind: 'Send', input: {} },
    ],
  },
};
