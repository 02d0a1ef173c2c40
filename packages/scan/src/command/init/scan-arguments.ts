import { SCAN_DEFAULTS } from '../../options.ts';
import type { ScanRequest } from '../options.ts';

/** Returns the options of a scan that select rules and paths, quoted for a shell; each begins with a space. */
export function scanArguments({ rules, scan, ignoreFiles }: ScanRequest, baseline: string): string {
  const args = [
    ...rules.ruleFiles.flatMap((file) => ['--rules', file]),
    ...(rules.extendBuiltin ? ['--extend-builtin'] : []),
    ...(rules.onlyRules ? ['--only-rules'] : []),
    ...(rules.discover ? [] : ['--no-config']),
    ...rules.enable.flatMap((rule) => ['--enable', rule]),
    ...rules.disable.flatMap((rule) => ['--disable', rule]),
    ...scan.exclude.flatMap((glob) => ['--exclude', glob]),
    ...scan.include.flatMap((glob) => ['--include', glob]),
    ...(scan.confidence === SCAN_DEFAULTS.confidence ? [] : ['--confidence', scan.confidence]),
    ...(scan.inlineIgnores ? [] : ['--no-inline-ignores']),
    ...ignoreFiles.flatMap((file) => ['--ignore-file', file]),
    ...['--baseline', baseline],
  ];
  return args.map((arg) => ` ${quoted(arg)}`).join('');
}

function quoted(arg: string): string {
  return /^[\w./=:@%+,-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
