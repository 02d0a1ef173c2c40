import { Menu } from '../ui/menu.tsx';
import { setTheme, THEMES, useTheme } from '../theme.ts';
import type { Theme } from '../theme.ts';

const LABEL: Record<Theme, string> = { auto: 'As the system', light: 'Light', dark: 'Dark' };

export function ThemeMenu() {
  const theme = useTheme();
  return (
    <Menu
      label="Theme"
      className="button button-plain"
      items={THEMES.map((name) => ({ label: LABEL[name], chosen: name === theme, onSelect: () => setTheme(name) }))}
    />
  );
}
