import { readFileSync } from 'node:fs';
import { newBench, newTask, claimKind, succeed } from '@heddle/test-support/engine/fixture';
import { newId } from '@heddle/base/random';
const { engine, database } = await newBench();
const HZ = 100;
async function backends(): Promise<number> {
  const rows = await database.query<{ pid: number }>({ name: 'x.pids', text: 'select pid from pg_stat_activity where datname = current_database()' });
  let total = 0;
  for (const { pid } of rows) {
    try { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); total += Number(f[11]) + Number(f[12]); } catch {}
  }
  return (total / HZ) * 1e6;
}
async function round(workflows: number, each: number, failEvery = 0): Promise<[number, number]> {
  const n = workflows * each;
  const [b0, p0] = [await backends(), process.cpuUsage()];
  for (let at = 0; at < workflows; at += 500) {
    await engine.submit(Array.from({ length: Math.min(500, workflows - at) }, () => ({ workflow_id: newId(), name: null, tasks: Array.from({ length: each }, () => newTask()), traceparent: null, idempotency: null })));
  }
  for (;;) {
    const claimed = await claimKind(engine, 'work', 1000);
    if (claimed.length === 0) break;
    if (failEvery === 0) await succeed(engine, claimed);
    else await engine.report(claimed.map((t, i) => ({ task_id: t.id, attempt: t.attempt, outcome: i % failEvery === 0 ? 'failed' as const : 'succeeded' as const, reason: 'no' })));
  }
  const p1 = process.cpuUsage(p0);
  return [(await backends() - b0) / n, (p1.user + p1.system) / n];
}
await round(4, 2000); await round(2000, 1);
for (let i = 0; i < 3; i++) {
  const [a, b] = await round(10, 2000);
  const [c, d] = await round(8000, 1);
  const [e, f] = await round(10, 2000, 4);
  console.log(process.argv[2], 'one batch of 2000', a.toFixed(1), b.toFixed(1), '| batches of 1', c.toFixed(1), d.toFixed(1), '| a fourth fails', e.toFixed(1), f.toFixed(1));
}
process.exit(0);
