import { remembered } from '../remembered.ts';

/** What the words of a name say about its value. */
export interface NameKinds {
  password: boolean;
  token: boolean;
  secret: boolean;
  key: boolean;
  /** `api`, `access`, `private`, `client`: what makes a key or token one of an account. */
  owned: boolean;
  /** `id`, `url`, `label`, `hash`: what a name ends with if its value is about a secret, not the secret. */
  about: boolean;
  /** `public`, `example`, `csrf`: names of values that need no protection. */
  open: boolean;
}

/** Few names are most of those in the files of one project. */
const NAMES_MAX = 200;

const PASSWORD =
  /pass(?:w(?:or)?d|phrase|wort|code)|(?:^|_)(?:pass|pwd|passwd|pw|mdp|psw|pswd|motdepasse)(?:_|$|\d)|(?:^|_)psk$|(?:db|root|bind|user|admin|smtp|mail|ftp|sql|store|key|trust|wifi)(?:pass|pwd|pw)(?:_|$)/;
const TOKEN = /tokens?(?:_|$|\d)|(?:^|_)(?:jwt|bearer|pat|webhook|oauth|auth|authorization)(?:_|$)|tok(?:_|$)/;
const SECRET = /secrets?(?:_|$|\d)|credentials?|creds?(?:_|$)|salt(?:_|$)|pepper|(?:^|_)sec(?:_|$)/;
const KEY = /keys?(?:_|$|\d)/;
const OWNED =
  /(?:^|_)(?:api|access|auth|app|account|private|client|consumer|service|admin|master|encrypt(?:ion)?|sign(?:ing|ature)?|crypt|crypto|license|licence|storage|subscription|shared|session|cookie|jwt|refresh|bearer|bot|deploy|integration|webhook|oauth|user|db|database|root|smtp|mail|redis|mongo|postgres|mysql|aws|azure|gcp|google|github|gitlab|slack|stripe|twilio|sendgrid|s3|prod|production|live|site|application|registry|docker|npm|ssh|ftp|ldap|vault|secret|token)(?:_|$)|(?:api|access|auth|app|client|consumer|secret|user|bot|db|aws|github|gitlab|slack|stripe|npm|license)(?:key|token|secret)s?(?:_|$)/;
const ABOUT =
  /(?:^|_)(?:id|ids|url|uri|urls|name|names|label|path|paths|file|files|filename|dir|header|headers|hash|hashes|type|types|endpoint|prefix|suffix|arn|ref|reference|expiry|expires|expiration|length|len|size|count|limit|max|min|regex|regexp|pattern|field|fields|column|placeholder|title|message|msg|error|hint|help|text|description|desc|policy|format|class|classname|selector|element|input|button|form|icon|image|link|page|version|date|time|timestamp|status|state|code|mode|kind|provider|issuer|algorithm|alg|digest|checksum|sha|sha1|sha256|md5|integrity|etag|fingerprint|thumbprint|index|offset|position|cursor|next|previous|separator|delimiter|event|action|scheme|strategy|scope|scopes|store|manager|service|factory|handler|helper|validator|parser|generator|required|enabled|disabled|visible|changed|reset|confirm|confirmation|strength|rule|rules|attribute|attributes|param|parameter|variable|var|env|source|target|secret_name|keyword|keycode|keyboard|keymap|shortcut|hotkey|press|down|up|color|colour|style|width|height|locale|lang|language|translation|i18n|schema|table|database_key|primary_key|foreign_key|partition|sort|cache_key|cache|test|group|order|event_key|storage_key|session_key_name|query|data_key|map|object|item|value_key|object_key|mgr|handler|realm|util|utils|impl)$/;
const OPEN =
  /public|publishable|[cx]srf|(?:^|_)(?:pub|manager|maintainer|committer|signer|authenticity|idempotency|client_request|token_bytes|nonce|etag|example|sample|dummy|fake|mock|placeholder|test|tests|testing|site_?key|anon|cursor|page|continuation|next|sync|translation|i18n|locale|cache|primary|foreign|sort|partition|index|lookup|hot|host|monkey|turkey|donkey|keyboard|keyword|monkeys|tokenize|tokenizer|eof|eos|bos|pad|unk|mask)(?:_|$)/;

/** The latest name, which several questions about one assignment ask for. */
let latest = { name: '', words: '' };

/** Writes a name in words divided by underscores: `dbPassword` and `DB-PASSWORD` become `db_password`. */
export function wordsOf(name: string): string {
  if (latest.name !== name) latest = { name, words: inWords(name) };
  return latest.words;
}

function inWords(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toLowerCase();
}

export const kindsOf = remembered(NAMES_MAX, (name): NameKinds => {
  const words = wordsOf(name);
  return {
    password: PASSWORD.test(words),
    token: TOKEN.test(words),
    secret: SECRET.test(words),
    key: KEY.test(words),
    owned: OWNED.test(words),
    about: ABOUT.test(words),
    open: OPEN.test(words),
  };
});

const DIGEST = /(?:^|_)(?:hash|hashed|digest|checksum|fingerprint|thumbprint|sha_?(?:1|256|512)|md5)(?:_|$)/;

/** Returns whether a name says that its value is a digest of something. */
export function namesDigest(name: string): boolean {
  return DIGEST.test(wordsOf(name));
}

/** Also the random number of a handshake of WebSockets. */
const PUBLIC_KEY = /(?:^|_)public_?(?:\w+_)?keys?(?:_|$)|(?:^|_)pub_?keys?$|publishable|web_?socket_key$/;

/** Returns whether a name says that its value may be known to everybody. */
export function namesPublicKey(name: string): boolean {
  return PUBLIC_KEY.test(wordsOf(name));
}

