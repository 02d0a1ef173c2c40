import type { ReactNode } from 'react';
import { CopyButton } from './copy.tsx';

interface EmptyProps {
  title: string;
  /** The one command to go on. */
  command?: string;
  children?: ReactNode;
}

/** Shown instead of content that does not exist: what is missing, and how to go on. */
export function Empty({ title, command, children }: EmptyProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="quiet">{children}</div>}
      {command !== undefined && (
        <p className="empty-command">
          <code>{command}</code> <CopyButton text={command} />
        </p>
      )}
    </div>
  );
}
