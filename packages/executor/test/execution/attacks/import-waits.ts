import { defineEvent } from 'heddle/event';

await new Promise(() => undefined);

export default defineEvent({ name: 'import.waits', run: () => null });
