import { formatJson } from '../data/parse-input.ts';
import type { Document } from './document-form.tsx';

const BATCH = [
  { id: 'fetch', name: 'Fetch the orders', kind: 'Command', metadata: { run: 'echo 3 orders' } },
  {
    name: 'Write the report',
    kind: 'Command',
    metadata: { run: 'echo done' },
    dependencies: [{ id: 'fetch' }],
  },
];

const WORKFLOW = {
  name: 'nightly orders',
  root: {
    mode: 'sequential',
    children: [
      { id: 'fetch', kind: 'Command', input: { run: 'echo 3 orders' } },
      { id: 'report', kind: 'Command', input: { run: 'echo done' } },
    ],
  },
};

/** What the editors begin with. */
export const EXAMPLES: Readonly<Record<'batch' | 'workflow', Document>> = {
  batch: { name: '', text: formatJson(BATCH), note: null },
  workflow: { name: '', text: formatJson(WORKFLOW), note: null },
};
