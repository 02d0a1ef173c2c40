import type { RunName } from '@heddle/client';
import { Link } from 'wouter';
import { listRunNames } from '../api/runs.ts';
import { useLiveList } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { ListView } from '../ui/list-view.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { StateBadge } from '../ui/state.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Took } from '../ui/time.tsx';

const COLUMNS: readonly Column<RunName>[] = [
  { header: 'Last', cell: ({ last }) => <StateBadge state={stateOf(last.state)} /> },
  {
    header: 'Name',
    grow: true,
    cell: ({ name }) => <Link href={hrefOf(name)}>{name}</Link>,
  },
  {
    header: 'Latest runs',
    cell: ({ recent }) => (
      <span className="recent-runs">
        {[...recent].reverse().map(({ id, state, created_at }) => (
          <Link key={id} href={`/runs/${id}`} aria-label={`${STATE[stateOf(state)].label}, ${created_at}`}>
            <StateGlyph state={stateOf(state)} size={14} />
          </Link>
        ))}
      </span>
    ),
  },
  { header: 'Created', cell: ({ last }) => <Ago at={last.created_at} /> },
  { header: 'Took', number: true, cell: ({ last }) => <Took from={last.created_at} to={last.ended_at} /> },
];

/** One row for each name, with its latest runs. */
export function RunNames({ q }: { q: string }) {
  const list = useLiveList<RunName>(['run-names', q], async (after, signal) => {
    const { names, next } = await listRunNames(q, after, signal);
    return { rows: names, next };
  });
  return (
    <ListView
      label="Names of runs"
      list={list}
      columns={COLUMNS}
      rowId={({ name }) => name}
      href={({ name }) => hrefOf(name)}
      empty={<Empty title="No named runs">Give batches and workflows a name to compare their runs.</Empty>}
    />
  );
}

function hrefOf(name: string): string {
  return `/runs/grid?name=${encodeURIComponent(name)}`;
}
