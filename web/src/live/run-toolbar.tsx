import type { ReactNode } from 'react';
import type { State, Tally } from '../ui/state.ts';
import { FeedSignal } from './feed-banner.tsx';
import type { LiveFeed } from './live-feed.ts';
import { StateFilter } from './state-filter.tsx';

interface RunToolbarProps {
  feed: LiveFeed;
  tally: Tally;
  shown: ReadonlySet<State>;
  onShown: (shown: ReadonlySet<State>) => void;
  query: string;
  onQuery: (query: string) => void;
  /** Enter in the search field. */
  onEnter: () => void;
  children?: ReactNode;
}

/** The row above a graph or a tree: filter by state, search, and how current the page is. */
export function RunToolbar({ feed, tally, shown, onShown, query, onQuery, onEnter, children }: RunToolbarProps) {
  return (
    <div className="run-toolbar">
      <StateFilter tally={tally} shown={shown} onChange={onShown} />
      <input
        type="search"
        className="input"
        placeholder="Find a task  ( / )"
        aria-label="Find tasks by name, kind or ID"
        data-main-filter
        value={query}
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onEnter();
        }}
      />
      {children}
      <FeedSignal feed={feed} />
    </div>
  );
}
