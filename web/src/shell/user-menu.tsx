import { logout, useSession } from '../api/session.ts';
import { Menu } from '../ui/menu.tsx';

/** Who is logged in, and the way out; nothing where no login exists. */
export function UserMenu() {
  const { user, hasToken } = useSession();
  if (user === null || !hasToken) return null;
  const { name, role } = user;
  return (
    <Menu
      className="button button-plain user"
      name={`User ${name}`}
      label={
        <span className="user-name" title={role === null ? name : `${name}, ${role}`}>
          {name}
          {role !== null && <span className="quiet"> {role}</span>}
        </span>
      }
      items={[{ label: 'Log out', onSelect: logout }]}
    />
  );
}
