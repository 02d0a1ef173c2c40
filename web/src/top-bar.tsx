import type { ReactNode } from 'react';
import { logout, useSession } from './api/session.ts';
import mark from './icons/heddle.svg?url';
import { THEMES, setTheme, useTheme } from './theme.ts';
import type { Theme } from './theme.ts';

const THEME_LABEL: Record<Theme, string> = { auto: 'Auto', light: 'Light', dark: 'Dark' };

/** The bar on every page: home, what the page is about, colours, log out. */
export function TopBar({ children }: { children?: ReactNode }) {
  const session = useSession();
  const theme = useTheme();
  return (
    <header className="top-bar">
      <a className="brand" href="/" aria-label="Heddle: all batches">
        <img src={mark} alt="" width="24" height="24" />
        <span>Heddle</span>
      </a>
      <div className="top-bar-middle">{children}</div>
      <div className="segments" role="group" aria-label="Colours">
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
