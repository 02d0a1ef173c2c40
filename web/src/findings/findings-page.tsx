import { Fragment, useCallback, useEffect, useState } from 'react';
import { FINDING_STATES, listFindings, TRIAGE_STATES } from '../api/findings.ts';
import type { Finding, FindingQuery } from '../api/findings.ts';
import { ListPage, PAGE_SIZE } from '../list/list-page.tsx';
import { writeAddress } from '../list/place.ts';
import { usePolled } from '../live/use-polled.ts';
import { formatAgo, formatMoment, parseTime } from '../times.ts';
import { FindingDetails } from './finding-details.tsx';
import { FindingFilters, NO_FILTER } from './finding-filters.tsx';
import { FindingChip } from './finding-state.tsx';

interface Place {
  query: FindingQuery;
  /** The last finding of each page before this one. */
  after: readonly string[];
  /** The finding that is open. */
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
  return { query, after: [], open: search.get('finding') };
}

function writePlace({ query, open }: Place): void {
  writeAddress('/findings', { ...query, finding: open });
}

/** What scans found, newest first; a row opens what is known of it and what can be made of it. */
export function FindingsPage() {
  const [place, setPlace] = useState(readPlace);
  const { query, after, open } = place;
  const last = after.at(-1) ?? null;
  const read = useCallback(
    async (signal: AbortSignal) => ({
      query,
      last,
      findings: await listFindings(query, { after: last, size: PAGE_SIZE }, signal),
    }),
    [query, last],
  );
  const polled = usePolled(read);
  const { value } = polled;
  const findings = value?.findings ?? null;
  // Until another page has come, the rows on the screen are not those that the next page comes after.
  const current = value?.query === query && value.last === last ? findings : null;
  useEffect(() => writePlace(place), [place]);
  const filter = (change: Partial<FindingQuery>): void =>
    setPlace((before) => ({ query: { ...before.query, ...change }, after: [], open: null }));
  const turn = (page: number): void => {
    const oldest = current?.at(-1)?.id;
    const pages = page < after.length || oldest === undefined ? after.slice(0, page) : [...after, oldest];
    setPlace({ query, after: pages, open: null });
  };
  return (
    <ListPage
      title="Findings"
      beside={<p className="quiet">Secrets that scans found; the secrets themselves are stored nowhere</p>}
      filters={<FindingFilters query={query} onQuery={filter} />}
      rows={findings}
      counted={current}
      polled={polled}
      page={after.length}
      onPage={turn}
      empty={<NoFindings query={query} page={after.length} />}
    >
      {(rows, now) => (
        <FindingTable
          findings={rows}
          now={now}
          open={open}
          onOpen={(id) => setPlace({ ...place, open: id })}
          onChanged={polled.reread}
        />
      )}
    </ListPage>
  );
}

interface FindingTableProps {
  findings: readonly Finding[];
  now: number;
  open: string | null;
  onOpen: (id: string | null) => void;
  onChanged: () => void;
}

function FindingTable({ findings, now, open, onOpen, onChanged }: FindingTableProps) {
  return (
    <table className="batch-table finding-table">
      <thead>
        <tr>
          <th scope="col">Finding</th>
          <th scope="col">State</th>
          <th scope="col">Target</th>
          <th scope="col">Secret</th>
          <th scope="col">Last seen</th>
        </tr>
      </thead>
      <tbody>
        {findings.map((finding) => (
          <Fragment key={finding.id}>
            <FindingRow
              finding={finding}
              now={now}
              open={open === finding.id}
              onOpen={(isOpen) => onOpen(isOpen ? finding.id : null)}
            />
            {open === finding.id && (
              <tr className="finding-more">
                <td colSpan={5} id={`details-${finding.id}`}>
                  <FindingDetails finding={finding} now={now} onDone={onChanged} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface FindingRowProps {
  finding: Finding;
  now: number;
  open: boolean;
  onOpen: (open: boolean) => void;
}

function FindingRow({ finding, now, open, onOpen }: FindingRowProps) {
  const seen = parseTime(finding.last_seen);
  return (
    <tr data-open={open}>
      <td className="finding-name">
        <button
          type="button"
          className="link"
          aria-expanded={open}
          aria-controls={open ? `details-${finding.id}` : undefined}
          onClick={() => onOpen(!open)}
        >
          <span aria-hidden="true">{open ? '▾' : '▸'}</span> {finding.rule_id}
        </button>
        <code className="finding-place" title={`${finding.path}:${finding.line}`}>
          {finding.path}:{finding.line}
        </code>
      </td>
      <td>
        <FindingChip finding={finding} />
      </td>
      <td className="finding-target" title={finding.target}>
        {finding.target}
      </td>
      <td>
        <code>{finding.redacted}</code>
      </td>
      <td title={seen === null ? '' : formatMoment(seen)}>{seen === null ? '–' : formatAgo(seen, now)}</td>
    </tr>
  );
}

function NoFindings({ query, page }: { query: FindingQuery; page: number }) {
  if (page > 0) return <p className="notice">There are no older findings.</p>;
  if (JSON.stringify(query) !== JSON.stringify(NO_FILTER))
    return <p className="notice">Nothing was found that fits.</p>;
  return (
    <div className="notice">
      <p>Nothing was found yet.</p>
      <p className="quiet">
        A workflow with an <code>ObjectScanGenerator</code> and an <code>ObjectScanAggregator</code> brings findings
        here: <code>heddle workflow submit examples/secret-scan/workflow.json</code>.
      </p>
    </div>
  );
}
