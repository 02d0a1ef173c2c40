import { Link, useLocation } from 'wouter';
import { useCan } from '../data/session.ts';
import { isWithin, PLACE_GROUPS } from './places.ts';

/** Links to all places that the user may use. */
export function Navigation({ onNavigate }: { onNavigate?: () => void }) {
  const [path] = useLocation();
  const can = useCan();
  return (
    <nav className="navigation" aria-label="Main">
      {PLACE_GROUPS.map(({ label, places }) => {
        const shown = places.filter(({ scope }) => scope === undefined || can(scope));
        if (shown.length === 0) return null;
        return (
          <div key={label} className="navigation-group">
            {label !== null && <p className="navigation-label">{label}</p>}
            {shown.map((place) => (
              <Link
                key={place.href}
                href={place.href}
                aria-current={isWithin(place, path) ? 'page' : undefined}
                onClick={onNavigate}
              >
                {place.label}
              </Link>
            ))}
          </div>
        );
      })}
    </nav>
  );
}
