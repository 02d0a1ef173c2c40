import type { Keys } from './key-path.ts';
import { holdsName, holdsValue } from './named-beside.ts';

const [QUOTE, COMMA, BRACE, CLOSING_BRACE, BRACKET, CLOSING_BRACKET] = [...Buffer.from('",{}[]')] as const;
const NESTING_MAX = 64;
const NAMES_AFTER = 300;
const PAIR = /"([^"\\\n]{1,60})"\s*:\s*"([^"\\\n]{1,100})"/g;

/** Reads backwards from a value in JSON: its key, the opening of its object, the key of that, and so on. */
export function jsonKeys(text: string, at: number): Keys {
  const keys: string[] = [];
  let end = valueStart(text, at);
  let name: string | undefined;
  for (let level = 0; level < NESTING_MAX; level++) {
    const key = keyBefore(text, end);
    if (key !== null) {
      keys.unshift(key.text);
      end = key.start;
    }
    const opening = openingBefore(text, end);
    if (opening === null) return { keys, isCut: true, ...(name === undefined ? {} : { name }) };
    if (level === 0 && holdsValue(key?.text)) name = nameBeside(text, opening.at, end, at);
    if (text[opening.at] === '[' && key === null) keys.unshift(`[${opening.commas}]`);
    end = opening.at;
    if (text.slice(0, end).trim() === '') break;
  }
  return { keys, isCut: false, ...(name === undefined ? {} : { name }) };
}

/** Returns where the value that contains `at` begins: at its quote, if it is a string. */
function valueStart(text: string, at: number): number {
  for (let quote = at; quote >= 0 && at - quote < 2048; quote--) {
    if (text[quote] === '\n') break;
    if (text[quote] === '"' && !isEscaped(text, quote)) {
      if (/[:,[{]\s*$/.test(text.slice(Math.max(0, quote - 40), quote))) return quote;
      if (quote < at) break;
    }
  }
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - slashes - 1] === '\\') slashes++;
  return slashes % 2 === 1;
}

function keyBefore(text: string, end: number): { text: string; start: number } | null {
  const colon = spaceBefore(text, end) - 1;
  if (text[colon] !== ':') return null;
  const close = spaceBefore(text, colon) - 1;
  if (text[close] === '"') {
    const open = openQuote(text, close);
    return open < 0 ? null : { text: text.slice(open + 1, close), start: open };
  }
  const [bare] = /[\w$]*$/.exec(text.slice(Math.max(0, close - 80), close + 1))!;
  return bare === '' ? null : { text: bare, start: close + 1 - bare.length };
}

function spaceBefore(text: string, end: number): number {
  let at = end;
  while (at > 0 && text.charCodeAt(at - 1) <= 0x20) at--;
  return at;
}

/** Returns the quote that opens the string whose closing one is given; -1 if it lies before the text. */
function openQuote(text: string, close: number): number {
  let at = text.lastIndexOf('"', close - 1);
  while (at > 0 && isEscaped(text, at)) at = text.lastIndexOf('"', at - 1);
  return close === 0 ? -1 : at;
}

function openingBefore(text: string, end: number): { at: number; commas: number } | null {
  let depth = 0;
  let commas = 0;
  for (let at = end - 1; at >= 0; at--) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = openQuote(text, at);
      if (at < 0) return null;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth++;
    else if (code === BRACE || code === BRACKET) {
      if (depth === 0) return { at, commas };
      depth--;
    } else if (code === COMMA && depth === 0) commas++;
  }
  return null;
}

/** Returns the name that a sibling of the value states, before or after it. */
function nameBeside(text: string, opening: number, before: number, at: number): string | undefined {
  const after = /^[^{}[\]]*/.exec(text.slice(at, at + NAMES_AFTER))![0];
  for (const part of [text.slice(opening, before), after]) {
    for (const [whole, key, value] of part.matchAll(PAIR)) {
      const rest = part.slice(part.indexOf(whole));
      if (holdsName(key) && rest.split('{').length === rest.split('}').length) return value;
    }
  }
  return undefined;
}
