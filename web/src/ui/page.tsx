import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

export interface Crumb {
  label: string;
  href: string;
}

interface PageProps {
  title: string;
  /** Shown instead of the title, if it has parts. */
  heading?: ReactNode;
  crumbs?: readonly Crumb[];
  /** Buttons at the right of the title. */
  actions?: ReactNode;
  /** One line below the title. */
  lead?: ReactNode;
  /** `full`: as wide and high as the window, for graphs. */
  width?: 'normal' | 'full';
  children: ReactNode;
}

/** The frame of every view: its title, where it is, what can be done with it. */
export function Page({ title, heading, crumbs = [], actions, lead, width = 'normal', children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Heddle`;
  }, [title]);
  return (
    <main id="content" className={`view view-${width}`} tabIndex={-1}>
      <header className="view-head">
        {crumbs.length > 0 && (
          <nav className="crumbs" aria-label="Breadcrumbs">
            {crumbs.map(({ label, href }) => (
              <span key={href}>
                <Link href={href}>{label}</Link> <span aria-hidden="true">/</span>
              </span>
            ))}
          </nav>
        )}
        <div className="view-title">
          <h1>{heading ?? title}</h1>
          {actions !== undefined && <div className="view-actions">{actions}</div>}
        </div>
        {lead !== undefined && <div className="view-lead">{lead}</div>}
      </header>
      {children}
    </main>
  );
}

interface SectionProps {
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  testId?: string;
  children: ReactNode;
}

/** A part of a view with a title. */
export function Section({ title, beside, testId, children }: SectionProps) {
  return (
    <section className="section" aria-label={title} data-testid={testId}>
      <div className="section-head">
        <h2>{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
