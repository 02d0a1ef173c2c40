import { defineEvent } from 'heddle/event';

export default defineEvent({ name: 'healthy', run: (args) => ({ got: args }) });
