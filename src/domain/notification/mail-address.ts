/** What SMTP allows for a whole address, and for what stands before its @. */
const ADDRESS_CHARACTERS_MAX = 254;
const LOCAL_CHARACTERS_MAX = 64;

/** The characters that need no quotes before the @ (RFC 5321), so that nothing in an address can mean anything else. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** What is wrong with an address that mail is to go to (`name@example.com`, no display name); null where nothing is. */
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
