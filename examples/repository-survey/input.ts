/** Inputs are validated by any Standard Schema (zod, valibot, …); this one is written by hand to need no package. */
import type { StandardSchema } from '@heddle/kit';

type Member = 'text' | 'texts';
type Shape = Record<string, Member>;
type Checked<S extends Shape> = { -readonly [Key in keyof S]: S[Key] extends 'text' ? string : string[] };

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const CHECKS: Record<Member, { holds: (value: unknown) => boolean; message: string }> = {
  text: { holds: isText, message: 'must be a string' },
  texts: { holds: (value) => Array.isArray(value) && value.every(isText), message: 'must be an array of strings' },
};

/** An object with these members. */
export function shape<const S extends Shape>(members: S): StandardSchema<Checked<S>> {
  const validate: StandardSchema<Checked<S>>['~standard']['validate'] = (value) => {
    const object = value as Record<string, unknown>;
    const issues = Object.entries(members).flatMap(([name, member]) =>
      CHECKS[member].holds(object[name]) ? [] : [{ message: CHECKS[member].message, path: [name] }],
    );
    return issues.length > 0 ? { issues } : { value: object as Checked<S> };
  };
  return { '~standard': { version: 1, vendor: 'example', validate } };
}
