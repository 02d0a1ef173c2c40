import type { Finding, FindingDetail } from '@heddle/client';
import { Link } from 'wouter';
import { queryOf } from '../data/filters.ts';
import { Section } from '../ui/page.tsx';

/** What to do if a rule does not say it. */
const REVOKE = 'Revoke the secret where it was issued, and issue a new one.';

/** Divides a rule's description into what it finds and what to do about it: `Found a token; revoke it in the settings.` */
export function adviceOf(description: string): { finds: string; advice: string } {
  const at = description.indexOf(';');
  const advice = at === -1 ? '' : description.slice(at + 1).trim();
  if (advice === '') return { finds: description, advice: REVOKE };
  return { finds: `${description.slice(0, at)}.`, advice: `${advice.charAt(0).toUpperCase()}${advice.slice(1)}` };
}

/** The address of the list of all findings of the same secret; null if older versions stored no identity. */
export function placesHref({ secret_id }: Finding): string | null {
  return secret_id === null ? null : `/findings${queryOf({ secret: secret_id })}`;
}

const ADDRESS = /(https:\/\/[^\s,;)]*[^\s,;).])/;

/** Makes links of the addresses in a text. */
function LinkedText({ text }: { text: string }) {
  return text.split(ADDRESS).map((part) =>
    ADDRESS.test(part) ? (
      <a key={part} href={part} target="_blank" rel="noreferrer">
        {part}
      </a>
    ) : (
      part
    ),
  );
}

/** What to do about a secret, first things first. */
export function NextSteps({ finding }: { finding: FindingDetail }) {
  const { state, triage, commit, description, elsewhere, verification } = finding;
  if (triage.state !== 'open') return null;
  const places = placesHref(finding);
  return (
    <Section title="What to do" testId="finding-steps">
      <ol className="steps">
        <li>
          <strong>
            <LinkedText text={adviceOf(description).advice} />
          </strong>{' '}
          {verification?.verdict === 'active' && 'Its provider still accepts it. '}
          {verification?.verdict === 'inactive' && 'Its provider no longer accepts it. '}
          {state === 'gone'
            ? 'It is no longer found, but stays valid until it is revoked.'
            : 'Until then anyone who can read this text can use it.'}
        </li>
        {elsewhere.length > 0 && places !== null && (
          <li>
            Replace it in <Link href={places}>all its places</Link>: it was found elsewhere, too.
          </li>
        )}
        {state !== 'gone' && (
          <li>
            Remove it from the file, and read the new one from a secret store.
            {commit !== null && ' The history of the repository keeps the old one.'}
          </li>
        )}
        {state !== 'gone' && <li>If it is no secret, ignore it or mark it as a false positive.</li>}
      </ol>
    </Section>
  );
}
