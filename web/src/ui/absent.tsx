import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { LinkButton } from './button.tsx';
import { Page } from './page.tsx';
import type { Crumb } from './page.tsx';
import { Trouble } from './problem.tsx';
import { Loading } from './loading.tsx';

interface AbsentProps {
  /** What the page is about: `job`. */
  noun: string;
  id: string;
  /** The list that it belongs to. */
  list: Crumb;
  error: Error | null;
  updatedAtMs: number;
  /** Why there may be no such thing. */
  children: ReactNode;
}

/** Shown in place of a page whose object is being read, cannot be read, or does not exist. */
export function Absent({ noun, id, list, error, updatedAtMs, children }: AbsentProps) {
  const isUnknown = error instanceof ApiError && (error.status === 404 || error.status === 400);
  return (
    <Page title={isUnknown ? `No such ${noun}` : list.label} crumbs={[list]}>
      {error === null && <Loading />}
      {isUnknown && (
        <>
          <p>
            This server has no {noun} <code className="breakable">{id}</code>. {children}
          </p>
          <LinkButton href={list.href}>{list.label}</LinkButton>
        </>
      )}
      {error !== null && !isUnknown && <Trouble error={error} updatedAtMs={updatedAtMs} />}
    </Page>
  );
}
