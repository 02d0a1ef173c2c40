import { LinkButton } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';

/** For addresses that no view has. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        There is no page at <code className="breakable">{location.pathname}</code>. The address may be mistyped, or
        belong to another version.
      </p>
      <p>
        <LinkButton href="/">Home</LinkButton> <LinkButton href="/runs">Runs</LinkButton>
      </p>
    </Page>
  );
}
