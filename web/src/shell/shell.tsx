import { Drawer } from '@base-ui/react/drawer';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import mark from '../icons/heddle.svg?url';
import { Button } from '../ui/button.tsx';
import { Toasts } from '../ui/toast.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette.tsx';
import { ShortcutHelp } from './shortcut-help.tsx';
import { useShortcuts } from './shortcuts.ts';
import { ThemeMenu } from './theme-menu.tsx';
import { UserMenu } from './user-menu.tsx';

/** What surrounds every view: navigation, search, theme, user; and the keys that work everywhere. */
export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  useShortcuts({ onPalette: () => setOpen('palette'), onHelp: () => setOpen('help') });
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <aside className="sidebar">
        <Brand />
        <Button className="search-button" aria-keyshortcuts="Control+K" onClick={() => setOpen('palette')}>
          Search <kbd>Ctrl K</kbd>
        </Button>
        <Navigation />
        <div className="sidebar-foot">
          <ThemeMenu />
          <Button
            look="plain"
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
            onClick={() => setOpen('help')}
          >
            ?
          </Button>
          <UserMenu />
        </div>
      </aside>
      <header className="phone-bar">
        <PhoneMenu />
        <Brand />
        <Button look="plain" onClick={() => setOpen('palette')}>
          Search
        </Button>
      </header>
      <div id="scroller" className="scroller">
        {children}
      </div>
      <Palette open={open === 'palette'} onOpenChange={(isOpen) => setOpen(isOpen ? 'palette' : null)} />
      <ShortcutHelp open={open === 'help'} onOpenChange={(isOpen) => setOpen(isOpen ? 'help' : null)} />
      <Toasts />
    </div>
  );
}

function Brand() {
  return (
    <Link className="brand" href="/" aria-label="Heddle: home">
      <img src={mark} alt="" width="22" height="22" />
      <span>Heddle</span>
    </Link>
  );
}

/** The navigation of narrow windows. */
function PhoneMenu() {
  const [open, setOpen] = useState(false);
  return (
    <Drawer.Root open={open} onOpenChange={setOpen} swipeDirection="left">
      <Drawer.Trigger className="button button-plain">Menu</Drawer.Trigger>
      <Drawer.Portal>
        <Drawer.Backdrop className="dialog-backdrop" />
        <Drawer.Viewport className="drawer-viewport">
          <Drawer.Popup className="drawer">
            <Drawer.Title className="visually-hidden">Menu</Drawer.Title>
            <Navigation onNavigate={() => setOpen(false)} />
            <div className="sidebar-foot">
              <ThemeMenu />
              <UserMenu />
            </div>
          </Drawer.Popup>
        </Drawer.Viewport>
      </Drawer.Portal>
    </Drawer.Root>
  );
}
