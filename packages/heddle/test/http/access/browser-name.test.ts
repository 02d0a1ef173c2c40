import assert from 'node:assert/strict';
import { test } from 'node:test';

import { browserName } from '../../../src/http/access/browser-name.ts';

test('a browser is named as people name it, although it also names others', () => {
  const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
  const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
  const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
  const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
  const cases: [string | undefined, string | null][] = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox 140 on Linux'],
    [`${windows} ${chrome}`, 'Chrome 126 on Windows'],
    [`${windows} ${chrome} Edg/126.0.0.0`, 'Edge 126 on Windows'],
    [`${mac} ${chrome} OPR/112.0.0.0`, 'Opera 112 on macOS'],
    [`${mac} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15`, 'Safari 17 on macOS'],
    [`${iphone} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari 17 on iOS'],
    [`Mozilla/5.0 (Linux; Android 14; Pixel 8) ${chrome}`, 'Chrome 126 on Android'],
    ['curl/8.5.0', 'curl 8'],
    ['something else', null],
    ['', null],
    [undefined, null],
  ];
  for (const [header, name] of cases) assert.equal(browserName(header), name, header);
});
