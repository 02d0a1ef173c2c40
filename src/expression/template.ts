import type { JsonValue } from '../domain/json.ts';
import { compileExpression } from './compile.ts';
import type { CompileOptions, Expression, Variables } from './compile.ts';
import { ExpressionError } from './fault.ts';
import type { SlicedAllowance } from './meter.ts';

/** Characters that the text of a template may have. */
export const TEMPLATE_CHARS_MAX = 65_536;
/** Expressions that one template may hold. */
export const TEMPLATE_EXPRESSIONS_MAX = 100;
/** Characters that a template may come to. */
export const RENDERED_CHARS_MAX = 1_048_576;

/** A text with `{{ expression }}` in it. */
export interface Template {
  readonly text: string;
  /** The expressions in it, in order. */
  readonly expressions: readonly Expression[];
  /**
   * The text with each expression replaced by its value: texts as they are, null as nothing, everything else as JSON.
   * @throws ExpressionError
   * @throws AllowanceSpentError where the expressions need more than is left of the allowance
   */
  render(variables: Variables, allowance: SlicedAllowance): Promise<string>;
}

export type CompiledTemplate = { ok: true; template: Template } | { ok: false; fault: ExpressionError };

/** `{{ '{{' }}` is how two braces are written; a `}}` inside an expression's texts or maps does not end it. */
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
    throw new ExpressionError(text, `has ${text.length} characters; ${TEMPLATE_CHARS_MAX} are allowed`, null);
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

/** Where the expression that began ends: braces of maps and what stands in quotes are passed over. */
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
      throw new ExpressionError(text, `comes to more than ${RENDERED_CHARS_MAX} characters`, null);
    }
  }
  return rendered;
}

function asText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}
