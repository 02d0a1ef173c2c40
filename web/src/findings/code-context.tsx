import type { Finding } from '@heddle/client';
import { CopyButton } from '../ui/copy.tsx';

/** Lines that are drawn of a match that has many. */
const LINES_SHOWN = 5;

/**
 * The lines that hold the secret, with their numbers. Scans report only the beginning of a secret and where it is, so
 * that the text around it is not known here.
 */
export function CodeContext({ finding }: { finding: Finding }) {
  const { path, line, column, end_line, end_column, redacted } = finding;
  const place = `${path}:${line}:${column}`;
  const count = Math.min(end_line - line + 1, LINES_SHOWN);
  const isCut = end_line - line + 1 > LINES_SHOWN;
  return (
    <figure className="code-context" aria-label="Where the secret is">
      <figcaption>
        <code className="breakable">{place}</code>
        <CopyButton text={place} />
      </figcaption>
      <ol className="code-lines">
        {Array.from({ length: count }, (_, i) => (
          <li key={line + i}>
            <span className="code-number tabular">{line + i}</span>
            <code>
              <span className="quiet" aria-hidden="true">
                {i === 0 && column > 1 ? '… ' : ''}
              </span>
              <mark>{i === 0 ? redacted : '***'}</mark>
              <span className="quiet" aria-hidden="true">
                {i === count - 1 && ' …'}
              </span>
            </code>
          </li>
        ))}
      </ol>
      <p className="quiet code-note">
        {end_line === line
          ? `Columns ${column} to ${end_column}`
          : `From column ${column} to line ${end_line}, column ${end_column}`}
        {isCut && `; the first ${LINES_SHOWN} lines are drawn`}. Neither the secret nor the text around it is stored.
      </p>
    </figure>
  );
}
