import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ScanRoots } from '../../../src/kinds/object-scan/roots.ts';
import type { SourceSpec } from '@heddle/scan/options';

type Bucket = Extract<SourceSpec, { type: 's3' }>;

const roots = new ScanRoots([
  '/srv/repositories/',
  's3://backups/nightly/',
  's3://local?endpoint=http%3A%2F%2F127.0.0.1%3A9000',
  'image:registry.example/team/',
  'image:registry.example/shop',
  'image:127.0.0.1:5000',
  'image:docker.io/library',
]);

const image = (name: string): SourceSpec => ({ type: 'image', images: [name] });
const bucket = (name: string, extra: Partial<Bucket> = {}): Bucket => ({ type: 's3', bucket: name, ...extra });

test('buckets are allowed by name, prefix and service', () => {
  const allowed: SourceSpec[] = [
    bucket('backups', { prefix: 'nightly/' }),
    bucket('backups', { prefix: 'nightly/2026/' }),
    bucket('local', { endpoint: 'http://127.0.0.1:9000/' }),
    { type: 'path', path: '/srv/repositories/shop' },
    { type: 'git', repository: '/srv/repositories' },
    { type: 'list', name: 'list', paths: ['/srv/repositories/a', '/srv/repositories/b/../c'] },
  ];
  roots.requireAllowed(allowed);
});

test('images are allowed by registry and repository, in all versions', () => {
  const names = ['team/app:1', 'team/app/worker', 'shop', 'shop/worker', `team/app@sha256:${'0'.repeat(64)}`];
  for (const name of names) roots.requireAllowed([image(`registry.example/${name}`)]);
  for (const name of ['127.0.0.1:5000/any/thing', 'alpine:3', 'docker.io/alpine']) roots.requireAllowed([image(name)]);
});

test('everything else is rejected, with what is allowed', () => {
  const refused: SourceSpec[] = [
    bucket('backups'),
    bucket('backups', { prefix: 'nightl' }),
    bucket('backups', { prefix: 'nightly/', endpoint: 'http://169.254.169.254' }),
    bucket('local'),
    bucket('local', { endpoint: 'http://127.0.0.1:9001' }),
    { type: 'path', path: '/srv/repositories-of-others' },
    { type: 'git', repository: '/srv/repositories/../private' },
    { type: 'list', name: 'list', paths: ['/srv/repositories/a', '/etc/passwd'] },
    { type: 'stdin', name: 'stdin' },
    image('registry.example/teams/app:1'),
    image('registry.example/other'),
    image('registry.example:8443/team/app'),
    image('http://registry.example/team/app'),
    image('team/app'),
    { type: 'image', images: ['registry.example/team/app', 'other.example/team/app'] },
  ];
  for (const source of refused) {
    assert.throws(
      () => roots.requireAllowed([source]),
      /may not be read: this process may scan \/srv\/repositories\/, s3:|has no standard input/,
      JSON.stringify(source),
    );
  }
  assert.throws(() => new ScanRoots([]).requireAllowed([{ type: 'path', path: '.' }]), /HEDDLE_SCAN_ROOTS is not set/);
});
