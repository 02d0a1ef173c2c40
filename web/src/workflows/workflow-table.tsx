import type { Workflow } from '@heddle/client';
import { CREATED, ListTable, nameColumn, progressColumn, TOOK } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { stateFromWire } from './node-state.ts';
import { StateChip } from './state-chip.tsx';
import { workflowAddress } from './address.ts';

const COLUMNS: readonly Column<Workflow>[] = [
  nameColumn('Workflow', workflowAddress),
  {
    header: 'State',
    cell: ({ state, paused, archived }) => (
      <>
        <StateChip state={stateFromWire(state)} paused={paused} />
        {archived && <span className="quiet"> · archived</span>}
      </>
    ),
  },
  progressColumn(() => ' tasks ended'),
  CREATED,
  TOOK,
];

/** Workflows as a table: state, name, progress, start time and duration. */
export function WorkflowTable({ rows, now }: { rows: readonly Workflow[]; now: number }) {
  return <ListTable className="workflow-table" columns={COLUMNS} rows={rows} now={now} />;
}
