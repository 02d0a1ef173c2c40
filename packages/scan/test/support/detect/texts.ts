import fc from 'fast-check';

/** One rule of each kind of placement, with short windows. */
export const RULES = `
[[rules]]
id = "prefixed"
regex = '''ghx_[0-9a-zA-Z]{6}'''
keywords = ["ghx_"]
[[rules]]
id = "generic-assigned"
regex = '''(?i)[\\w.-]{0,8}?(?:key|pass)(?:[ \\t\\w.-]{0,5})[\\s'"]{0,3}(?:=|:)[ '"]{0,3}([\\w-]{4,12}|x+)(?:['"\\s;]|$)'''
keywords = ["key", "pass"]
[[rules]]
id = "near"
regex = '''\\b[a-f0-9]{5}\\b'''
keywords = ["hex"]
[[rules]]
id = "everywhere"
regex = '''\\b\\d{4}\\b'''
[[rules]]
id = "lines"
regex = '''(?m)^begin\\s[^e]{0,30}end$'''
keywords = ["begin"]
[[rules]]
id = "block"
regex = '''begin(?:\\s[^\\n]{1,12}){1,4}'''
each = '''([a-f0-9]{5})\\b'''
keywords = ["begin"]
[[rules]]
id = "backtracking"
regex = '''na(?:a{1,3}|aa){1,9}b'''
keywords = ["na"]
`;

export const words = fc.constantFrom(
  ...[
    'ghx_abc123',
    'ghx_zz',
    ' key = ',
    'key',
    'pass',
    '"',
    'value_1x',
    'xxxx',
    'hex ',
    '0ab12',
    '1234',
    '\n',
    'begin ',
    'end',
  ],
  ...[' ', 'naaaaab', 'naaaaaaaaaaaaa', 'heddle:allow', '=', ': ', '.'.repeat(700), '\n'.repeat(5), 'é'],
);

/** Plain text, and encoded text, short and longer than one piece of it. */
export const encoded = fc.oneof(
  { weight: 6, arbitrary: words },
  { weight: 1, arbitrary: fc.constant('ghx%5Fabc123 key%20%3D%20value9') },
  { weight: 1, arbitrary: fc.constant('%41'.repeat(300)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(words, words)
      .map((parts) => Buffer.from(`text: ${parts.join('')} key = value77 ;`).toString('base64')),
  },
  {
    weight: 1,
    arbitrary: words.map((word) => {
      const inner = Buffer.from(`text: ${word} ghx_abc777 and more`).toString('base64');
      return Buffer.from(`data: ${inner} `).toString('base64');
    }),
  },
  { weight: 1, arbitrary: fc.constant(Buffer.from('plain text, then ghx_abc888 and '.repeat(900)).toString('base64')) },
  { weight: 1, arbitrary: fc.constant(Buffer.from('wide ghx_abc999 text', 'utf16le').toString('base64')) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(24, 64, 76), fc.integer({ min: 1, max: 700 })).map(([width, count]) => {
      const text = Buffer.from('plain text, then ghx_abc555 and '.repeat(count)).toString('base64');
      return `\n${text.match(new RegExp(`.{1,${width}}`, 'g'))!.join('\n')}\n`;
    }),
  },
);
