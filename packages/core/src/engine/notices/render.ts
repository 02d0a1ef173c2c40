import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Notification, RenderedNotification } from '../../domain/notification/notification.ts';
import { cutText, oneLine } from '../../domain/notification/one-line.ts';
import { pathOf, placeOf, type Place } from '@heddle/base/parse/path';
import { compileExpression, FLOW_VARIABLES, type Expression, type Variables } from '../../expression/compile.ts';
import { AllowanceSpentError, ExpressionError } from '../../expression/fault.ts';
import { WORK_MAX, type SlicedAllowance } from '../../expression/meter.ts';
import { compileTemplate } from '../../expression/template.ts';

/** Default message of a notification. */
export interface DefaultWords {
  title: string;
  text: string;
}

/** Variables of templates in tasks, and of templates about a workflow's end, which have no task. */
export const TASK_VARIABLES: readonly string[] = FLOW_VARIABLES;
export const WORKFLOW_VARIABLES: readonly string[] = FLOW_VARIABLES.filter((name) => name !== 'task');

/** Maximum number of expressions per notification, since end notifications are rendered while the end is recorded. */
const EXPRESSIONS_MAX = 32;
/** Steps that all expressions of one notification may take together: the limit of a single expression. */
export const NOTIFICATION_STEPS_MAX = WORK_MAX;
const TEXT_CHARACTERS_MAX = 30_000;
const PAYLOAD_BYTES_MAX = 262_144;

/** Notification whose templates compile. */
export interface CompiledNotification {
  /** All reads of its templates, each with its path. */
  readonly expressions: readonly PlacedExpression[];
  /**
   * Renders its strings with every expression evaluated.
   *
   * @param allowance `NOTIFICATION_STEPS_MAX` steps, or the remainder of a larger budget
   * @throws Error naming the member, and the expression if one failed
   */
  render(variables: Variables, words: DefaultWords, allowance: SlicedAllowance): Promise<RenderedNotification>;
}

export interface PlacedExpression {
  at: Place;
  expression: Expression;
}

type Rendering<Value> = {
  expressions: PlacedExpression[];
  value: (variables: Variables, allowance: SlicedAllowance) => Value | Promise<Value>;
};

/**
 * Compiles the templates of a notification.
 *
 * @param variables variables they may use
 * @param place path of the notification in faults; null if it is the root
 */
export function compileNotification(
  { channel, title, text, payload }: Notification,
  variables: readonly string[],
  place: Place | null = null,
): { ok: true; notification: CompiledNotification } | { ok: false; faults: string[] } {
  const compiler = new Compiler(variables);
  const at = (...steps: string[]): Place => steps.reduce<Place | null>(placeOf, place) as Place;
  const parts = {
    title: title === null ? null : compiler.text(at('title'), title),
    text: text === null ? null : compiler.text(at('text'), text),
    subject:
      channel.type !== 'email' || channel.subject === null
        ? null
        : compiler.text(at('to', 'email', 'subject'), channel.subject),
    payload: payload === undefined ? null : compiler.json(at('payload'), payload),
  };
  if (compiler.faults.length > 0) return { ok: false, faults: compiler.faults };
  const expressions = Object.values(parts).flatMap((part) => part?.expressions ?? []);
  if (expressions.length > EXPRESSIONS_MAX) {
    const message = `holds ${expressions.length} expressions; at most ${EXPRESSIONS_MAX} are allowed in one notification`;
    return { ok: false, faults: [`${pathOf(place ?? at('text'))}: ${message}`] };
  }
  return {
    ok: true,
    notification: {
      expressions,
      render: async (values, words, allowance) => {
        const shown = oneLine((await parts.title?.value(values, allowance)) ?? words.title);
        const body = await parts.payload?.value(values, allowance);
        return {
          title: shown,
          text: cutText((await parts.text?.value(values, allowance)) ?? words.text, TEXT_CHARACTERS_MAX),
          subject: oneLine((await parts.subject?.value(values, allowance)) ?? shown),
          payload: body === undefined ? undefined : boundedPayload(body),
        };
      },
    },
  };
}

