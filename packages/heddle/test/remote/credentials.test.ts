import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { makeDevelopmentCertificates } from '../../src/app/remote/certs.ts';
import { tlsSource } from '@heddle/executor/internal/client/credentials';
import { KeyFileError } from '@heddle/executor/security/key-file-error';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger as log } from '@heddle/base/log';
import { inDirectory } from '../../../executor/test/support/security/fixture.ts';

test('unusable certificates are rejected before anything is sent, naming the file', () =>
  inDirectory(async (directory) => {
    await makeDevelopmentCertificates(directory, ['alice', 'bob'], ['localhost']);
    const path = (name: string): string => join(directory, name);
    writeFileSync(path('words.pem'), 'no certificate');
    const files = { caFile: path('ca.pem'), certFile: path('client-alice.pem'), keyFile: path('client-alice-key.pem') };
    const read = (changes: Partial<typeof files>) =>
      tlsSource({ ...files, ...changes }, { clock: new VirtualClock(), log }).current();
    const refused = (changes: Partial<typeof files>, message: RegExp) =>
      assert.rejects(read(changes), (error) => error instanceof KeyFileError && message.test(error.message));
    await read({});
    await refused({ caFile: path('absent.pem') }, /absent\.pem: cannot be read: ENOENT/);
    await refused({ caFile: path('words.pem') }, /words\.pem: contains no PEM certificate$/);
    await refused({ certFile: path('words.pem') }, /words\.pem: contains no PEM certificate$/);
    await refused({ keyFile: path('words.pem') }, /words\.pem: contains no PEM private key/);
    await refused({ keyFile: path('client-bob-key.pem') }, /bob-key\.pem: does not match .*client-alice\.pem$/);
  }));

test('while only one of certificate and key has been replaced, the previous pair is used', () =>
  inDirectory(async (directory) => {
    await makeDevelopmentCertificates(directory, ['alice', 'bob'], ['localhost']);
    const path = (name: string): string => join(directory, name);
    for (const suffix of ['.pem', '-key.pem']) copyFileSync(path(`client-alice${suffix}`), path(`own${suffix}`));
    const clock = new VirtualClock();
    const files = { caFile: path('ca.pem'), certFile: path('own.pem'), keyFile: path('own-key.pem') };
    const source = tlsSource(files, { clock, log });
    const before = await source.current();
    copyFileSync(path('client-bob.pem'), path('own.pem'));
    await clock.advance(3_000);
    assert.equal(await source.current(), before);
    copyFileSync(path('client-bob-key.pem'), path('own-key.pem'));
    await clock.advance(3_000);
    assert.notEqual((await source.current())?.cert, before?.cert);
  }));
