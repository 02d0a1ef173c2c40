import type * as regex from '@heddle/base/regex/ast';
import type { ByteSet } from './byte-set.ts';

/** A pattern over bytes. */
export type RegexNode = regex.RegexNode<ByteSet>;
export type ParsedRegex = regex.ParsedRegex<ByteSet>;
