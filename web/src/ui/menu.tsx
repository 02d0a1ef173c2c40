import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  disabled?: boolean;
  danger?: boolean;
  /** For items of which one is chosen. */
  chosen?: boolean;
}

interface MenuProps {
  label: ReactNode;
  /** The accessible name, if the label is a sign. */
  name?: string;
  items: readonly MenuItem[];
  className?: string;
}

/** A button with a menu. */
export function Menu({ label, name, items, className = 'button button-normal' }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger className={className} aria-label={name}>
        {label}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="popup-positioner" sideOffset={4} align="end">
          <Base.Popup className="popup menu">
            {items.map(({ label: text, onSelect, disabled, danger, chosen }, i) => (
              <Base.Item
                key={i}
                className={danger === true ? 'menu-item menu-danger' : 'menu-item'}
                disabled={disabled}
                aria-current={chosen === true ? 'true' : undefined}
                onClick={onSelect}
              >
                {text}
                {chosen === true && <span aria-hidden="true">✓</span>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
