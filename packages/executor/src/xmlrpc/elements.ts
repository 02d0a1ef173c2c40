import { malformed } from '../protocol/refusal.ts';
import { Base64Text } from './base64-text.ts';
import type { XmlRpcValue } from './values.ts';

/** Allowed parents of each element; the empty name is the document. */
export const PARENTS: Readonly<Record<string, readonly string[]>> = {
  methodCall: [''],
  methodResponse: [''],
  methodName: ['methodCall'],
  params: ['methodCall', 'methodResponse'],
  fault: ['methodResponse'],
  param: ['params'],
  value: ['param', 'fault', 'member', 'data'],
  struct: ['value'],
  member: ['struct'],
  name: ['member'],
  array: ['value'],
  data: ['array'],
  string: ['value'],
  int: ['value'],
  i4: ['value'],
  boolean: ['value'],
  base64: ['value'],
};

/** Elements with text content; a `value` has text if it has no child. */
const TEXTS: ReadonlySet<string> = new Set(['methodName', 'name', 'string', 'int', 'i4', 'boolean', 'value']);

/** Elements that may occur only once in their parent. */
const ONCE: ReadonlySet<string> = new Set(['methodName', 'params', 'fault', 'name', 'data', 'struct', 'array']);
const ONE_CHILD: ReadonlySet<string> = new Set(['value', 'param', 'fault']);

const NUMBER = /^[+-]?\d{1,10}$/;
const INT_MIN = -(2 ** 31);
const INT_MAX = 2 ** 31 - 1;

/** An element being read. */
export class Element {
  readonly name: string;
  text = '';
  /** Content of a `base64` element, which bypasses the parser. */
  readonly base64: Base64Text | null;
  /** Values of the child elements. */
  readonly values: XmlRpcValue[] = [];
  readonly members = new Map<string, XmlRpcValue>();
  /** Content of `methodName` or `name`. */
  label: string | null = null;
  #children = 0;
  readonly #seen = new Set<string>();

  constructor(name: string) {
    this.name = name;
    this.base64 = name === 'base64' ? new Base64Text() : null;
  }

  get isEmpty(): boolean {
    return this.#children === 0;
  }

  /** Returns whether it has a child with this name. */
  has(child: string): boolean {
    return this.#seen.has(child);
  }

  /** @throws RemoteFailure MALFORMED */
  addText(text: string): void {
    if (this.base64 !== null) this.base64.add(text);
    else if (TEXTS.has(this.name) && this.isEmpty) this.text += text;
    else if (text.trim() !== '') throw malformed(`xml: text within <${this.name}>`);
  }

  /** Verifies that a child is allowed here. @throws RemoteFailure MALFORMED */
  admit(child: string): void {
    const repeated = this.#seen.has(child) && ONCE.has(child);
    if (repeated || (this.#children > 0 && ONE_CHILD.has(this.name)))
      throw malformed(`xml: surplus <${child}> within <${this.name}>`);
    if (this.text.trim() !== '') throw malformed(`xml: text beside <${child}>`);
    this.text = '';
    this.#children += 1;
    this.#seen.add(child);
  }

  /** Adds a completed child. @throws RemoteFailure MALFORMED */
  take(child: Element): void {
    if (child.name === 'methodName' || child.name === 'name') this.label = child.text;
    else if (child.name === 'member') this.#addMember(child);
    else if (child.name === 'param') this.values.push(onlyValue(child));
    else if (child.name === 'data' || child.name === 'params' || child.name === 'fault')
      this.values.push(...child.values);
    else this.values.push(valueOf(child));
  }

  #addMember(member: Element): void {
    const [value, ...others] = member.values;
    if (member.label === null || value === undefined || others.length > 0)
      throw malformed('xml: a <member> must have one name and one value');
    if (this.members.has(member.label))
      throw malformed(`${member.label.slice(0, 64)}: is given more than once; keep one`);
    this.members.set(member.label, value);
  }
}

function onlyValue(element: Element): XmlRpcValue {
  const [value] = element.values;
  if (value === undefined) throw malformed(`xml: <${element.name}> without a value`);
  return value;
}

function valueOf(element: Element): XmlRpcValue {
  const { name, text } = element;
  switch (name) {
    case 'value':
      return element.isEmpty ? text : onlyValue(element);
    case 'struct':
      return element.members;
    case 'array':
      return element.values;
    case 'string':
      return text;
    case 'int':
    case 'i4':
      return wholeNumber(text);
    case 'boolean':
      if (text !== '0' && text !== '1') throw malformed('xml: a <boolean> must be 0 or 1');
      return text === '1';
    case 'base64':
      return element.base64!.decode();
    default:
      throw malformed(`xml: <${name}> is not a value`);
  }
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!NUMBER.test(text) || value < INT_MIN || value > INT_MAX)
    throw malformed(`xml: an <int> must be a 32-bit integer`);
  return value;
}
