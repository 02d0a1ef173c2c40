import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import { runnerStoreSuite } from '../../support/pool/store/suite.ts';

runnerStoreSuite('memory', (settings) => Promise.resolve(new MemoryRunnerStore(settings)));
