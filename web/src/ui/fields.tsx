import type { ReactNode } from 'react';

/** A list of names and values. */
export function Fields({ children }: { children: ReactNode }) {
  return <dl className="fields">{children}</dl>;
}

/** One line of it; nothing if the value is absent. */
export function Field({ label, title, children }: { label: string; title?: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
