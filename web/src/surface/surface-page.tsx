import { MODEL_STATES, listModelTargets, listModels } from '../api/models.ts';
import type { Model } from '@heddle/client';
import type { ModelQuery, ModelState } from '../api/models.ts';
import { useCursorList } from '../list/cursor-list.ts';
import type { CursorList } from '../list/cursor-list.ts';
import { TargetFilter, TypedFilter } from '../list/filters.tsx';
import { ListPage, Segments } from '../list/list-page.tsx';
import { OpeningTable } from '../list/opening-table.tsx';
import { writeAddress } from '../list/place.ts';
import { ModelDetails } from './model-details.tsx';
import { STATE_LABEL } from './model-state.tsx';
import { NamesContext, useNamesByAddress } from './names-by-address.ts';
import { VIEWS, VIEW_NAMES } from './views.tsx';
import type { View, ViewName } from './views.tsx';

interface SurfaceQuery extends ModelQuery {
  model: ViewName;
}

interface Place {
  query: SurfaceQuery;
  open: string | null;
}

function readPlace(): Place {
  const search = new URLSearchParams(location.search);
  const oneOf = <Name extends string, Other>(name: string, names: readonly Name[], other: Other): Name | Other =>
    names.find((each) => each === search.get(name)) ?? other;
  const query: SurfaceQuery = {
    model: oneOf('model', VIEW_NAMES, 'host'),
    target: search.get('target') ?? '',
    state: oneOf('state', MODEL_STATES, ''),
    search: search.get('search') ?? '',
  };
  return { query, open: search.get('open') };
}

function writePlace({ query, open }: Place): void {
  writeAddress('/surface', { ...query, model: query.model === 'host' ? '' : query.model, open });
}

/** Lists the models of scans, newest first; a row opens the details of a model. */
export function SurfacePage() {
  const list = useCursorList<SurfaceQuery, Model>({ start: readPlace, write: writePlace, read: listModels });
  const { query, polled, page } = list;
  const view: View = VIEWS[query.model];
  const names = useNamesByAddress(query.target, query.model === 'host' || query.model === 'service');
  // Shows nothing until the rows of the other table have loaded.
  const rows = list.rows?.some(({ model }) => model !== query.model) === true ? null : list.rows;
  return (
    <ListPage
      title="Surface"
      beside={
        <Segments
          label="Models"
          options={VIEWS}
          chosen={query.model}
          onChoose={(model) => list.filter({ model, search: '' })}
        />
      }
      filters={<SurfaceFilters list={list} searched={view.searched} />}
      rows={rows}
      counted={list.current}
      polled={polled}
      page={page}
      onPage={list.turn}
      empty={<NoModels query={query} page={page} />}
    >
      {(models, now) => (
        <NamesContext value={names}>
          <OpeningTable
            className={`surface-table surface-${query.model}`}
            opener={view.opener}
            columns={view.columns}
            rows={models}
            now={now}
            open={list.open}
            onOpen={list.show}
            details={(model) => <ModelDetails model={model} now={now} />}
          />
        </NamesContext>
      )}
    </ListPage>
  );
}

const STATES = {
  '': { label: 'All' },
  ...(Object.fromEntries(MODEL_STATES.map((state) => [state, { label: STATE_LABEL[state] }])) as Record<
    ModelState,
    { label: string }
  >),
};

/** Filters by state, target and search text. */
function SurfaceFilters({ list, searched }: { list: CursorList<SurfaceQuery, Model>; searched: string }) {
  const { query, filter } = list;
  return (
    <form className="list-filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Segments label="States" options={STATES} chosen={query.state} onChoose={(state) => filter({ state })} />
      <TargetFilter list={listModelTargets} value={query.target} onValue={(target) => filter({ target })} />
      <TypedFilter
        key={query.model}
        label="Search"
        placeholder={searched}
        value={query.search}
        onValue={(search) => filter({ search })}
      />
    </form>
  );
}

function NoModels({ query, page }: { query: SurfaceQuery; page: number }) {
  if (page > 0) return <p className="notice">No older models.</p>;
  const { target, state, search } = query;
  if (target !== '' || state !== '' || search !== '') return <p className="notice">No matching models.</p>;
  return (
    <div className="notice">
      <p>No models yet.</p>
      <p className="quiet">
        Workflows with a <code>TcpSynGenerator</code>, a <code>DnsScanGenerator</code> or a{' '}
        <code>TlsScanGenerator</code> bring hosts, services, names and certificates here.
      </p>
    </div>
  );
}
