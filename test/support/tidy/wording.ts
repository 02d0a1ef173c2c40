import type { Finding, SourceText } from './source.ts';

/** Puts a word together from pieces, so that this file does not hold what it looks for. */
const word = (...pieces: string[]): string => pieces.join('');
const either = (...words: string[]): string => `(?:${words.join('|')})`;

const FOLDER = word('sha', 'red');
const PAPER = word('se', 'eds?');
const HELPER = word('hel', 'per');
const WRITERS = either(word('cla', 'ude'), word('chat', 'gpt'), word('co', 'pilot'), word('anthro', 'pic'));
const MODELS = either(word('sub', 'agent'), word('language ', 'model'));

const HOW = 'how it was written';

/** Traces of the workshop: places and papers that the reader of the published project does not have. */
const TRACES: readonly { pattern: RegExp; what: string }[] = [
  { pattern: new RegExp(`\\.\\./${FOLDER}(?![\\w-])`), what: 'a folder outside the repository' },
  {
    pattern: new RegExp(`\\b${FOLDER}/${either('design', 'seeds', 'tools', 'hooks')}`),
    what: 'a folder outside the repository',
  },
  { pattern: new RegExp(`[/]work[/]${either('main', FOLDER, '\\.\\w+')}(?!\\w)`), what: 'a path of one machine' },
  { pattern: new RegExp(`/tmp/${either('spec', 'bash_jobs')}`), what: 'a path of one machine' },
  { pattern: /\b00\d_[0-9a-f]{16}\b/, what: 'a paper that is not here' },
  { pattern: new RegExp(`\\b${PAPER}[ /]00\\d`, 'i'), what: 'a paper that is not here' },
  { pattern: new RegExp(`\\b${either('page', 'other', 'another')} ${HELPER}\\b`, 'i'), what: 'who wrote it' },
  { pattern: new RegExp(`\\b${WRITERS}\\b`, 'i'), what: HOW },
  { pattern: new RegExp(`\\b${MODELS}s?\\b`, 'i'), what: HOW },
];

/** Texts that name the services whose keys the scanner finds. */
const NAMES_OF_SERVICES =
  /^(?:packages\/scan\/src\/detect\/rules\/builtin|packages\/scan\/test\/support\/(?:detect\/rules\/cases|verify)|bench\/src\/scan)\/|^docs\/scanning\/built-in-rules\.md$/;

/** Holds that texts speak of the product, not of how or where it is made. */
export function checkWording(sources: readonly SourceText[]): Finding[] {
  return sources.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const traces = TRACES.filter(({ what }) => what !== HOW || !NAMES_OF_SERVICES.test(path));
      const trace = traces.find(({ pattern }) => pattern.test(line));
      if (trace === undefined) return [];
      const found = trace.pattern.exec(line)?.[0] ?? '';
      const message = `'${found}' speaks of ${trace.what}; say the fact itself, for a reader who has only this repository`;
      return [{ path, line: index + 1, message }];
    }),
  );
}
