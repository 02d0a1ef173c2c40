import { defineEvent } from '@heddle/kit/event';

const wrong: string[] = [];
if (wrong.length === 0) throw new Error('wrong while it was loaded');

export default defineEvent({ name: 'import.throw', run: () => null });
