import { RUNNER_STATES } from '../api/pool.ts';
import type { RunnerState } from '../api/pool.ts';
import { Segments } from '../list/list-page.tsx';
import { pageIn, usePlace, writeAddress } from '../list/place.ts';
import { Overview } from './overview.tsx';
import { RequestsView } from './requests-view.tsx';
import { RunnersView } from './runners-view.tsx';

const VIEWS = {
  runners: { label: 'Runners' },
  waiting: { label: 'Waiting requests' },
  granted: { label: 'Granted requests' },
} as const;

type ViewName = keyof typeof VIEWS;

export interface Place {
  view: ViewName;
  page: number;
  /** Null: runners that have not ended. */
  state: RunnerState | null;
  resourceClass: string | null;
  /** Runner whose details are open. */
  runner: string | null;
}

function readPlace(search: URLSearchParams): Place {
  const view = search.get('view');
  const state = RUNNER_STATES.find((name) => name === search.get('state')) ?? null;
  return {
    view: view === 'waiting' || view === 'granted' ? view : 'runners',
    page: pageIn(search),
    state,
    resourceClass: search.get('class'),
    runner: search.get('runner'),
  };
}

function writePlace({ view, page, state, resourceClass, runner }: Place): void {
  const shown = view === 'runners' ? null : view;
  writeAddress('/pool', { view: shown, page, state, class: resourceClass, runner });
}

/** The runner pool: counts by class, their history, and the list of runners or requests. */
export function PoolPage() {
  const [place, go] = usePlace(readPlace, writePlace);
  const change = (part: Partial<Place>): void => go({ ...place, page: 0, runner: null, ...part });
  const { view, resourceClass } = place;
  const beside = <Segments label="View" options={VIEWS} chosen={view} onChoose={(name) => change({ view: name })} />;
  const overview = <Overview resourceClass={resourceClass} onClass={(name) => change({ resourceClass: name })} />;
  return view === 'runners' ? (
    <RunnersView place={place} beside={beside} overview={overview} onPlace={change} />
  ) : (
    <RequestsView key={view} state={view} page={place.page} beside={beside} overview={overview} onPlace={change} />
  );
}
