const DAYS = ['Sundays', 'Mondays', 'Tuesdays', 'Wednesdays', 'Thursdays', 'Fridays', 'Saturdays'];
const DAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const MONTH_NAMES = MONTHS.map((name) => name.slice(0, 3).toUpperCase());

const NICKNAMES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

type Field =
  | { type: 'any' }
  | { type: 'step'; every: number }
  | { type: 'range'; from: number; to: number }
  | { type: 'values'; values: number[] };

/** Describes a schedule, such as "Every day at 02:30"; returns null if the expression is too complex. */
export function cronInWords(expression: string): string | null {
  const text = NICKNAMES[expression.trim().toLowerCase()] ?? expression.trim();
  const parts = text.split(/\s+/);
  if (parts.length === 6 && parts[0] !== '0' && parts[0] !== '00') return everySeconds(parts);
  const [minute, hour, day, month, weekday] = parts.slice(-5);
  if (parts.length < 5 || parts.length > 6) return null;
  const when = timeInWords(fieldOf(minute!, 0, 59), fieldOf(hour!, 0, 23));
  const days = daysInWords(day!, fieldOf(weekday!, 0, 7, DAY_NAMES));
  const months = monthsInWords(fieldOf(month!, 1, 12, MONTH_NAMES));
  if (when === null || days === null || months === null) return null;
  const daily = days === '' && when.fixed ? 'every day' : days;
  const sentence = when.fixed ? [daily, when.words, months] : [when.words, daily, months];
  const words = sentence.filter((part) => part !== '').join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function everySeconds([second, ...others]: string[]): string | null {
  if (others.some((part) => part !== '*')) return null;
  const field = fieldOf(second!, 0, 59);
  if (field?.type === 'any') return 'Every second';
  return field?.type === 'step' && 60 % field.every === 0 ? `Every ${field.every} seconds` : null;
}

/** Null if the field cannot be described. */
function fieldOf(text: string, min: number, max: number, names: readonly string[] = []): Field | null {
  if (text === '*' || text === '?') return { type: 'any' };
  const step = /^\*\/(\d+)$/.exec(text);
  if (step !== null) return { type: 'step', every: Number(step[1]) };
  const valueOf = (word: string): number => {
    const named = names.indexOf(word.toUpperCase());
    const value = named === -1 ? Number(/^\d+$/.test(word) ? word : NaN) : named + min;
    return value >= min && value <= max ? value : NaN;
  };
  const range = text.split('-').map(valueOf);
  if (range.length === 2 && range.every(Number.isFinite)) return { type: 'range', from: range[0]!, to: range[1]! };
  const values = text.split(',').map(valueOf);
  return values.every(Number.isFinite) ? { type: 'values', values } : null;
}

function timeInWords(minute: Field | null, hour: Field | null): { words: string; fixed: boolean } | null {
  if (minute === null || hour === null) return null;
  if (minute.type === 'values') return atMinutes(minute.values, hour);
  if (minute.type === 'range') return null;
  const every = minute.type === 'any' ? 1 : minute.every;
  if (60 % every !== 0) return null;
  const words = every === 1 ? 'every minute' : every === 60 ? 'every hour' : `every ${every} minutes`;
  if (hour.type === 'any') return { words, fixed: false };
  if (hour.type !== 'range') return null;
  return { words: `${words} from ${clock(hour.from, 0)} to ${clock(hour.to, 60 - every)}`, fixed: false };
}

function atMinutes(minutes: number[], hour: Field): { words: string; fixed: boolean } | null {
  const past =
    minutes.length === 1 && minutes[0] === 0 ? 'on the hour' : `at ${join(minutes.map((m) => `:${pad(m)}`))}`;
  if (hour.type === 'any') return { words: `every hour, ${past}`, fixed: false };
  if (hour.type === 'step') {
    return 24 % hour.every === 0 ? { words: `every ${hour.every} hours, ${past}`, fixed: false } : null;
  }
  if (hour.type === 'range') {
    return { words: `every hour from ${pad(hour.from)} to ${pad(hour.to)}, ${past}`, fixed: false };
  }
  const times = hour.values.flatMap((h) => minutes.map((m) => clock(h, m)));
  return { words: `at ${join(times)}`, fixed: true };
}

function daysInWords(day: string, weekday: Field | null): string | null {
  if (day === '*' || day === '?') return weekdaysInWords(weekday);
  // Days of the month and of the week together mean either: the expression itself is clearer.
  if (weekday?.type !== 'any') return null;
  if (day.toUpperCase() === 'L') return 'on the last day of the month';
  const days = fieldOf(day, 1, 31);
  return days?.type === 'values' ? `on the ${join(days.values.map(ordinal))} of the month` : null;
}

function weekdaysInWords(weekday: Field | null): string | null {
  if (weekday === null || weekday.type === 'step') return null;
  if (weekday.type === 'any') return '';
  if (weekday.type === 'values') return `on ${join(weekday.values.map((value) => DAYS[value % 7]!))}`;
  if (weekday.from === 1 && weekday.to === 5) return 'on weekdays';
  return weekday.from < weekday.to ? `from ${DAYS[weekday.from]!} to ${DAYS[weekday.to % 7]!}` : null;
}

function monthsInWords(month: Field | null): string | null {
  if (month === null || month.type === 'step') return null;
  if (month.type === 'any') return '';
  if (month.type === 'range') return `from ${MONTHS[month.from - 1]!} to ${MONTHS[month.to - 1]!}`;
  return `in ${join(month.values.map((value) => MONTHS[value - 1]!))}`;
}

function ordinal(value: number): string {
  const teen = value % 100 >= 11 && value % 100 <= 13;
  return `${value}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')}`;
}

function clock(hour: number, minute: number): string {
  return `${pad(hour)}:${pad(minute)}`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

function join(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)!}`;
}
