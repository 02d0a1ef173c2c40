import { useLocation } from 'wouter';
import { logout } from '../api/session.ts';
import { useSessionInfo } from '../data/session.ts';
import { Menu } from '../ui/menu.tsx';

/** Who is logged in, and the way out; nothing where no login exists. */
export function UserMenu() {
  const session = useSessionInfo();
  const [, navigate] = useLocation();
  if (session?.user === null || session?.user === undefined || session.authentication === 'none') return null;
  const { name, role } = session.user;
  return (
    <Menu
      label={name}
      name={`User ${name}`}
      className="button button-plain user-button"
      items={[
        { label: `Role: ${role}`, disabled: true, onSelect: () => undefined },
        { label: 'Sessions', onSelect: () => navigate('/settings/sessions') },
        { label: 'Log out', onSelect: logout },
      ]}
    />
  );
}
