import { defineEvent } from '@heddle/kit/event';

await new Promise(() => undefined);

export default defineEvent({ name: 'import.waits', run: () => null });
