import type { Finding, FindingDetail } from '@heddle/client';
import { CopyButton } from '../ui/copy.tsx';
import { Ago } from '../ui/time.tsx';

type Line = FindingDetail['context'][number];

/** The code around the secret as in its file: the path as title, the commit, numbered lines, and what matched marked. */
export function CodeContext({ finding }: { finding: FindingDetail }) {
  const { path, line, column, commit, context } = finding;
  const place = `${path}:${line}:${column}`;
  return (
    <figure className="code-context" aria-label="Where the secret is">
      <figcaption>
        <span>
          <code className="breakable">{place}</code>
          {commit !== null && <CommitLine commit={commit} />}
        </span>
        <CopyButton text={place} />
      </figcaption>
      {context.length > 0 ? <Lines lines={context} /> : <MatchOnly finding={finding} />}
      <p className="quiet code-note">
        {encodedAs(finding)}
        {context.length > 0
          ? 'All known secrets are masked; they are stored nowhere.'
          : `${extentOf(finding)}. The lines around it are not stored.`}
      </p>
    </figure>
  );
}

function CommitLine({ commit }: { commit: NonNullable<Finding['commit']> }) {
  const { id, author, date, subject } = commit;
  return (
    <span className="quiet code-commit">
      commit <code title={id}>{id.slice(0, 12)}</code> by {author}, <Ago at={date} />
      {subject !== null && `: ${subject}`}
    </span>
  );
}

function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <ol className="code-lines">
      {lines.map(({ number, text, mark }) => (
        <li key={number} data-match={mark !== null || undefined}>
          <span className="code-number tabular">{number}</span>
          <code>
            {mark === null ? (
              text
            ) : (
              <>
                {text.slice(0, mark.start)}
                <mark>{text.slice(mark.start, mark.end)}</mark>
                {text.slice(mark.end)}
              </>
            )}
          </code>
        </li>
      ))}
    </ol>
  );
}

/** Where no lines are stored: the beginning of the secret, in its line. */
function MatchOnly({ finding: { line, column, end_line, redacted } }: { finding: Finding }) {
  return (
    <ol className="code-lines">
      <li data-match>
        <span className="code-number tabular">{line}</span>
        <code>
          <span className="quiet" aria-hidden="true">
            {column > 1 && '… '}
          </span>
          <mark>{redacted}</mark>
          <span className="quiet" aria-hidden="true">
            {end_line > line && ' …'}
          </span>
        </code>
      </li>
    </ol>
  );
}

function encodedAs({ encodings }: Finding): string {
  return encodings.length === 0 ? '' : `The secret is encoded here: ${encodings.join(', then ')}. `;
}

function extentOf({ line, column, end_line, end_column }: Finding): string {
  if (end_line === line) return `Columns ${column} to ${end_column}`;
  return `From column ${column} to line ${end_line}, column ${end_column}`;
}
