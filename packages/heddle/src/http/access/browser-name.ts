/** In this order: most browsers also name those that they are compatible with. */
const BROWSERS: readonly [name: string, pattern: RegExp][] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d{1,4})/],
  ['Opera', /\bOPR\/(\d{1,4})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d{1,4})/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|CriOS)\/(\d{1,4})/],
  ['Safari', /\bVersion\/(\d{1,4})[^ ]* (?:Mobile\/\S+ )?Safari\//],
  ['curl', /^curl\/(\d{1,4})/],
];

const SYSTEMS: readonly [name: string, pattern: RegExp][] = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
];

const READ_CHARS_MAX = 512;

/** Returns a browser as people name it, such as `Firefox 140 on Linux`; null if the header says nothing known. */
export function browserName(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').slice(0, READ_CHARS_MAX);
  const [browser] = BROWSERS.flatMap(([name, pattern]) => {
    const version = pattern.exec(text)?.[1];
    return version === undefined ? [] : [`${name} ${version}`];
  });
  const system = SYSTEMS.find(([, pattern]) => pattern.test(text))?.[0];
  if (browser === undefined) return system ?? null;
  return system === undefined ? browser : `${browser} on ${system}`;
}
