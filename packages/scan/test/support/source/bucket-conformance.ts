import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { openOpener } from '../../../src/source/open-opener.ts';
import { openSource } from '../../../src/source/open-source.ts';
import { ObjectFault } from '../../../src/source/port.ts';
import type { BucketSpec } from '../../../src/source/bucket/store.ts';
import { conforms, listAll, readAll, readAndClose } from './conformance.ts';

export interface BucketService<Spec extends BucketSpec> {
  name: string;
  newBucket: () => Promise<Spec>;
  put: (spec: Spec, key: string, content: string | Uint8Array) => Promise<void>;
  remove: (spec: Spec, key: string) => Promise<void>;
  /** What the paths of a bucket begin with. */
  prefix: (spec: Spec) => string;
  /** What makes a specification that of a bucket that does not exist. */
  missing: Partial<Spec>;
  missingMessage: RegExp;
  /** Keys that the service does not allow. */
  without?: readonly string[];
  /** What a failed read says of an object that was replaced or deleted; by default which of both. */
  changed?: RegExp;
}

const KEYS = ['a', 'b/c', 'b/d e+f&<>%20.txt', 'b/\u00fc\u4e16.txt', 'b/', '..', '//x', 'z'];
/** More than a page. */
const MANY = 1200;

export async function faultOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof ObjectFault, String(error));
    return `${error.problem.code} ${error.problem.extent}: ${error.problem.message}`;
  }
  return 'none';
}

/** The contract of every service for objects. */
export function bucketsConform<Spec extends BucketSpec>(service: BucketService<Spec>): void {
  const { name, newBucket, put, remove, prefix, without = [] } = service;
  const keys = KEYS.filter((key) => !without.includes(key));
  describe(`buckets of ${name}`, () => {
    let spec: Spec;
    before(async () => {
      spec = await newBucket();
      for (const key of keys) await put(spec, key, key === 'b/' ? '' : key);
    });

    conforms({ name, open: () => openSource(spec), objects: keys.length - 1 });

    it('reads objects whose keys have any characters', async () => {
      const { objects } = await list(spec);
      assert.deepEqual(objects.map(({ locator }) => locator).sort(), keys.filter((key) => key !== 'b/').sort());
      const opener = await openOpener(spec);
      for (const object of objects) {
        assert.equal(object.path, `${prefix(spec)}${object.locator}`);
        assert.equal(await readAndClose(await opener.open(object)), object.locator);
      }
      await opener.close();
      const below = await list({ ...spec, prefix: 'b/' });
      assert.equal(below.objects.length, 3, 'those below it, without the mark of the folder');
      assert.ok(below.objects.every(({ locator, size_hint }) => size_hint === Buffer.byteLength(locator)));
      assert.ok(below.objects.every(({ locator }) => locator.startsWith('b/')));
    });

    it('resumes within any page, even after it lost objects', async () => {
      const many = await newBucket();
      for (let from = 0; from < MANY; from += 100) {
        const batch = Array.from({ length: 100 }, (_, index) => `key-${from + index}`);
        await Promise.all(batch.map((key) => put(many, key, '')));
      }
      const source = await openSource(many);
      const whole = await listAll(source, 700);
      assert.equal(new Set(whole.objects.map(({ locator }) => locator)).size, MANY);
      for (const [index, state] of whole.cursors.entries()) {
        const rest = await listAll(source, 900, state);
        assert.deepEqual(rest.objects, whole.objects.slice(whole.counts[index]));
      }
      for (const gone of [699, 500, 3]) await remove(many, whole.objects[gone]!.locator);
      const fresh = await openSource(many);
      assert.deepEqual((await listAll(fresh, 900, whole.cursors[0])).objects, whole.objects.slice(700));
      await fresh.close();
      await source.close();
    });

    it('reads in parts, at any offset', async () => {
      const content = Buffer.from(Array.from({ length: 5_000_001 }, (_, index) => (index * 7) % 253));
      const big = await newBucket();
      await put(big, 'big', content);
      await put(big, 'empty', '');
      const opener = await openOpener(big);
      const reader = await opener.open({ path: 'big', locator: 'big' });
      assert.equal(reader.size, content.length);
      assert.ok((await readAll(reader, 700_000)).equals(content));
      const target = Buffer.alloc(100);
      assert.equal(await reader.read(target, 10, 90, 4_999_990), 11);
      assert.ok(target.subarray(10, 21).equals(content.subarray(4_999_990)));
      assert.equal(await reader.read(target, 0, 100, 5_000_001), 0);
      await reader.close();
      const empty = await opener.open({ path: 'empty', locator: 'empty' });
      assert.deepEqual([empty.size, await readAndClose(empty)], [0, '']);
      const all = await Promise.all(
        Array.from({ length: 20 }, async () => readAll(await opener.open({ path: 'big', locator: 'big' }), 2_000_000)),
      );
      assert.ok(all.every((one) => one.equals(content)));
      await opener.close();
    });

    it('reports what changed or vanished', async () => {
      const changing = await newBucket();
      for (const key of ['one', 'two']) await put(changing, key, Buffer.alloc(3_000_000, 'x'));
      const opener = await openOpener(changing);
      assert.match(await faultOf(() => opener.open({ path: 'none', locator: 'none' })), /^vanished skipped/);
      for (const key of ['one', 'two']) {
        const reader = await opener.open({ path: key, locator: key });
        if (key === 'one') await put(changing, key, Buffer.alloc(3_000_000, 'y'));
        else await remove(changing, key);
        const what = service.changed ?? new RegExp(`was ${key === 'one' ? 'replaced' : 'deleted'} while it was read`);
        const fault = await faultOf(() => readAll(reader));
        assert.match(fault, /^changed_while_read partial: /);
        assert.match(fault, what);
        await reader.close();
      }
      await opener.close();
    });

    it('explains why it cannot list', async () => {
      await assert.rejects(list({ ...spec, ...service.missing }), service.missingMessage);
    });
  });
}

async function list(spec: BucketSpec) {
  const source = await openSource(spec);
  try {
    return await listAll(source);
  } finally {
    await source.close();
  }
}