/** Compiles a notification that was checked before, so faults are programming errors. */
export function requireNotification(notification: Notification, variables: readonly string[]): CompiledNotification {
  const compiled = compileNotification(notification, variables);
  if (compiled.ok) return compiled.notification;
  throw new Error(compiled.faults.join('; '));
}

function boundedPayload(payload: JsonValue): JsonValue {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > PAYLOAD_BYTES_MAX) {
    throw new Error(`payload: has ${bytes} bytes as JSON; at most ${PAYLOAD_BYTES_MAX} are allowed`);
  }
  return payload;
}

/** Compiles strings and values, and collects faults. */
class Compiler {
  readonly faults: string[] = [];
  readonly #variables: readonly string[];

  constructor(variables: readonly string[]) {
    this.#variables = variables;
  }

  text(at: Place, text: string): Rendering<string> {
    const compiled = compileTemplate(text, { variables: this.#variables });
    if (!compiled.ok) return this.#refuse(at, compiled.fault, '');
    const { template } = compiled;
    for (const expression of template.expressions) this.#checkNodes(at, expression);
    const expressions = template.expressions.map((expression) => ({ at, expression }));
    return { expressions, value: (values, allowance) => placed(at, () => template.render(values, allowance)) };
  }

  /** Compiles strings as templates, and `{ "$expr": CEL }` as a value of any type. */
  json(at: Place, value: JsonValue): Rendering<JsonValue> {
    if (typeof value === 'string') return this.text(at, value);
    if (typeof value !== 'object' || value === null) return { expressions: [], value: () => value };
    if (Array.isArray(value)) {
      const items = value.map((item, index) => this.json(placeOf(at, index), item));
      return {
        expressions: items.flatMap(({ expressions }) => expressions),
        value: async (values, allowance) => {
          const rendered: JsonValue[] = [];
          for (const item of items) rendered.push(await item.value(values, allowance));
          return rendered;
        },
      };
    }
    const text = expressionIn(value);
    if (text !== null) return this.#expression(at, text);
    const members = Object.entries(value).map(([name, item]) => [name, this.json(placeOf(at, name), item)] as const);
    return {
      expressions: members.flatMap(([, { expressions }]) => expressions),
      value: async (values, allowance) => {
        const rendered: [string, JsonValue][] = [];
        for (const [name, item] of members) rendered.push([name, await item.value(values, allowance)]);
        return Object.fromEntries(rendered);
      },
    };
  }

  #expression(at: Place, text: string): Rendering<JsonValue> {
    const compiled = compileExpression(text, { variables: this.#variables });
    if (!compiled.ok) return this.#refuse(at, compiled.fault, null);
    const { expression } = compiled;
    this.#checkNodes(at, expression);
    return {
      expressions: [{ at, expression }],
      value: (values, allowance) => placed(at, () => expression.evaluateSliced(values, allowance)),
    };
  }

  /** Requires results to be read by name, so that no template reads all results of a workflow. */
  #checkNodes(at: Place, { text, references }: Expression): void {
    for (const variable of ['nodes', 'data']) {
      const offset = references.get(variable)?.whole_at ?? null;
      if (offset === null) continue;
      const message = `must name what it reads: ${variable}.NAME`;
      this.faults.push(`${pathOf(at)}: ${new ExpressionError(text, message, offset).message}`);
    }
  }

  #refuse<Value>(at: Place, fault: ExpressionError, value: Value): Rendering<Value> {
    this.faults.push(`${pathOf(at)}: ${fault.message}`);
    return { expressions: [], value: () => value };
  }
}

function expressionIn(value: JsonObject): string | null {
  const names = Object.keys(value);
  return names.length === 1 && typeof value['$expr'] === 'string' ? value['$expr'] : null;
}

async function placed<Value>(at: Place, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AllowanceSpentError) {
      const message = `with it the expressions of this notification take more than ${NOTIFICATION_STEPS_MAX} steps`;
      throw new Error(`${pathOf(at)}: ${message}`, { cause: error });
    }
    if (!(error instanceof ExpressionError)) throw error;
    throw new Error(`${pathOf(at)}: ${error.message}`, { cause: error });
  }
}
