import { MemoryRunnerStore } from '../../../src/pool/store/memory.ts';
import { runnerStoreSuite } from './suite.ts';

runnerStoreSuite('memory', (settings) => Promise.resolve(new MemoryRunnerStore(settings)));
