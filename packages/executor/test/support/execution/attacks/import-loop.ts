import { defineEvent } from '@heddle/kit/event';

for (;;);

export default defineEvent({ name: 'import.loop', run: () => null });
