import { SaxesParser, type SaxesStartTagPlain, type XMLDecl } from 'saxes';

import { malformed } from '../protocol/refusal.ts';
import { Element, PARENTS } from './elements.ts';
import { MarkupGate } from './markup-gate.ts';
import { isStruct, type XmlRpcDocument } from './values.ts';

export interface ReaderLimits {
  /** Maximum document size, bytes. */
  readonly document_bytes_max: number;
  /** Maximum text characters outside base64, including whitespace between elements; default 16,384. */
  readonly text_chars_max?: number;
}

const TEXT_CHARS_MAX = 16_384;
/** Measured upper bound of memory per text character, if the parser stores each as a separate piece. */
const TEXT_CHAR_BYTES = 40;
const ELEMENT_BYTES = 1_000;

const DEPTH_MAX = 32;
const ELEMENTS_MAX = 1_000;
const ENCODING = /^utf-?8$/i;
/** Characters of a parser error that are passed on. */
const MESSAGE_SHOWN = 200;

/**
 * Reads a document as it arrives and rejects it at the first invalid byte: nothing is built for unknown elements,
 * excessive depth or unsupported markup.
 */
export class XmlRpcReader {
  readonly #limits: ReaderLimits;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser = new SaxesParser({ position: false });
  readonly #stack: Element[] = [new Element('')];
  readonly #gate: MarkupGate;
  #bytes = 0;
  #elements = 0;
  /** Memory of base64 content, bytes. */
  #dataBytes = 0;
  #document: XmlRpcDocument | null = null;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
    this.#gate = new MarkupGate(limits.text_chars_max ?? TEXT_CHARS_MAX);
    const parser = this.#parser;
    parser.on('xmldecl', (declaration) => checkDeclaration(declaration));
    parser.on('opentagstart', (tag) => this.#open(tag));
    parser.on('text', (text) => this.#text(text));
    parser.on('cdata', (text) => this.#text(text));
    parser.on('closetag', () => this.#close());
    parser.on('error', (error) => refuse(error.message.slice(0, MESSAGE_SHOWN)));
  }

  /** @throws RemoteFailure MALFORMED, after which the reader is unusable */
  write(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limits.document_bytes_max)
      refuse(`the document is larger than ${this.#limits.document_bytes_max} bytes`);
    this.#read(this.#decode(chunk));
  }

  /** Upper estimate of the memory held for the document, bytes. */
  get heldBytes(): number {
    return this.#dataBytes + this.#gate.textChars * TEXT_CHAR_BYTES + this.#elements * ELEMENT_BYTES;
  }

  /** Completes the document. @throws RemoteFailure MALFORMED */
  end(): XmlRpcDocument {
    this.#read(this.#decode(null));
    this.#parser.close();
    return this.#document ?? refuse('the document is empty');
  }

  #read(text: string): void {
    for (let at = 0; at < text.length;) {
      const start = this.#takeData(text, at);
      const end = this.#gate.pass(text, start);
      this.#parser.write(text.slice(start, end));
      at = end;
    }
  }

  /** Passes base64 content around the parser, and returns where it ends. */
  #takeData(text: string, from: number): number {
    const { base64 } = this.#stack.at(-1)!;
    if (base64 === null || !this.#gate.isBetweenTags) return from;
    const end = text.indexOf('<', from);
    const before = base64.heldBytes;
    base64.add(text.slice(from, end < 0 ? text.length : end));
    this.#dataBytes += base64.heldBytes - before;
    return end < 0 ? text.length : end;
  }

  #decode(chunk: Uint8Array | null): string {
    try {
      return chunk === null ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true });
    } catch {
      return refuse('the document is not UTF-8');
    }
  }

  #open({ name }: SaxesStartTagPlain): void {
    const parent = this.#stack.at(-1)!;
    const parents = Object.hasOwn(PARENTS, name) ? PARENTS[name]! : [];
    if (!parents.includes(parent.name)) refuse(`<${name.slice(0, 64)}> is not allowed here`);
    if (this.#stack.length > DEPTH_MAX) refuse(`elements are nested deeper than ${DEPTH_MAX}`);
    this.#elements += 1;
    if (this.#elements > ELEMENTS_MAX) refuse(`more than ${ELEMENTS_MAX} elements`);
    parent.admit(name);
    this.#stack.push(new Element(name));
  }

  #text(text: string): void {
    this.#stack.at(-1)!.addText(text);
  }

  #close(): void {
    const element = this.#stack.pop()!;
    if (this.#stack.length > 1) this.#stack.at(-1)!.take(element);
    else this.#document = element.name === 'methodCall' ? callOf(element) : responseOf(element);
  }
}

function callOf(root: Element): XmlRpcDocument {
  if (root.label === null) return refuse('a call must have a method name');
  return { kind: 'call', method: root.label, params: root.values };
}

function responseOf(root: Element): XmlRpcDocument {
  const [value, ...others] = root.values;
  if (value === undefined || others.length > 0) return refuse('a response must have one value or a fault');
  if (!root.has('fault')) return { kind: 'response', value };
  const code = isStruct(value) ? value.get('faultCode') : undefined;
  const message = isStruct(value) ? value.get('faultString') : undefined;
  if (typeof code !== 'number' || typeof message !== 'string')
    return refuse('a fault must have faultCode and faultString');
  return { kind: 'fault', code, message };
}

function checkDeclaration({ version, encoding }: XMLDecl): void {
  if (version !== '1.0') refuse('only XML 1.0 is supported');
  if (encoding !== undefined && !ENCODING.test(encoding)) refuse('only UTF-8 is supported');
}

function refuse(fault: string): never {
  throw malformed(`xml: ${fault}`);
}

/** Reads a complete document. @throws RemoteFailure MALFORMED */
export function readDocument(bytes: Uint8Array, limits: ReaderLimits): XmlRpcDocument {
  const reader = new XmlRpcReader(limits);
  reader.write(bytes);
  return reader.end();
}
