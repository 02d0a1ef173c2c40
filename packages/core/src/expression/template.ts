import type { JsonValue } from '@heddle/base/json';
import { compileExpression } from './compile.ts';
import type { CompileOptions, Expression, Variables } from './compile.ts';
import { ExpressionError } from './fault.ts';
import type { SlicedAllowance } from './meter.ts';

/** Maximum characters of a template's source. */
const TEMPLATE_CHARS_MAX = 65_536;
/** Maximum expressions per template. */
const TEMPLATE_EXPRESSIONS_MAX = 100;
/** Maximum characters of a rendered template. */
const RENDERED_CHARS_MAX = 1_048_576;

/** String with `{{ expression }}` in it. */
export interface Template {
  readonly text: string;
  /** Its expressions, in order. */
  readonly expressions: readonly Expression[];
  /**
   * Replaces each expression by its value: strings as they are, null as nothing, everything else as JSON.
   * @throws ExpressionError
   * @throws AllowanceSpentError if the expressions need more than the remaining allowance
   */
  render(variables: Variables, allowance: SlicedAllowance): Promise<string>;
}

export type CompiledTemplate = { ok: true; template: Template } | { ok: false; fault: ExpressionError };

/**
 * Compiles a template. `{{ '{{' }}` writes two braces; a `}}` inside an expression's strings or maps does not end it.
 */
export function compileTemplate(text: string, options?: CompileOptions): CompiledTemplate {
  try {
    return { ok: true, template: compile(text, options) };
  } catch (error) {
    if (error instanceof ExpressionError) return { ok: false, fault: error };
    throw error;
  }
}

function compile(text: string, options: CompileOptions | undefined): Template {
  if (text.length > TEMPLATE_CHARS_MAX) {
    throw new ExpressionError(text, `has ${text.length} characters; at most ${TEMPLATE_CHARS_MAX} are allowed`, null);
  }
  const parts: (string | Expression)[] = [];
  const expressions: Expression[] = [];
  let at = 0;
  for (let open = text.indexOf('{{'); open !== -1; open = text.indexOf('{{', at)) {
    parts.push(text.slice(at, open));
    const close = closingBraces(text, open + 2);
    if (close === null) throw new ExpressionError(text, 'has a "{{" without its "}}"', open);
    const compiled = compileExpression(text.slice(open + 2, close).trim(), options);
    if (!compiled.ok) throw compiled.fault;
    if (expressions.length >= TEMPLATE_EXPRESSIONS_MAX) {
      throw new ExpressionError(text, `holds more than ${TEMPLATE_EXPRESSIONS_MAX} expressions`, open);
    }
    parts.push(compiled.expression);
    expressions.push(compiled.expression);
    at = close + 2;
  }
  parts.push(text.slice(at));
  return { text, expressions, render: (variables, allowance) => render(text, parts, variables, allowance) };
}

/** Finds the end of an expression, skipping braces of maps and quoted strings. */
function closingBraces(text: string, from: number): number | null {
  let depth = 0;
  let quote: string | null = null;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!;
    if (quote !== null) {
      if (character === '\\') at += 1;
      else if (character === quote) quote = null;
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '{') depth += 1;
    else if (character === '}' && depth > 0) depth -= 1;
    else if (character === '}' && text[at + 1] === '}') return at;
  }
  return null;
}

async function render(
  text: string,
  parts: readonly (string | Expression)[],
  variables: Variables,
  allowance: SlicedAllowance,
): Promise<string> {
  let rendered = '';
  for (const part of parts) {
    rendered += typeof part === 'string' ? part : asText(await part.evaluateSliced(variables, allowance));
    if (rendered.length > RENDERED_CHARS_MAX) {
      throw new ExpressionError(text, `renders to more than ${RENDERED_CHARS_MAX} characters`, null);
    }
  }
  return rendered;
}

function asText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}
