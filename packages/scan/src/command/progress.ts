import type { ScanProgress } from '../result.ts';
import { displayFor, grouped, type LiveDisplay, type LiveDisplayOptions } from '@heddle/base/terminal/live-progress';
import { printable } from '@heddle/base/terminal/text';
import { counted } from '../report/figures.ts';

/** The progress of a scan, on standard error. */
export type ScanDisplay = LiveDisplay<ScanProgress>;

/** Redrawn in place on a terminal, a line from time to time elsewhere, nothing if disabled. */
export function scanDisplayFor(options: LiveDisplayOptions): ScanDisplay {
  return displayFor(options, { counts: progressText, current: currentText });
}

/** `1,204 of 20,000 objects, 12.3 MB at 340 MB/s, 1 finding`. */
export function progressText(progress: ScanProgress, elapsedMs: number): string {
  const {
    objects_discovered,
    objects_completed,
    bytes_scanned,
    findings,
    problems,
    discovery_done,
    verifying = 0,
    waiting_for,
  } = progress;
  const share = discovery_done
    ? `${grouped(objects_completed)} of ${grouped(Math.max(objects_discovered, objects_completed))} objects`
    : `${grouped(objects_completed)} objects, ${grouped(objects_discovered)} found so far`;
  const megabytes = bytes_scanned / 1e6;
  const rate = elapsedMs <= 0 ? 0 : (megabytes * 1000) / elapsedMs;
  const parts = [share, `${megabytes.toFixed(1)} MB at ${rate.toFixed(0)} MB/s`, counted(findings, 'finding')];
  if (problems > 0) parts.push(counted(problems, 'problem'));
  if (verifying > 0) parts.push(`${grouped(verifying)} being verified`);
  if (waiting_for !== undefined) parts.push(printable(waiting_for));
  return parts.join(', ');
}

function currentText({ current, discovery_done }: ScanProgress): string {
  return printable(current ?? (discovery_done ? '' : 'listing objects'));
}
