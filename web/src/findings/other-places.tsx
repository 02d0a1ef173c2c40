import type { FindingDetail } from '@heddle/client';
import { Link } from 'wouter';
import { Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { FindingBadge, TRIAGE_LABEL } from './finding-state.tsx';
import { placesHref } from './next-steps.tsx';

type Place = FindingDetail['elsewhere'][number];

const COLUMNS: readonly Column<Place>[] = [
  {
    header: 'File',
    grow: true,
    cell: ({ id, path, line }) => (
      <Link href={`/findings/${id}`} title={`${path}:${line}`}>
        <code>
          {path}:{line}
        </code>
      </Link>
    ),
  },
  { header: 'Target', cell: ({ target }) => target },
  { header: 'State', cell: ({ state }) => <FindingBadge state={state} /> },
  { header: 'Triage', optional: true, cell: ({ triage }) => TRIAGE_LABEL[triage] },
  { header: 'First seen', cell: ({ first_seen }) => <Ago at={first_seen} /> },
];

/** Where else the same secret was found. */
export function OtherPlaces({ finding }: { finding: FindingDetail }) {
  const { elsewhere } = finding;
  const all = placesHref(finding);
  if (elsewhere.length === 0 || all === null) return null;
  return (
    <Section title="Other places of this secret" beside={<Link href={all}>All places</Link>}>
      <Table
        label="Other places"
        rows={elsewhere}
        rowId={({ id }) => id}
        href={({ id }) => `/findings/${id}`}
        columns={COLUMNS}
      />
    </Section>
  );
}
