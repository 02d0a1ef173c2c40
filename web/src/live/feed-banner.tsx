import { Button } from '../ui/button.tsx';
import { formatClock, formatDuration, useNow } from '../times.ts';
import type { FeedPhase, LiveFeed } from './live-feed.ts';
import { useFeedState } from './use-feed.ts';

/** Reports that the server is unavailable, since when, and when the next try is due. */
export function FeedBanner({ feed }: { feed: LiveFeed }) {
  const { phase, heardAtMs } = useFeedState(feed);
  const now = useNow(1000, phase.name === 'reconnecting');
  if (phase.name !== 'reconnecting') return null;
  const pause = Math.max(0, phase.retryAtMs - now);
  return (
    <div className="banner" role="status">
      <span>
        <strong>{phase.error}.</strong> Reconnecting{' '}
        {pause < 500 ? 'now' : `in ${formatDuration(Math.ceil(pause / 1000) * 1000)}`}
        {heardAtMs === null
          ? '. Check that the server is running at this address.'
          : `. Last updated at ${formatClock(heardAtMs)}.`}
      </span>
      <Button onClick={() => feed.retryNow()}>Try now</Button>
    </div>
  );
}

const SIGNAL: Record<FeedPhase['name'], { label: string; hint: string }> = {
  loading: { label: 'Connecting', hint: 'Loading everything' },
  live: { label: 'Live', hint: 'Changes appear as they happen' },
  ended: { label: 'Finished', hint: 'Every task has ended' },
  polling: { label: 'Every 5 s', hint: 'Live updates are not available; polling every 5 seconds' },
  reconnecting: { label: 'Reconnecting', hint: 'The server is unavailable' },
  failed: { label: 'Stopped', hint: 'It cannot be loaded' },
};

/** The indicator of how current the page is. */
export function FeedSignal({ feed }: { feed: LiveFeed }) {
  const { phase } = useFeedState(feed);
  const { label, hint } = SIGNAL[phase.name];
  return (
    <span className={`signal signal-${phase.name}`} title={hint} data-testid="signal">
      {label}
    </span>
  );
}
