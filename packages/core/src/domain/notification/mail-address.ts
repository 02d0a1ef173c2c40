/** SMTP limits of a whole address and of its local part. */
const ADDRESS_CHARACTERS_MAX = 254;
const LOCAL_CHARACTERS_MAX = 64;

/** Characters that need no quotes in the local part (RFC 5321), so that no part of an address has a special meaning. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** Returns the fault of a mail address (`name@example.com`, no display name); null if it is valid. */
export function mailAddressFault(address: string): string | null {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  const labels = address.slice(at + 1).split('.');
  if (at < 1) return 'must be an address such as name@example.com';
  if (address.length > ADDRESS_CHARACTERS_MAX || local.length > LOCAL_CHARACTERS_MAX) {
    return `must have at most ${ADDRESS_CHARACTERS_MAX} characters, ${LOCAL_CHARACTERS_MAX} of them before the @`;
  }
  if (!LOCAL_PART.test(local)) return 'must be a plain address such as name@example.com, without name or quotes';
  if (!labels.every((label) => LABEL.test(label)))
    return 'must end with the name of a host (xn--… where it is not ASCII)';
  return null;
}
