import { defineEvent } from 'heddle/event';

process.exitCode = 0;
process.exit();

export default defineEvent({ name: 'import.exit', run: () => null });
