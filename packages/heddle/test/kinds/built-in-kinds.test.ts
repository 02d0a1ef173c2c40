import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BUILT_IN_KINDS } from '@heddle/core/internal/domain/built-in-kinds';
import { CONDITIONAL_KIND } from '@heddle/core/domain/conditional';
import { NOTIFICATION_KINDS } from '@heddle/core/domain/notification/kinds';
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
