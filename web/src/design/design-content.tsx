import { Link } from 'wouter';
import { ApiError } from '../api/client.ts';
import { useLive } from '../data/live.ts';
import { LinkButton } from '../ui/button.tsx';
import { Chart } from '../ui/chart.tsx';
import { CopyButton, CopyText } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { EventList } from '../ui/event-list.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { ListView } from '../ui/list-view.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/page.tsx';
import { ProblemBox, Trouble } from '../ui/problem.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

const START_MS = Date.now();
const TIMES = Array.from({ length: 60 }, (_, minute) => Math.floor(START_MS / 1000) - (59 - minute) * 60);
const DEPTHS = TIMES.map((_, minute) => Math.round(40 + 30 * Math.sin(minute / 8)));
const EVENTS = [
  { at: new Date(START_MS - 7_200_000).toISOString(), glyph: 'failed', text: 'First found' },
  { at: new Date(START_MS - 60_000).toISOString(), glyph: 'skipped', text: 'Ignored by ann' },
] as const;

interface Worker {
  id: string;
  seen: number;
}
const WORKERS: readonly Worker[] = [{ id: 'worker-1', seen: START_MS - 2000 }];
const COLUMNS: readonly Column<Worker>[] = [
  { header: 'Worker', grow: true, cell: ({ id }) => id },
  { header: 'Last heartbeat', cell: ({ seen }) => <Ago at={seen} /> },
];
const NO_MORE = { hasMore: false, isLoadingMore: false, loadMore: () => undefined };

/** Values, histories, notes, failures and lists. */
export function DesignContent() {
  const answer = useLive(['design'], () => Promise.resolve(WORKERS));
  return (
    <>
      <Section title="Content">
        <Fields>
          <Field label="Kind">Command</Field>
          <Field label="Timeout">1 h without activity</Field>
          <Field label="ID">
            <CopyText text="01a1fa25-cb9a-7000-8e33-4ad1e1b2f5a1" />
          </Field>
          <Field label="File">
            src/app.env <CopyButton text="src/app.env" />
          </Field>
        </Fields>
        <Json label="Example" value={{ argv: ['nmap', '-sV'], network: true }} />
        <EventList events={EVENTS} />
        <Chart
          title="Messages"
          at={TIMES}
          series={[{ label: 'Waiting', colour: '--accent', values: DEPTHS }]}
          format={(value) => value.toLocaleString()}
        />
      </Section>
      <Section title="What is wrong, and what to do">
        <Note title="Heddle paused this job">
          <p>Its time zone does not exist. Edit it, then resume it.</p>
        </Note>
        <ProblemBox error={new Error('root.children[0].kind is required')} />
        <Trouble error={new ApiError(0, 'The server is unreachable')} updatedAtMs={START_MS} />
        <Empty title="No runs yet" command="heddle workflow submit greet.json --watch" />
        <p>
          <LinkButton href="/design?absent=example">A page whose object does not exist</LinkButton>
        </p>
      </Section>
      <Section title="Lists" beside={<Link href="/workers">Workers</Link>}>
        <LiveTable label="One page" answer={answer} columns={COLUMNS} rowId={({ id }) => id} empty="No workers" />
        <ListView
          label="Several pages"
          list={{ rows: [...WORKERS], error: null, updatedAtMs: START_MS, ...NO_MORE }}
          columns={COLUMNS}
          rowId={({ id }) => id}
          empty={<Empty title="No workers" />}
        />
      </Section>
    </>
  );
}
