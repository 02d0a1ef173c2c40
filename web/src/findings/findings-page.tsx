import { FINDING_STATES, listFindings, TRIAGE_STATES } from '../api/findings.ts';
import type { Finding } from '@heddle/client';
import type { FindingQuery } from '../api/findings.ts';
import { useCursorList } from '../list/cursor-list.ts';
import { ListPage } from '../list/list-page.tsx';
import { agoOf, momentOf } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { OpeningTable } from '../list/opening-table.tsx';
import { writeAddress } from '../list/place.ts';
import { FindingDetails } from './finding-details.tsx';
import { FindingFilters, NO_FILTER } from './finding-filters.tsx';
import { FindingChip } from './finding-state.tsx';

interface Place {
  query: FindingQuery;
  /** The open finding. */
  open: string | null;
}

function readPlace(): Place {
  const search = new URLSearchParams(location.search);
  const text = (name: string): string => search.get(name) ?? '';
  const oneOf = <Name extends string>(name: string, names: readonly Name[]): Name | '' =>
    names.find((each) => each === search.get(name)) ?? '';
  const query: FindingQuery = {
    target: text('target'),
    rule: text('rule'),
    path: text('path'),
    state: oneOf('state', FINDING_STATES),
    triage: oneOf('triage', TRIAGE_STATES),
  };
  return { query, open: search.get('finding') };
}

function writePlace({ query, open }: Place): void {
  writeAddress('/findings', { ...query, finding: open });
}

const COLUMNS: readonly Column<Finding>[] = [
  { header: 'State', cell: (finding) => <FindingChip finding={finding} /> },
  { header: 'Target', className: 'finding-target', title: ({ target }) => target, cell: ({ target }) => target },
  { header: 'Secret', cell: ({ redacted }) => <code>{redacted}</code> },
  {
    header: 'Last seen',
    title: ({ last_seen }) => momentOf(last_seen),
    cell: ({ last_seen }, now) => agoOf(last_seen, now),
  },
];

const OPENER = {
  header: 'Finding',
  label: ({ rule_id }: Finding) => rule_id,
  below: ({ path, line }: Finding) => (
    <code className="finding-place" title={`${path}:${line}`}>
      {path}:{line}
    </code>
  ),
};

/** Findings of scans, newest first; a row opens the details and the triage. */
export function FindingsPage() {
  const list = useCursorList({ start: readPlace, write: writePlace, read: listFindings });
  const { query, polled, page } = list;
  return (
    <ListPage
      title="Findings"
      beside={<p className="quiet">Secrets found by scans; the secrets themselves are not stored</p>}
      filters={<FindingFilters query={query} onQuery={list.filter} />}
      rows={list.rows}
      counted={list.current}
      polled={polled}
      page={page}
      onPage={list.turn}
      empty={<NoFindings query={query} page={page} />}
    >
      {(rows, now) => (
        <OpeningTable
          className="finding-table"
          opener={OPENER}
          columns={COLUMNS}
          rows={rows}
          now={now}
          open={list.open}
          onOpen={list.show}
          details={(finding) => <FindingDetails finding={finding} now={now} onDone={polled.reread} />}
        />
      )}
    </ListPage>
  );
}

function NoFindings({ query, page }: { query: FindingQuery; page: number }) {
  if (page > 0) return <p className="notice">No older findings.</p>;
  if (JSON.stringify(query) !== JSON.stringify(NO_FILTER)) return <p className="notice">No matching findings.</p>;
  return (
    <div className="notice">
      <p>No findings yet.</p>
      <p className="quiet">
        A workflow with an <code>ObjectScanGenerator</code> and an <code>ObjectScanAggregator</code> stores findings
        here: <code>heddle workflow submit examples/secret-scan/workflow.json</code>.
      </p>
    </div>
  );
}
