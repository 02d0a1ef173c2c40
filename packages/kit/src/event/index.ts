/** Entry point `@heddle/kit/event` for modules that define events. */
export { defineEvent, eventsOf, isEventDefinition } from './define-event.ts';
export type { EventDefinition, EventOptions, UncheckedEventOptions } from './define-event.ts';
export type { EventContext, EventLog, EventProgress } from './event-context.ts';
