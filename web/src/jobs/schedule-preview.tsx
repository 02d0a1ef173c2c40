import { jobs } from '../api/jobs.ts';
import { faultsOf } from '../data/faults.ts';
import { useLive } from '../data/live.ts';
import { useSettled } from '../data/settled.ts';
import { Faults } from '../ui/form-field.tsx';
import { cronInWords } from './cron-words.ts';
import { ZonedTime } from './zoned-time.tsx';

/** The schedule in words and its next five times, as it is typed; or what is wrong with it. */
export function SchedulePreview({ cron, timeZone }: { cron: string; timeZone: string }) {
  const expression = useSettled(cron.trim());
  const zone = useSettled(timeZone.trim());
  const { data, error } = useLive(
    ['occurrences', expression, zone],
    (signal) => jobs.preview(expression, zone, signal),
    { every: false, enabled: expression !== '' },
  );
  return (
    <div className="schedule-preview" role="group" aria-label="Next runs of this schedule">
      {expression === '' && <p className="quiet">The next five runs are shown here as you type a schedule.</p>}
      {expression !== '' && error !== null && <ScheduleFaults error={error} />}
      {expression !== '' && error === null && data !== undefined && (
        <>
          <p role="status">
            <strong>{cronInWords(expression) ?? 'Next runs'}</strong>
          </p>
          <ol className="next-runs">
            {data.map(({ at }) => (
              <li key={at}>
                <ZonedTime at={at} zone={zone === '' ? 'UTC' : zone} />
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

function ScheduleFaults({ error }: { error: unknown }) {
  const { byField, other } = faultsOf(error, ['cron', 'time_zone']);
  const faults = [...(byField.cron ?? []), ...(byField.time_zone ?? []), ...(other === null ? [] : [other.message])];
  return <Faults role="status" faults={faults} />;
}
