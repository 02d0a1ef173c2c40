import type { Link } from '@heddle/client';
import { useState } from 'react';
import { Link as RouteLink } from 'wouter';
import { Button } from '../ui/button.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { STATE } from '../ui/state.ts';
import type { TaskStore } from './task-store.ts';

const SHOWN_FIRST = 4;

interface RelativesProps {
  id: string;
  store: TaskStore;
  onSelect: (id: string) => void;
}

/** Links to what a task depends on and what depends on it. */
export function Relatives({ id, store, onSelect }: RelativesProps) {
  return (
    <div className="relatives">
      <Side title="Depends on" links={store.parents.get(id) ?? []} end="parent_id" store={store} onSelect={onSelect} />
      <Side title="Needed by" links={store.children.get(id) ?? []} end="child_id" store={store} onSelect={onSelect} />
    </div>
  );
}

interface SideProps extends Omit<RelativesProps, 'id'> {
  title: string;
  links: readonly Link[];
  end: 'parent_id' | 'child_id';
}

function Side({ title, links, end, store, onSelect }: SideProps) {
  const [all, setAll] = useState(false);
  if (links.length === 0) return null;
  return (
    <section>
      <h3>
        {title} <span className="quiet tabular">{links.length.toLocaleString()}</span>
      </h3>
      <ul>
        {(all ? links : links.slice(0, SHOWN_FIRST)).map((link) => (
          <Relative
            key={link[end]}
            id={link[end]}
            isOptional={!link.requires_success}
            store={store}
            onSelect={onSelect}
          />
        ))}
      </ul>
      {!all && links.length > SHOWN_FIRST && (
        <Button look="plain" onClick={() => setAll(true)}>
          Show all {links.length.toLocaleString()}
        </Button>
      )}
    </section>
  );
}

function Relative({ id, isOptional, store, onSelect }: { isOptional: boolean } & RelativesProps) {
  const task = store.tasks.get(id);
  if (task === undefined) {
    return (
      <li className="quiet">
        <RouteLink href={`/tasks/${id}`}>{id}</RouteLink> in another batch
      </li>
    );
  }
  return (
    <li>
      <button type="button" className="relative" onClick={() => onSelect(id)}>
        <StateGlyph state={task.state} />
        <span className="task-name">{task.name}</span>
        <span className="visually-hidden">, {STATE[task.state].label}</span>
        {isOptional && <span className="quiet"> any outcome</span>}
      </button>
    </li>
  );
}
