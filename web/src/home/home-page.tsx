import type { Home } from '@heddle/client';
import { Link } from 'wouter';
import { getHome, listRuns } from '../api/runs.ts';
import { useLive } from '../data/live.ts';
import { NoRuns } from '../runs/no-runs.tsx';
import { RUN_COLUMNS } from '../runs/run-columns.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import type { State } from '../ui/state.ts';
import { Table } from '../ui/table.tsx';
import { Count } from '../ui/time.tsx';
import { ActivityChart } from './activity-chart.tsx';
import { AttentionList } from './attention-list.tsx';
import { FailingTable } from './failing-table.tsx';
import { WaitingTable } from './waiting-table.tsx';
import { Loading } from '../ui/loading.tsx';

const RUNS_SHOWN = 8;

/** What fails, what waits and why, what needs someone, and what the system does at the moment. */
export function HomePage() {
  const { data: home, error, dataUpdatedAt } = useLive(['home'], getHome);
  return (
    <Page title="Home">
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {home === undefined && error === null && <Loading />}
      {home !== undefined && <HomeContent home={home} />}
    </Page>
  );
}

function HomeContent({ home }: { home: Home }) {
  const { attention, failing, waiting, last_hour } = home;
  return (
    <>
      <Numbers home={home} />
      {attention.length > 0 && (
        <Section title="Needs attention" testId="attention">
          <AttentionList items={attention} />
        </Section>
      )}
      <Section title="Failing" beside={<span className="quiet">the last 24 hours, by reason</span>} testId="failing">
        {failing.length === 0 ? <p className="quiet">Nothing has failed.</p> : <FailingTable groups={failing} />}
      </Section>
      {waiting.length > 0 && (
        <Section title="Waiting" beside={<span className="quiet">tasks by what they wait for</span>} testId="waiting">
          <WaitingTable groups={waiting} />
        </Section>
      )}
      <Section title="Last hour">
        <ActivityChart minutes={last_hour} />
      </Section>
      <LatestRuns />
    </>
  );
}

interface NumberCardProps {
  state: State;
  label: string;
  count: { n: number; n_capped: boolean };
  href: string;
}

function Numbers({ home: { now, open_runs } }: { home: Home }) {
  return (
    <ul className="number-cards" aria-label="Now">
      <NumberCard state="running" label="Running tasks" count={now.running} href="/workers" />
      <NumberCard state="pending" label="Ready tasks" count={now.ready} href="/queues" />
      <NumberCard state="waiting" label="Waiting tasks" count={now.waiting} href="/runs?state=open" />
      <NumberCard state="paused" label="Paused tasks" count={now.paused} href="/runs?state=Paused" />
      <NumberCard state="failed" label="Failed in 24 h" count={now.failed_last_day} href="/runs?state=failing" />
      <NumberCard state="creating" label="Open runs" count={open_runs} href="/runs?state=open" />
    </ul>
  );
}

function NumberCard({ state, label, count, href }: NumberCardProps) {
  return (
    <li>
      <Link className="number-card" href={href}>
        <span className="number-card-label">
          <StateGlyph state={state} size={14} /> {label}
        </span>
        <strong>
          <Count n={count.n} capped={count.n_capped} />
        </strong>
      </Link>
    </li>
  );
}

function LatestRuns() {
  const { data } = useLive(['runs', 'latest'], (signal) => listRuns({}, null, signal));
  if (data === undefined) return null;
  return (
    <Section title="Latest runs" beside={<Link href="/runs">All runs</Link>}>
      {data.runs.length === 0 ? (
        <NoRuns />
      ) : (
        <Table
          label="Latest runs"
          columns={RUN_COLUMNS}
          rows={data.runs.slice(0, RUNS_SHOWN)}
          rowId={({ id }) => id}
          href={({ id }) => `/runs/${id}`}
        />
      )}
    </Section>
  );
}
