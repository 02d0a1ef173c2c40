/** Characters that terminals draw two columns wide: East Asian scripts, full-width forms, pictographs. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;

/** Marks that are drawn onto the character before them. */
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Returns one line that is safe to print: names and reasons may come from anyone and contain escape sequences. */
export function printable(text: string): string {
  return text.replace(CONTROL, ' ');
}

function characterWidth(character: string): number {
  if (WIDE.test(character)) return 2;
  return ZERO_WIDTH.test(character) ? 0 : 1;
}

/** Columns that the string takes on a terminal. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The string, truncated with an ellipsis if it takes more columns. */
export function cut(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let width = 1;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

export function pad(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, columns - displayWidth(text)));
  return align === 'left' ? text + space : space + text;
}

/** Formats a duration: `0.4 s`, `12.3 s`, `3 min 05 s`, `2 h 07 min`. */
export function duration(ms: number): string {
  const secs = Math.max(0, ms) / 1000;
  if (secs < 59.95) return `${secs.toFixed(1)} s`;
  const whole = Math.round(secs);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return `${Math.round(minutes / 1440)} days`;
}

/** Formats `1 task`, `2 tasks`; `plural` if the plural does not end in `s`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}
