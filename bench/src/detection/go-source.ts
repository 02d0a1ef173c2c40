/** Reads string values from Go sources: enough of the language for tables of test cases. */

interface Token {
  type: 'string' | 'name' | 'number' | 'sign';
  text: string;
  line: number;
}

export type GoValue = string | number | null | GoValue[];
type GoFunction = (...values: GoValue[]) => GoValue;

/** A value that these sources compute in a way that is not supported. */
export class UnsupportedGo extends Error {}

const TOKEN =
  /(\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|`([^`]*)`|"((?:[^"\\\n]|\\.)*)"|('(?:[^'\\]|\\.)+')|([A-Za-z_]\w*)|(\d[\w.]*)|(:=|\.\.\.|&&|\|\||[=!<>+]=|[^\s\w])/y;

const DEPTH_MAX = 20;

function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    const [whole, , raw, quoted, rune, name, number, sign] = match;
    if (raw !== undefined) tokens.push({ type: 'string', text: raw, line });
    else if (quoted !== undefined) tokens.push({ type: 'string', text: unquote(quoted), line });
    else if (rune !== undefined) tokens.push({ type: 'string', text: unquote(rune.slice(1, -1)), line });
    else if (name !== undefined) tokens.push({ type: 'name', text: name, line });
    else if (number !== undefined) tokens.push({ type: 'number', text: number, line });
    else if (sign !== undefined) tokens.push({ type: 'sign', text: sign, line });
    line += whole.split('\n').length - 1;
  }
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };

function unquote(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))/gis,
    (_, byte?: string, unit?: string, one?: string) =>
      one === undefined ? String.fromCharCode(Number.parseInt(byte ?? unit ?? '', 16)) : (ESCAPES[one] ?? one),
  );
}

/** `fmt.Sprintf`, as far as test cases use it. */
function format(pattern: GoValue, ...values: GoValue[]): string {
  let at = 0;
  return text(pattern).replaceAll(/%(%|[+#]?[svdq])/g, (_, verb: string) =>
    verb === '%' ? '%' : verb === 'q' ? JSON.stringify(values[at++]) : String(values[at++]),
  );
}

function text(value: GoValue | undefined): string {
  if (typeof value !== 'string') throw new UnsupportedGo('not a string');
  return value;
}

const FUNCTIONS: Readonly<Record<string, GoFunction>> = {
  'fmt.Sprintf': format,
  'strings.Repeat': (part, count) => text(part).repeat(Number(count)),
  'strings.ToUpper': (value) => text(value).toUpperCase(),
  'strings.ToLower': (value) => text(value).toLowerCase(),
  'strings.TrimSpace': (value) => text(value).trim(),
  'strings.Join': (list, separator) => (list as string[]).join(text(separator)),
  'base64.StdEncoding.EncodeToString': (value) => Buffer.from(text(value)).toString('base64'),
  string: (value) => text(value),
  append: (list, ...more) => [...((list ?? []) as GoValue[]), ...more.flat()],
};

/** The tokens of a file, and the values that they define. */
export class GoSource {
  readonly #tokens: Token[];
  readonly #functions: Readonly<Record<string, GoFunction>>;
  /** By name: where the expressions of its definitions begin. */
  readonly #defined = new Map<string, number[]>();
  readonly #values = new Map<string, GoValue>();
  #at = 0;
  #depth = 0;

  constructor(source: string, functions: Readonly<Record<string, GoFunction>> = {}) {
    this.#tokens = tokenize(source);
    this.#functions = { ...FUNCTIONS, ...functions };
    this.#tokens.forEach(({ type, text: name }, at) => {
      if (type !== 'name') return;
      const typed = this.#tokens[at + 1]?.text === 'string' ? 1 : 0;
      const sign = this.#tokens[at + 1 + typed]?.text;
      if (sign !== '=' && sign !== ':=') return;
      this.#defined.set(name, [...(this.#defined.get(name) ?? []), at + 2 + typed]);
    });
  }

  /** Yields the values of the fields of literals: `field: expression`, in order; undefined if not supported. */
  *fields(...names: string[]): Generator<{ field: string; value: GoValue | undefined }> {
    for (let at = 0; at + 1 < this.#tokens.length; at++) {
      const { type, text: field } = this.#tokens[at]!;
      if (type !== 'name' || !names.includes(field) || this.#tokens[at + 1]!.text !== ':') continue;
      yield { field, value: this.#tryAt(at + 2) };
    }
  }

  /** Runs the assignments of each function in order; `call` gets the arguments of the calls of `name`. */
  run(name: string, call: (...values: (GoValue | undefined)[]) => void): void {
    for (let at = 0; at < this.#tokens.length; at++) {
      const { text: word, line, type } = this.#tokens[at]!;
      if (type !== 'name') continue;
      if (word === 'func') this.#values.clear();
      const sign = this.#tokens[at + 1]?.text;
      if (this.#tokens[at - 1]?.line !== line && (sign === '=' || sign === ':=')) {
        const value = this.#tryAt(at + 2);
        if (value !== undefined) this.#values.set(word, value);
      }
      if (word === name && sign === '(') this.#callAt(at + 2, call);
    }
  }

  #callAt(at: number, call: (...values: (GoValue | undefined)[]) => void): void {
    const names: string[] = [];
    for (let next = at; this.#tokens[next]!.text !== ')'; next++) names.push(this.#tokens[next]!.text);
    call(...names.filter((each) => each !== ',').map((each) => this.#values.get(each)));
  }

  #tryAt(at: number): GoValue | undefined {
    try {
      this.#at = at;
      return this.#expression();
    } catch (error) {
      if (error instanceof UnsupportedGo) return undefined;
      throw error;
    }
  }

  #expression(): GoValue {
    let value = this.#operand();
    while (this.#peek() === '+') {
      this.#at++;
      value = text(value) + text(this.#operand());
    }
    return value;
  }

  #peek(): string {
    const token = this.#tokens[this.#at];
    return token === undefined || token.type === 'string' ? '' : token.text;
  }

  #operand(): GoValue {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new UnsupportedGo('end of file');
    if (token.type === 'string') return token.text;
    if (token.type === 'number') return Number(token.text);
    if (token.text === '[') return this.#slice();
    if (token.text === '(') {
      const value = this.#expression();
      this.#at++;
      return value;
    }
    if (token.type !== 'name') throw new UnsupportedGo(token.text);
    return this.#named(token.text);
  }

  #named(first: string): GoValue {
    let name = first;
    for (; this.#peek() === '.'; this.#at += 2) name += `.${this.#tokens[this.#at + 1]!.text}`;
    if (name === 'nil') return null;
    if (this.#peek() !== '(') return this.#variable(name);
    this.#at++;
    const values = this.#list(')');
    const known = this.#functions[name];
    if (known === undefined) throw new UnsupportedGo(name);
    return known(...values);
  }

  #variable(name: string): GoValue {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    const starts = this.#defined.get(name) ?? [];
    // The nearest definition before the use, else the first one.
    const start = starts.findLast((each) => each < this.#at) ?? starts[0];
    if (start === undefined) throw new UnsupportedGo(name);
    if (this.#depth > DEPTH_MAX) throw new UnsupportedGo('a value that is defined by itself');
    const back = this.#at;
    this.#at = start;
    this.#depth++;
    try {
      return this.#expression();
    } finally {
      this.#depth--;
      this.#at = back;
    }
  }

  /** `[]string{...}`, `[]byte("...")`. */
  #slice(): GoValue {
    if (this.#peek() !== ']') throw new UnsupportedGo('an array');
    this.#at += 2;
    const open = this.#peek();
    this.#at++;
    if (open === '{') return this.#list('}');
    if (open !== '(') throw new UnsupportedGo('a type');
    const value = this.#expression();
    this.#at++;
    return value;
  }

  #list(end: string): GoValue[] {
    const values: GoValue[] = [];
    while (this.#peek() !== end) {
      if (this.#at >= this.#tokens.length) throw new UnsupportedGo('end of file');
      const value = this.#expression();
      if (this.#peek() === '...') {
        this.#at++;
        values.push(...((value ?? []) as GoValue[]));
      } else values.push(value);
      if (this.#peek() === ',') this.#at++;
      else if (this.#peek() !== end) throw new UnsupportedGo(this.#peek());
    }
    this.#at++;
    return values;
  }
}
