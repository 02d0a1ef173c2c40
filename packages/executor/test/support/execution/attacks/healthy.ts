import { defineEvent } from '@heddle/kit/event';

export default defineEvent({ name: 'healthy', run: (args) => ({ got: args }) });
