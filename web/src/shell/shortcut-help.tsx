import { Dialog } from '../ui/dialog.tsx';
import { PLACES } from './places.ts';
import { SHORTCUTS } from './shortcuts.ts';

export function ShortcutHelp({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const lines = [...SHORTCUTS, ...PLACES.map(({ key, label }) => ({ keys: `g ${key}`, does: label }))];
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts">
      <dl className="shortcuts">
        {lines.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
