import { regexParser } from '@heddle/base/regex/parse';
import { BYTES } from './classes.ts';

/** RE2's own limit of repetitions is 1,000; rules for long keys need a little more. */
const LIMITS = { lengthMax: 65_536, repeatMax: 16_384, nestingMax: 200 };

/** Parses RE2 syntax into a tree over bytes. Throws RegexSyntaxError with the position of the fault. */
export const parseRegex = regexParser(BYTES, LIMITS);
