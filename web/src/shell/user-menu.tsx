import { logout, useSession } from '../api/session.ts';
import { Menu } from '../ui/menu.tsx';

/** Who is logged in, and the way out; nothing where no login exists. */
export function UserMenu() {
  const { user, hasToken } = useSession();
  if (user === null || !hasToken) return null;
  return (
    <Menu
      label={user.name}
      name={`User ${user.name}`}
      className="button button-plain user-button"
      items={[
        { label: `Role: ${user.role}`, disabled: true, onSelect: () => undefined },
        { label: 'Log out', onSelect: () => void logout() },
      ]}
    />
  );
}
