import { useEffect, useState } from 'react';
import type { Task, TaskAttempt } from '@heddle/client';
import { listAttempts } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { formatDuration, formatMoment, parseTime } from '../times.ts';

/** What each attempt of a task did, newest first, read again whenever the task changes. */
export function AttemptsSection({ task, now }: { task: Task; now: number }) {
  const [attempts, setAttempts] = useState<readonly TaskAttempt[]>([]);
  const [error, setError] = useState<unknown>(null);
  const { id, attempt, status } = task;
  useEffect(() => {
    if (attempt === 0) return undefined;
    const stopped = new AbortController();
    listAttempts(id, stopped.signal).then(
      (next) => {
        setAttempts(next);
        setError(null);
      },
      (failure: unknown) => {
        if (!stopped.signal.aborted) setError(failure);
      },
    );
    return () => stopped.abort();
  }, [id, attempt, status]);
  if (attempt === 0) return null;
  return (
    <section data-testid="attempts">
      <h3>Attempts</h3>
      {error !== null && <Problem error={error} />}
      <ol className="attempts">
        {attempts.map((each) => (
          <AttemptLine key={each.attempt} attempt={each} now={now} />
        ))}
      </ol>
    </section>
  );
}

function AttemptLine({ attempt, now }: { attempt: TaskAttempt; now: number }) {
  const started = parseTime(attempt.started_at);
  const ended = parseTime(attempt.ended_at);
  const claimed = parseTime(attempt.claimed_at);
  const place = attempt.target ?? attempt.claimed_by;
  return (
    <li value={attempt.attempt}>
      <b>{attempt.outcome?.replaceAll('_', ' ') ?? 'open'}</b>
      {attempt.exit_code !== null && ` (exit ${attempt.exit_code})`}
      {started !== null && (
        <span className="tabular" title={`started ${formatMoment(started)}`}>
          {' '}
          · {formatDuration((ended ?? now) - started)}
        </span>
      )}
      {place !== null && (
        <span className="quiet breakable" title={claimed === null ? undefined : `claimed ${formatMoment(claimed)}`}>
          {' '}
          · {place}
          {attempt.target_status !== null && `: ${attempt.target_status}`}
        </span>
      )}
      {attempt.reason !== null && <div className="breakable">{attempt.reason}</div>}
    </li>
  );
}
