import type { Queryable, Statement } from '../database.ts';

/** Adds up what all processes did. The order of the minutes prevents deadlocks. */
const ADD: Statement = {
  name: 'activity.add',
  text: `insert into activity_minute as a (minute, started, succeeded, failed, canceled, waits)
    select u.minute, u.started, u.succeeded, u.failed, u.canceled,
      array(select (w.value)::bigint from jsonb_array_elements_text(u.waits) with ordinality w(value, ord) order by w.ord)
    from jsonb_to_recordset($1::jsonb)
      u(minute timestamptz, started bigint, succeeded bigint, failed bigint, canceled bigint, waits jsonb)
    order by u.minute
    on conflict (minute) do update set started = a.started + excluded.started,
      succeeded = a.succeeded + excluded.succeeded, failed = a.failed + excluded.failed,
      canceled = a.canceled + excluded.canceled,
      waits = array(select coalesce(x.mine, 0) + coalesce(x.other, 0)
        from unnest(a.waits, excluded.waits) with ordinality x(mine, other, ord) order by x.ord)`,
};

const FORGET: Statement = {
  name: 'activity.forget',
  text: `delete from activity_minute where minute < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'`,
};

/** What one process did in a minute. */
export interface MinuteOfActivity {
  /** Milliseconds since the epoch. */
  minute: number;
  started: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Started tasks by the bucket of their wait. */
  waits: number[];
}

export async function addActivity(queryable: Queryable, minutes: readonly MinuteOfActivity[]): Promise<void> {
  const rows = minutes.map(({ minute, ...counts }) => ({ minute: new Date(minute).toISOString(), ...counts }));
  await queryable.query(ADD, [JSON.stringify(rows)]);
}

export async function forgetActivity(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(FORGET, [now]);
}
