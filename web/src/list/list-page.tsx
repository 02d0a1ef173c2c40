import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { Trouble } from '../live/trouble.tsx';
import type { Polled } from '../live/use-polled.ts';
import { Pager } from '../pager.tsx';
import { useNow } from '../times.ts';
import { TopBar } from '../top-bar.tsx';

/** Rows of one page of a list. */
export const PAGE_SIZE = 25;

interface ListPageProps<Row> {
  title: string;
  /** Beside the title: which rows are shown, or a description. */
  beside: ReactNode;
  /** Below the title. */
  filters?: ReactNode;
  rows: readonly Row[] | null;
  /** The number that the pager counts, if it differs from the rows shown. */
  counted?: readonly Row[] | null;
  polled: Pick<Polled<unknown>, 'error' | 'heardAtMs'>;
  page: number;
  onPage: (page: number) => void;
  /** Shown instead of rows if there are none. */
  empty: ReactNode;
  children: (rows: readonly Row[], now: number) => ReactNode;
}

/** The frame of every list: its title, problems with the server, the rows, and the pager. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, beside, filters, rows, counted = rows, polled, page, onPage, empty, children } = props;
  const { error, heardAtMs } = polled;
  const now = useNow(1000);
  useEffect(() => {
    document.title = `${title} · Heddle`;
  }, [title]);
  return (
    <div className="page">
      <TopBar />
      <main className="batches">
        <div className="batches-head">
          <h1>{title}</h1>
          {beside}
        </div>
        {filters}
        {error !== null && <Trouble error={error} heardAtMs={heardAtMs} />}
        {rows === null && error === null && <p className="quiet">Loading…</p>}
        {rows !== null && rows.length > 0 && children(rows, now)}
        {rows?.length === 0 && empty}
        <Pager page={page} rows={counted} pageSize={PAGE_SIZE} onPage={onPage} />
      </main>
    </div>
  );
}

interface SegmentsProps<Name extends string> {
  label: string;
  options: Readonly<Record<Name, { label: string }>>;
  chosen: Name;
  onChoose: (name: Name) => void;
}

/** Buttons, one of which is pressed. */
export function Segments<Name extends string>({ label, options, chosen, onChoose }: SegmentsProps<Name>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {(Object.keys(options) as Name[]).map((name) => (
        <button key={name} type="button" aria-pressed={chosen === name} onClick={() => onChoose(name)}>
          {options[name].label}
        </button>
      ))}
    </div>
  );
}
