import { logout, useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';

/** Who is logged in, and the way out; nothing where no login exists. */
export function UserMenu() {
  const { user, hasToken } = useSession();
  if (user === null || !hasToken) return null;
  const { name, role } = user;
  return (
    <div className="user">
      <span className="user-name" title={role === null ? name : `${name}, ${role}`}>
        {name}
        {role !== null && <span className="quiet"> {role}</span>}
      </span>
      <Button look="plain" onClick={logout}>
        Log out
      </Button>
    </div>
  );
}
