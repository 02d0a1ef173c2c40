import type { Batch } from '../api/wire.ts';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';

/** Batches as a table: name, progress, when and how long. */
export function BatchTable({ rows, now }: { rows: readonly Batch[]; now: number }) {
  return (
    <table className="batch-table">
      <thead>
        <tr>
          <th scope="col">Batch</th>
          <th scope="col">Progress</th>
          <th scope="col">Created</th>
          <th scope="col">Ended</th>
          <th scope="col" className="number">
            Took
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((batch) => (
          <BatchRow key={batch.id} batch={batch} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function BatchRow({ batch, now }: { batch: Batch; now: number }) {
  const done = batch.task_count - batch.remaining;
  const percent = batch.task_count === 0 ? 100 : Math.floor((100 * done) / batch.task_count);
  const createdAt = parseTime(batch.created_at);
  const endedAt = parseTime(batch.ended_at);
  return (
    <tr>
      <td className="batch-name">
        <a href={`/view?batch=${encodeURIComponent(batch.id)}`}>{batch.name ?? batch.id}</a>
        <span className="quiet mono">{batch.name === null ? '' : batch.id}</span>
      </td>
      <td className="batch-progress">
        <progress max={Math.max(1, batch.task_count)} value={batch.task_count === 0 ? 1 : done} aria-label="Progress" />
        <span className="tabular">
          {done.toLocaleString()} of {batch.task_count.toLocaleString()}
          <span className="quiet"> · {percent} %</span>
        </span>
      </td>
      <td title={createdAt === null ? '' : formatMoment(createdAt)}>
        {createdAt === null ? '–' : formatAgo(createdAt, now)}
      </td>
      <td title={endedAt === null ? '' : formatMoment(endedAt)}>
        {endedAt === null ? <span className="open-mark">Open</span> : formatAgo(endedAt, now)}
        {batch.archived && <span className="quiet"> · archived</span>}
      </td>
      <td className="number tabular">{createdAt === null ? '–' : formatDuration((endedAt ?? now) - createdAt)}</td>
    </tr>
  );
}
