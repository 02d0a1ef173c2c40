import { useState } from 'react';
import type { Link } from '@heddle/client';
import { StatusMark } from '../status-chip.tsx';
import type { TaskStore } from './task-store.ts';

const SHOWN_FIRST = 8;

interface RelativesProps {
  id: string;
  store: TaskStore;
  onSelect: (id: string) => void;
}

/** Links to what a task depends on and what depends on it. */
export function Relatives({ id, store, onSelect }: RelativesProps) {
  return (
    <>
      <Side title="Depends on" links={store.parents.get(id) ?? []} end="parent_id" store={store} onSelect={onSelect} />
      <Side title="Needed by" links={store.children.get(id) ?? []} end="child_id" store={store} onSelect={onSelect} />
    </>
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
      <ul className="relatives">
        {(all ? links : links.slice(0, SHOWN_FIRST)).map((link) => (
          <Relative
            key={link[end]}
            id={link[end]}
            optional={!link.requires_success}
            store={store}
            onSelect={onSelect}
          />
        ))}
      </ul>
      {!all && links.length > SHOWN_FIRST && (
        <button type="button" className="plain" onClick={() => setAll(true)}>
          Show all {links.length.toLocaleString()}
        </button>
      )}
    </section>
  );
}

function Relative({ id, optional, store, onSelect }: { optional: boolean } & RelativesProps) {
  const task = store.tasks.get(id);
  if (task === undefined) {
    return (
      <li className="quiet">
        <code>{id}</code> in another batch
      </li>
    );
  }
  return (
    <li>
      <button type="button" className="relative" onClick={() => onSelect(id)}>
        <StatusMark status={task.status} />
        <span className="task-name">{task.name}</span>
        <span className="visually-hidden">, {task.status}</span>
        {optional && <span className="quiet"> any outcome</span>}
      </button>
    </li>
  );
}
