import { useFocus, useStoreVersion, useTree } from './tree-context.ts';

/** Levels shown at either end of the path; those between are in a menu. */
const FIRST = 1;
const LAST = 3;

/** The path of the current container, for going up, however deep it is. */
export function Breadcrumbs() {
  const { store, view } = useTree();
  useStoreVersion(store);
  const focus = useFocus(view);
  if (focus === null || focus === store.rootId) return null;
  const path = store.ancestors(focus);
  const between = path.length > FIRST + LAST + 1 ? path.slice(FIRST, -LAST) : [];
  const ends = between.length === 0 ? path : [...path.slice(0, FIRST), ...path.slice(-LAST)];
  const label = (id: string): string => store.nodes.get(id)?.label ?? '';
  const link = (id: string) => (
    <li key={id}>
      <button type="button" className="link" onClick={() => view.zoomTo(id)}>
        {id === store.rootId ? 'Whole workflow' : label(id)}
      </button>
    </li>
  );
  return (
    <nav className="breadcrumbs" aria-label="Levels above">
      <ol>
        {ends.slice(0, between.length === 0 ? ends.length : FIRST).map(link)}
        {between.length > 0 && (
          <>
            <li>
              <select
                aria-label={`${between.length} levels between`}
                value=""
                onChange={(event) => view.zoomTo(event.target.value)}
              >
                <option value="">… {between.length} levels</option>
                {between.map((id, i) => (
                  <option key={id} value={id}>
                    {FIRST + i + 1}: {label(id)}
                  </option>
                ))}
              </select>
            </li>
            {ends.slice(FIRST).map(link)}
          </>
        )}
        <li aria-current="true">
          <b>{label(focus)}</b>
        </li>
      </ol>
      <button type="button" onClick={() => view.zoomOut()}>
        Up one level
      </button>
    </nav>
  );
}
