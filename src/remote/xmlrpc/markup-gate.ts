import { malformed } from '../protocol/refusal.ts';

const NAME_CHARS_MAX = 64;
const DECLARATION_CHARS_MAX = 100;
const CDATA = '![CDATA[';
const DECLARATION = '?xml';

type State = 'text' | 'opening' | 'name' | 'blanks' | 'declaration' | 'cdata';

/**
 * Stands before the parser, which keeps what it reads in pieces that cost many times their length: markup that XML-RPC
 * has no use for is refused at its first character, and texts count from theirs.
 */
export class MarkupGate {
  readonly #textCharsMax: number;
  #state: State = 'text';
  /** What follows a `<`, until it is known what that begins. */
  #opening = '';
  /** Characters of the present name or declaration, and `]` in a row in the present CDATA section. */
  #length = 0;
  #textChars = 0;
  #hasBegun = false;

  constructor(textCharsMax: number) {
    this.#textCharsMax = textCharsMax;
  }

  /** Characters of texts so far, blanks between elements included. */
  get textChars(): number {
    return this.#textChars;
  }

  get isBetweenTags(): boolean {
    return this.#state === 'text';
  }

  /** Looks at `text` from `from` up to the end of its next tag, which is returned. @throws RemoteFailure MALFORMED */
  pass(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      if (this.#state === 'text') {
        const end = text.indexOf('<', at);
        this.#countText((end < 0 ? text.length : end) - at);
        if (end < 0) return text.length;
        at = end;
        this.#opening = '';
        this.#state = 'opening';
      } else if (this.#isEndedBy(text[at]!)) {
        this.#state = 'text';
        return at + 1;
      }
    }
    return text.length;
  }

  #isEndedBy(char: string): boolean {
    if (this.#state === 'opening') this.#open(char);
    else if (this.#state === 'declaration') this.#grow(DECLARATION_CHARS_MAX, 'the XML declaration is too long');
    else if (this.#state === 'cdata') return this.#closesCdata(char);
    else if (char !== '>') this.#withinTag(char);
    return char === '>';
  }

  #open(char: string): void {
    this.#opening += char;
    this.#length = 0;
    const [first] = this.#opening;
    if (first === '!') this.#openSection();
    else if (first === '?') this.#openDeclaration();
    else this.#state = 'name';
    if (this.#state !== 'opening') this.#hasBegun = true;
  }

  #openSection(): void {
    if (!CDATA.startsWith(this.#opening))
      throw malformed(this.#opening === '!-' ? 'xml: comments are not taken' : 'xml: a DOCTYPE is not taken');
    if (this.#opening === CDATA) this.#state = 'cdata';
  }

  #openDeclaration(): void {
    if (!this.#hasBegun && DECLARATION.startsWith(this.#opening)) return;
    if (this.#hasBegun || !isBlank(this.#opening.slice(DECLARATION.length)))
      throw malformed('xml: processing instructions are not taken');
    this.#state = 'declaration';
  }

  #withinTag(char: string): void {
    if (isBlank(char)) {
      this.#state = 'blanks';
      this.#countText(1);
    } else if (this.#state === 'name') {
      this.#grow(
        NAME_CHARS_MAX,
        `an element with a name of more than ${NAME_CHARS_MAX} characters does not belong here`,
      );
    } else if (char !== '/') throw malformed('xml: attributes are not taken');
  }

  #closesCdata(char: string): boolean {
    this.#countText(1);
    if (char === '>' && this.#length >= 2) return true;
    this.#length = char === ']' ? this.#length + 1 : 0;
    return false;
  }

  #grow(max: number, fault: string): void {
    this.#length += 1;
    if (this.#length > max) throw malformed(`xml: ${fault}`);
  }

  #countText(chars: number): void {
    this.#textChars += chars;
    if (chars > 0) this.#hasBegun = true;
    if (this.#textChars > this.#textCharsMax)
      throw malformed(`xml: more than ${this.#textCharsMax} characters of text that is not base64`);
  }
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}
