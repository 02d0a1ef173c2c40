import type { Finding } from '@heddle/client';
import { useState } from 'react';
import { Link, Redirect } from 'wouter';
import { findings } from '../api/findings.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { Empty } from '../ui/empty.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { FindingFilters, FILTERS } from './finding-filters.tsx';
import { FindingBadge, TriageBadge, VerdictBadge } from './finding-state.tsx';
import { adviceOf } from './next-steps.tsx';
import { TriageBar } from './triage.tsx';

const VERDICT: Column<Finding> = {
  header: 'Verdict',
  optional: true,
  cell: (finding) => <VerdictBadge verification={finding.verification} />,
};

const COLUMNS: readonly Column<Finding>[] = [
  { header: 'State', cell: ({ state }) => <FindingBadge state={state} /> },
  { header: 'Triage', cell: ({ triage }) => <TriageBadge triage={triage} /> },
  VERDICT,
  {
    header: 'Rule',
    cell: ({ id, rule_id, description }) => (
      <Link href={`/findings/${id}`} title={description}>
        {rule_id}
      </Link>
    ),
  },
  {
    header: 'File',
    grow: true,
    cell: ({ path, line }) => (
      <code className="path-end" title={`${path}:${line}`}>
        <bdi>
          {path}:{line}
        </bdi>
      </code>
    ),
  },
  { header: 'Secret', cell: ({ redacted }) => <code>{redacted}</code> },
  {
    header: 'What to do',
    optional: true,
    cell: ({ description, triage }) => triage.state === 'open' && <Advice text={adviceOf(description).advice} />,
  },
  { header: 'Target', optional: true, cell: ({ target }) => target },
  { header: 'First seen', cell: ({ first_seen }) => <Ago at={first_seen} /> },
];

const WITHOUT_VERDICT = COLUMNS.filter((column) => column !== VERDICT);

function Advice({ text }: { text: string }) {
  return (
    <span className="finding-advice" title={text}>
      {text}
    </span>
  );
}

/** Secrets found by scans, newest first; selected ones are triaged together. */
export function FindingsPage() {
  const [filters, change] = useFilters(FILTERS);
  const [{ finding }] = useFilters(['finding']);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const can = useCan();
  const list = useLiveList<Finding>(['findings', filters], (after, signal) => findings.list(filters, after, signal));
  // Older addresses name the finding in the query.
  if (finding !== '') return <Redirect to={`/findings/${encodeURIComponent(finding)}`} replace />;
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const isVerified = list.rows?.some(({ verification }) => verification !== null) === true;
  return (
    <Page title="Findings" lead="Secrets found by scans. The secrets themselves are stored nowhere.">
      <FindingFilters filters={filters} onChange={change} />
      {selected.size > 0 && (
        <TriageBar
          findings={(list.rows ?? []).filter(({ id }) => selected.has(id))}
          onDone={() => setSelected(new Set())}
        />
      )}
      <ListView
        label="Findings"
        list={list}
        columns={isVerified ? COLUMNS : WITHOUT_VERDICT}
        rowId={({ id }) => id}
        href={({ id }) => `/findings/${id}`}
        {...(can('operate') ? { selection: { ids: selected, onChange: setSelected } } : {})}
        empty={isFiltered ? <Empty title="No matching findings" /> : <NoFindings />}
      />
    </Page>
  );
}

function NoFindings() {
  return (
    <Empty title="No findings yet" command="heddle workflow submit examples/secret-scan/workflow.json">
      Scans in workflows store what they find here: an <code>ObjectScanGenerator</code> with an{' '}
      <code>ObjectScanAggregator</code>.
    </Empty>
  );
}
