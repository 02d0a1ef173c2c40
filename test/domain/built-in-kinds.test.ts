import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BUILT_IN_KINDS } from '../../src/domain/built-in-kinds.ts';
import { CONDITIONAL_KIND } from '../../src/domain/conditional.ts';
import { NOTIFICATION_KINDS } from '../../src/domain/notification/kinds.ts';
import * as data from '../../src/kinds/data/kind-names.ts';
import { AGGREGATOR_KIND, GENERATOR_KIND, SCAN_KIND } from '../../src/kinds/object-scan/input.ts';
import { DNS_SCAN, TCP_SYN, TLS_SCAN } from '../../src/kinds/recon/kind-names.ts';
import { REMOTE_EVENT_KIND } from '../../src/kinds/remote/remote-event.ts';

test('the built-in kinds are those that the families of kinds name', () => {
  const families = [DNS_SCAN, TCP_SYN, TLS_SCAN].flatMap(({ generator, scan, aggregator }) => [
    generator,
    scan,
    aggregator,
  ]);
  const named = [
    CONDITIONAL_KIND,
    ...NOTIFICATION_KINDS.keys(),
    ...Object.values(data),
    AGGREGATOR_KIND,
    GENERATOR_KIND,
    SCAN_KIND,
    ...families,
    REMOTE_EVENT_KIND,
  ];
  assert.deepEqual([...BUILT_IN_KINDS].sort(), [...named].sort());
});
