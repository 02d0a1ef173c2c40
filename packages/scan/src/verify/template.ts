import { PLACEHOLDER } from '../detect/rules/parse-verification.ts';

/** Where a value is inserted decides how it is written. */
type Place = 'url' | 'header' | 'form' | 'json';

/** What a part of a path that keeps its slashes may consist of. */
const PATH_PART = /^[A-Za-z0-9._~/:@-]*$/;
/** Printable ASCII: other characters would end a header or change it. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** A value that cannot be part of the request; the message does not contain it. */
export class UnusableValue extends Error {}

/** Replaces the placeholders of a template. Throws UnusableValue. */
export function filled(template: string, values: Readonly<Record<string, string>>, place: Place): string {
  return template.replaceAll(PLACEHOLDER, (_whole, plus: string, name: string) => {
    const value = values[name] ?? '';
    if (plus !== '') return checked(value, PATH_PART, name);
    switch (place) {
      case 'url':
        return encodeURIComponent(value.toWellFormed());
      case 'header':
        return checked(value, HEADER_VALUE, name);
      case 'form':
        return value;
      case 'json':
        return JSON.stringify(value.toWellFormed()).slice(1, -1);
    }
  });
}

function checked(value: string, form: RegExp, name: string): string {
  if (form.test(value)) return value;
  throw new UnusableValue(
    `the ${name === 'secret' ? 'secret' : `value ${name}`} has characters that the request cannot contain`,
  );
}
