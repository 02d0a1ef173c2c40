import { defineEvent } from '@heddle/kit/event';

process.exitCode = 0;
process.exit();

export default defineEvent({ name: 'import.exit', run: () => null });
