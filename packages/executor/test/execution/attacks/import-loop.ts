import { defineEvent } from 'heddle/event';

for (;;);

export default defineEvent({ name: 'import.loop', run: () => null });
