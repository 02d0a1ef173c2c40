import type { ReactNode } from 'react';

interface NoteProps {
  /** The accessible name. */
  label?: string;
  title?: ReactNode;
  children: ReactNode;
}

/** What is wrong with the object of a page, why, and what to do about it. */
export function Note({ label = 'Reason', title, children }: NoteProps) {
  return (
    <div className="note" role="note" aria-label={label}>
      {title !== undefined && (
        <p>
          <strong>{title}</strong>
        </p>
      )}
      {children}
    </div>
  );
}
