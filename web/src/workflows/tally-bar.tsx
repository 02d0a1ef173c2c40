import { STATE_CLASS, STATE_LABEL } from './node-state.ts';
import { OPEN, TALLY_BAR } from './tally.ts';
import type { Tally, TallyKey } from './tally.ts';

export function tallyLabel(key: TallyKey): string {
  return key === OPEN ? 'Unfinished' : STATE_LABEL[key];
}

export function tallyClass(key: TallyKey): string {
  return key === OPEN ? 'open' : STATE_CLASS[key];
}

/** A bar of all states, in proportion to their shares. */
export function TallyBar({ tally }: { tally: Tally }) {
  const parts = TALLY_BAR.filter((key) => tally[key] > 0);
  const text = parts.map((key) => `${tallyLabel(key)}: ${tally[key].toLocaleString()}`);
  return (
    <span className="status-bar" role="img" aria-label={text.join(', ')} title={text.join('\n')}>
      {parts.map((key) => (
        <span key={key} className={`bar-${tallyClass(key)}`} style={{ flexGrow: tally[key] }} />
      ))}
    </span>
  );
}
