import { remembered } from '../remembered.ts';

/** Forms of text that are no secrets, whatever they are assigned to. */
const NO_SECRET: readonly RegExp[] = [
  // Templates, variables and calls. A dollar sign may be the first letter of a password with other signs and digits.
  /\$\{|\$\(|\{\{|\}\}|<%|%>|#\{|^\$(?!\w*\d\w*[!#%^&*][\w!#%^&*]*$|\w*[!#%^&*]\w*\d[\w!#%^&*]*$)[A-Za-z_{(]|^%[A-Za-z_(]|^@[A-Za-z_]+\(|^<[^<>]*>?$|^\{[^{}]*\}$|^\[[^[\]]*\]$|%[sdv@]|^:[a-z_]+$|^%\w+%$/,
  /^(?:process|os|env|config|this|self|ctx|req|request|props|state|args|options|settings|data|params|secrets|vars?|exports|module|window|document|global|app|self)(?:\.|\[|->)/i,
  // What begins like a call is one, unless it goes on as none does.
  /^[\w.$:>-]*[\w$]\((?!(?!0x)\d+[A-Za-z]\w[^()]*$|[^()]*\w[!@#%^](?!=)[^()]*$|[^()]*(?:\d[A-Za-z]|[A-Za-z]\d)[^()]*$|[^()]*\)\w)/,
  // Words, and identifiers without a digit.
  /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$/,
  /^[a-z]+(?:[A-Z][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$/,
  /^_?[A-Za-z]+(?:[_.:/-]{1,2}[A-Za-z]+)+[_.:/-]?$/,
  // Keys that vendors publish for examples and emulators.
  /^Eby8vdM02xNOcqFlq|^JBSWY3DPEHPK3PXP|EXAMPLE(?:KEY)?$/,
  // Regular expressions.
  /\(\?[:=!<]|\[\^?(?:0-9|a-z|A-Z|a-f)/,
  // Encodings and algorithms. Random letters that begin like the name of one have more digits among them.
  /^(?:base64(?:url)?|hex|ascii|latin-?1|iso-?8859-?1?|utf-?(?:8|16|32)(?:le|be)?|(?:hmac-?)?sha-?[1-9]\d{0,2}|md5|[hrpe]s(?:256|384|512)|(?!(?:\D+\d+){4}|(?:[a-z]+\d+){3})(?:aes|rsa)[\w-]{0,20}|p-?(?:256|384|521)|ed25519|x25519|pbkdf2|gostr?[\w-]{0,20}|bcrypt|argon2[a-z]{0,2})$/i,
  // Names of cipher suites.
  /^(?:[A-Z0-9]{2,9}[_-]){1,5}(?:AES|ARIA|CAMELLIA)[_-]?\d{3}(?:[_-][A-Z0-9]{1,9})*$/,
  // Numbers, versions, dates, sizes.
  /^[\d.,:+/_-]+$|^0x[0-9a-f]+[ul]{0,3}$|^v?\d+(?:\.\d+)+(?:[-+.]?[a-z]{1,8}\.?\d*)*$|^(?:\w{1,20}=)?\d{4}-\d\d-\d\dT[\d:.]+Z?$|^\d+(?:px|em|ms|s|m|h|d|kb|mb|gb|%)$/i,
  // Repetitions and masks.
  /^(.)\1+$|\*{3}|\.{3}|^[x*#.•_-]+$|x{5}|X{4}|^(.{1,4})\2{2,}$/,
  // Queries, addresses without credentials, paths, names of files.
  /^\?\w+=|^[a-z][a-z0-9+.-]{1,20}:\/\/(?![^/\s]*:[^/\s]*@)|^(?:\.{0,2}|~)\/(?:[\w.@-]{1,24}\/)*[\w.@-]{0,24}$|^[A-Za-z]:\\|^[\w/.-]+\.(?:js|ts|json|ya?ml|pem|crt|key|txt|html?|css|png|svg|py|rb|go|java|php|sh|md|xml|conf|cfg|ini|toml|jks|p12|pfx|pub|cer|der)$/i,
  // Identifiers of things: UUIDs with a name are judged, these are not.
  /^(?:arn:|urn:|did:|mailto:|data:|sha(?:1|256|384|512)[-:]|md5[-:]|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2|AAAA[BCE]3Nz|pk_(?:live|test)_|pub[0-9a-f]{32}$|pk\.eyJ|sb_publishable_|phc_|3MVG9[\w.]{60})/i,
  // An address, and the beginning of one, as anonymous users give it for a password.
  /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|^[A-Za-z.-]+@$/,
  // A package or an action with its version.
  /^@?[\w.-]{1,40}(?:\/[\w.-]{1,60}){1,4}@[\w.-]{1,40}$/,
  // Alphabets, and runs of the keyboard.
  /abcdefgh|12345678|23456789|qwerty|ABCDEFGH|0123456|98765432|deadbeef|cafebabe|(?:0123|1234|abcd){2}/i,
  // Text of other alphabets, and no text.
  /[\x00-\x1f\x7f-\xff]/,
  // Code. A single brace or semicolon may be part of a password, and so may braces around anything but a name or a number.
  /^[^;{}]*(?=[;{}].*[;{}])(?!\{[^;{}:,=]*(?:\d[A-Za-z]|\w[!@#%^])[^;{}:,=]*\}[^;{}]*$)/,
  /=>|&&|\|\||[;{}]$|^[;{}]|\bfunction\b|\breturn\b|==(?!$)|!=|\(\)|\\[nrtu]|<\/|\/>/,
  // What follows a name and an interpolation.
  /^\)[\])}]/,
  // A sign before a name; random letters may begin with a hyphen.
  /^(?!-(?=(?:\D*\d){3})[\w-]{20,}$)[!+-]{1,2}[a-z]/,
];

const PLACEHOLDER =
  /(?:^|[^a-z])(?:your|my|change|replace|insert|enter|put|add|set|fill|todo|fixme|example|sample|dummy|fake|mock|test|tests|testing|tester|demo|default|placeholder|redacted|removed|hidden|masked|secret|password|passwd|passwort|token|apikey|key|here|goes|foo|bar|baz|foobar|none|null|nil|undefined|true|false|empty|unknown|invalid|some|value|string|env|config|username|user|admin|root|guest|hello|world|lorem|ipsum|not|real|abc|xyz|old|new|wrong|correct|valid|right|bad|good|super|very)s?(?:[^a-z]|$)|change_?(?:me|it|this)|replace_?(?:me|this)|not_?a_?(?:real|secret)|not_?so_?secret|example|placeholder|dummy|p[a@4][s$5]{1,2}w[o0]rd|s[e3]cr[e3]t|your_?|letmein|welcome|redacted/gi;

/** One value is checked several times, for its form and for its features. */
const VALUES_MAX = 1;

/** Values that consist of little else than placeholders are examples. */
const PLACEHOLDER_SHARE_MAX = 0.85;

/** Returns whether a value has a form that no secret has. */
export function isNoSecret(value: string): boolean {
  return NO_SECRET.some((shape) => shape.test(value)) || placeholderShare(value) > PLACEHOLDER_SHARE_MAX;
}

/** Returns the share of a value that consists of words that stand for a secret or say that it is none. */
export const placeholderShare = remembered(VALUES_MAX, (value) => {
  const spelled = value.replaceAll(/([a-z])([A-Z])/g, '$1_$2');
  let letters = 0;
  for (const [word] of spelled.matchAll(PLACEHOLDER)) letters += word.replaceAll(/[^A-Za-z0-9]/g, '').length;
  return Math.min(1, letters / value.length);
});

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const HEX = /^[0-9a-f]+$|^[0-9A-F]+$/;
const HEX_LENGTHS = new Set([32, 40, 48, 56, 64, 96, 128]);

/** Returns whether a value has the form of a digest. */
export function isDigestLike(value: string): boolean {
  return HEX.test(value) && HEX_LENGTHS.has(value.length);
}

const LETTER = 1;
const CAPITAL = 2;
const JOINT = 3;

const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[a-z]/.test(character)) return LETTER;
  if (/[A-Z]/.test(character)) return CAPITAL;
  return /[_.:/-]/.test(character) ? JOINT : 0;
});

/**
 * Returns whether bytes are words or an identifier without a digit, such as `process.env.API_KEY`: values of which
 * `isNoSecret` is true. The most frequent ones, decided without making a string.
 */
export function areWords(bytes: Uint8Array, start: number, end: number): boolean {
  let joints = 0;
  let capitals = 0;
  let before = JOINT;
  let hasAbbreviation = false;
  for (let at = start; at < end; at++) {
    const kind = KINDS[bytes[at]!]!;
    if (kind === 0 || (kind === JOINT && before === JOINT)) return false;
    if (kind === JOINT) joints++;
    else if (kind === CAPITAL) {
      capitals++;
      if (before === CAPITAL) hasAbbreviation = true;
    }
    before = kind;
  }
  if (joints > 0) return joints > 1 || before !== JOINT;
  return capitals === end - start || (!hasAbbreviation && before === LETTER);
}
