const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** Formats a size for display: `812 bytes`, `4.0 KiB`, `1.3 GiB`. */
export function byteCount(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${value.toFixed(1)} ${UNITS[unit]!}`;
}

/** Formats a whole number with thousands separators: `12,345`. */
function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a count: `1 finding`, `12,345 findings`. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(number)} ${number === 1 ? noun : plural}`;
}

/** Formats a duration: `0.4 s`, `3 min 05 s`, `2 h 07 min`. */
export function elapsed(ms: number): string {
  const secs = Math.max(0, ms) / 1000;
  if (secs < 59.95) return `${secs.toFixed(1)} s`;
  const whole = Math.round(secs);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** Formats MB (millions of bytes) per second, the unit for disks and networks. */
export function rate(bytes: number, ms: number): string {
  const value = ms <= 0 ? 0 : bytes / 1000 / ms;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} MB/s`;
}