const SIGNER = /(?:^|_)(?:gpg|pgp|manager|maintainer|committer|signer)_(?:\w+_)?keys?(?:_|$)/;

/** Returns whether a name says whose key signs something, which its fingerprint stands for. */
export function namesSigner(name: string): boolean {
  return SIGNER.test(wordsOf(name));
}

/** Between a name and its value: the type of a variable, operators, and what makes a string of a literal. */
const NAME_BEFORE = new RegExp(
  [
    /([A-Za-z_$][\w.$-]{0,80}?)(?:\[\d{0,5}\])?/,
    /(?:[:?]{0,2} ?(?:[Ss]tr(?:ing)?\b|&(?:'static )?str\b|As String\b|Optional\[str\]|Final(?:\[str\])?|\[\]const u8\b|\{ get; (?:(?:private |internal )?set; |init; )?\}|PROGMEM)| --plaintext)?(?:\.equals)?/,
    /(?:<value>|!!str |[\s"'`\])\\:=!(,>?|.+@<[{*-]){0,20}/,
    /(?:(?:[bBfFrRuUL]|<?-|to |byte\(|(?:String::)?from\(|String\() ?["'`])?$/,
  ]
    .map(({ source }) => source)
    .join(''),
);

/** What says whose a key is, as a word of its own before it. */
const OWNER_BEFORE =
  /\b((?:api|access|secret|private|public|publishable|client|auth\w{0,12}|account|licen[cs]e|activation|signing|encryption|shared|master|app|application|subscription|consumer|service|admin|session|product|primary|foreign|storage) )keys?\b[^A-Za-z]*$/i;

/** Of Python, before what is taken for a variable of the environment that is missing. */
const OR_BEFORE = /((?:environ|getenv)[^;]{1,60}\))\s{0,3}or\s{0,3}(?=["']$)/;

/** What makes bytes or a string of a literal. */
const DECODER_BEFORE =
  /(?:, ?(?:err|ok|_) ?:?= ?)?(?:\bnew )?(?:\b[A-Za-z][\w.:]{0,40}(?:\(\))?[.:])?(?:atob|b64decode|from_?hex|unhexlify|base64_decode|hex2bin|[dD]ecode(?:String|64|Base64)?|FromBase64String|FromHexString|String|SecretStr|from|GetBytes|QString(?:Literal)?|string|hexToBytes)\((?:\[\]byte\()?(?=b?["'`]$)/;

const CDATA_BEFORE = /<!\[CDATA\[\s*$/;

/** Returns the name that a value is assigned to, by the text before it; empty without one. */
export function nameBefore(text: string): string {
  const near = text
    .slice(-120)
    .replace(OR_BEFORE, '$1')
    .replace(CDATA_BEFORE, '')
    .replace(DECODER_BEFORE, '')
    .replaceAll('&quot;', '"');
  const name = NAME_BEFORE.exec(near)?.[1] ?? '';
  return /^keys?$/i.test(name) ? `${OWNER_BEFORE.exec(near)?.[1] ?? ''}${name}` : name;
}

const STATED_BEFORE =
  /(passw(?:or)?d|passphrase|passcode|pwd|api[ _-]?key|token|secret(?:[ _-]key)?)\b[^\n]{0,70}\s(?:is|are|was)\b[^\n]{0,20}$/i;
const SET_BEFORE = /\bidentified\s[^\n;]{0,90}\bby\b[^\n]{0,14}$/i;

/** "Password" in other languages, in the bytes of UTF-8. */
const TRANSLATED = [
  'senha|contrase(?:n|ñ)i?a|clave|mot[_ ]?de[_ ]?passe|mdp|kennwort|wachtwoord|passord|adgangskode|l(?:o|ö)senord|salasana',
  'has(?:l|ł)o|heslo|jelsz(?:o|ó)|(?:s|ş)ifre|parola|пароль|Пароль|密码|密碼|口令|パスワード|비밀번호|암호|패스워드',
].join('|');
const TRANSLATED_BEFORE = new RegExp(
  `(?:${inBytes(TRANSLATED)})[A-Za-z0-9_]{0,12}["'\\])]{0,2}[ \\t]{0,3}(?:=>|:=|=|:|${inBytes('：')})[ \\t]{0,3}["'\`]?$`,
  'i',
);

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Returns whether the text before a value says in another language that it is a password. */
export function isTranslatedBefore(text: string): boolean {
  return TRANSLATED_BEFORE.test(text.slice(-120));
}

/** Returns the name of what a sentence or a statement of SQL says that a value is; empty without one. */
export function statedBefore(text: string): string {
  const near = text.slice(-120);
  return STATED_BEFORE.exec(near)?.[1] ?? (SET_BEFORE.test(near) ? 'password' : '');
}

const ELEMENT_BEFORE = /<([A-Za-z_][\w.:-]{0,80})(?: [^<>]{0,80})?>[ \t]*\r?\n[ \t]*$/;

/** Returns the name of the element that a value on a line of its own is the text of; empty without one. */
export function elementBefore(text: string): string {
  return ELEMENT_BEFORE.exec(text.slice(-240))?.[1] ?? '';
}

const VARIABLE_BEFORE = /\bvariable "([\w-]{1,80})"\s*\{[^{}]{0,400}$/;
const PAIR_BEFORE =
  /([\w.-]{1,80})(?:["'<,:]|\r?\n)(?:\/(?:name|key)>|>)?[\s,:{]{0,40}<?["']?\w{3,16}["']?\s{0,3}[=:>]\s{0,3}["']?$/i;

/** Returns the name that stands beside a value whose own name only says that it is one; empty without one. */
export function nameBeside(text: string): string {
  const near = text.slice(-520);
  return VARIABLE_BEFORE.exec(near)?.[1] ?? PAIR_BEFORE.exec(near)?.[1] ?? '';
}
