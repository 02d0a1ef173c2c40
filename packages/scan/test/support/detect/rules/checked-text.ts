import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import type { Rule } from '../../../../src/detect/rules/rule.ts';

/** Cases have random characters where credentials have a checksum; this puts the right ones there. */
export function checkedText({ regex = '', checksum }: Rule, text: string): string {
  if (checksum === undefined) return text;
  return text.replaceAll(new RegExp(regex, 'g'), (secret) => withChecksum(checksum, secret));
}
