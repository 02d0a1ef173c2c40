import type { ReactNode } from 'react';

/** The title bar of a graph. */
export function TopBar({ children }: { children?: ReactNode }) {
  if (children === undefined) return null;
  return <header className="top-bar">{children}</header>;
}
