import type { RegexNode } from '@heddle/base/regex/ast';
import { parseRegex } from '@heddle/scan/internal/detect/regex/parse';
import { bytesOf, type ByteSet } from '@heddle/scan/internal/detect/regex/byte-set';
import type { PseudoRandom } from '../scan/pseudo-random.ts';

const UNBOUNDED_MORE = 10;

/** Returns a text that a pattern matches, made of printable characters where it allows them. */
export function randomMatch(pattern: string, random: PseudoRandom): string {
  return make(parseRegex(pattern).node, random);
}

function make(node: RegexNode<ByteSet>, random: PseudoRandom): string {
  switch (node.type) {
    case 'empty':
    case 'assertion':
      return '';
    case 'set': {
      const bytes = bytesOf(node.set);
      const printable = bytes.filter((byte) => byte > 0x20 && byte < 0x7f);
      return String.fromCharCode(random.pick(printable.length > 0 ? printable : bytes));
    }
    case 'capture':
      return make(node.node, random);
    case 'sequence':
      return node.parts.map((part) => make(part, random)).join('');
    case 'choice':
      return make(random.pick(node.branches), random);
    case 'repeat': {
      const count = random.between(node.min, Math.min(node.max, node.min + UNBOUNDED_MORE));
      return Array.from({ length: count }, () => make(node.node, random)).join('');
    }
  }
}
