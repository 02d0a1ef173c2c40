import { malformed } from '../protocol/refusal.ts';

const NAME_CHARS_MAX = 64;
const DECLARATION_CHARS_MAX = 100;
const CDATA = '![CDATA[';
const DECLARATION = '?xml';

type State = 'text' | 'opening' | 'name' | 'blanks' | 'declaration' | 'cdata';

/**
 * Filters input before the parser, which stores pieces at many times their length: unsupported markup is rejected at
 * its first character, and text is limited as it arrives.
 */
export class MarkupGate {
  readonly #textCharsMax: number;
  #state: State = 'text';
  /** Characters after a `<`, until the kind of markup is known. */
  #opening = '';
  /** Length of the current name or declaration, or consecutive `]` in the current CDATA section. */
  #length = 0;
  #textChars = 0;
  #hasBegun = false;

  constructor(textCharsMax: number) {
    this.#textCharsMax = textCharsMax;
  }

  /** Text characters so far, including whitespace between elements. */
  get textChars(): number {
    return this.#textChars;
  }

  get isBetweenTags(): boolean {
    return this.#state === 'text';
  }

  /**
   * Checks `text` from `from` to the end of the next tag, and returns that position. @throws RemoteFailure MALFORMED
   */
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
      throw malformed(this.#opening === '!-' ? 'xml: comments are not allowed' : 'xml: a DOCTYPE is not allowed');
    if (this.#opening === CDATA) this.#state = 'cdata';
  }

  #openDeclaration(): void {
    if (!this.#hasBegun && DECLARATION.startsWith(this.#opening)) return;
    if (this.#hasBegun || !isBlank(this.#opening.slice(DECLARATION.length)))
      throw malformed('xml: processing instructions are not allowed');
    this.#state = 'declaration';
  }

  #withinTag(char: string): void {
    if (isBlank(char)) {
      this.#state = 'blanks';
      this.#countText(1);
    } else if (this.#state === 'name') {
      this.#grow(NAME_CHARS_MAX, `element names must have at most ${NAME_CHARS_MAX} characters`);
    } else if (char !== '/') throw malformed('xml: attributes are not allowed');
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
      throw malformed(`xml: more than ${this.#textCharsMax} characters of text outside base64`);
  }
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}
