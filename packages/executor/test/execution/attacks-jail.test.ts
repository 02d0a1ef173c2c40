import { attack } from '../support/execution/attack-suite.ts';

await attack('jail');
