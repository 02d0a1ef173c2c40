import { attack } from './attack-suite.ts';

await attack('process');
