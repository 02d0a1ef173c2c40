import type { ReactNode } from 'react';
import { logout, useSession } from './api/session.ts';
import mark from './icons/heddle.svg?url';
import { THEMES, setTheme, useTheme } from './theme.ts';
import type { Theme } from './theme.ts';

const THEME_LABEL: Record<Theme, string> = { auto: 'Auto', light: 'Light', dark: 'Dark' };

const PLACES = [
  { label: 'Batches', address: '/', view: 'batch' },
  { label: 'Workflows', address: '/workflows', view: 'workflow' },
  { label: 'Jobs', address: '/jobs', view: null },
  { label: 'Findings', address: '/findings', view: null },
  { label: 'Surface', address: '/surface', view: null },
  { label: 'Executors', address: '/executors', view: null },
  { label: 'Pool', address: '/pool', view: null },
] as const;

/** Whether a place is the list shown, or the list of the object shown. */
function currentOf({ address, view }: (typeof PLACES)[number]): 'page' | 'true' | undefined {
  const path = location.pathname.replace(/\/+$/, '') || '/';
  if (path === address) return 'page';
  return path === '/view' && view !== null && new URLSearchParams(location.search).has(view) ? 'true' : undefined;
}

/** The bar on every page: home, the lists, search, theme, log out. */
export function TopBar({ children }: { children?: ReactNode }) {
  const session = useSession();
  const theme = useTheme();
  return (
    <header className="top-bar">
      <a className="brand" href="/" aria-label="Heddle: all batches">
        <img src={mark} alt="" width="24" height="24" />
        <span>Heddle</span>
      </a>
      <nav className="places" aria-label="Main">
        {PLACES.map((place) => (
          <a key={place.address} href={place.address} aria-current={currentOf(place)}>
            {place.label}
          </a>
        ))}
      </nav>
      <div className="top-bar-middle">{children}</div>
      <div className="segments" role="group" aria-label="Theme">
        {THEMES.map((name) => (
          <button key={name} type="button" aria-pressed={theme === name} onClick={() => setTheme(name)}>
            {THEME_LABEL[name]}
          </button>
        ))}
      </div>
      {session.hasToken && (
        <button type="button" className="plain" onClick={logout}>
          Log out
        </button>
      )}
    </header>
  );
}
