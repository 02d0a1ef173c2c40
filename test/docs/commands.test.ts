import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Command } from 'commander';

import { createProgram } from 'heddle/internal/cli/program';
import { inlineCode, readPages, type Page } from '@heddle/test-support/docs/pages';

const SHELLS = new Set(['sh', 'bash', 'shell', 'console']);
/** `heddle …`, also after `npm run heddle --` and as a container's command; ends at the shell's next word. */
const CALL = /(?:^|[\s$(]|heddle\/)heddle(?: --)?((?: +[^\s|&;#>)"'`\\]+)+)/gm;

/** The words after `heddle` in a page's shell code (also lines after `$` with output) and inline code. */
function callsOf(page: Page): string[][] {
  const code = page.fences.flatMap(({ language, text }) => {
    if (SHELLS.has(language)) return [text];
    return language === '' ? text.split('\n').filter((line) => line.startsWith('$ ')) : [];
  });
  const indented = page.prose.split('\n').filter((line) => /^ {4}[^ ]/.test(line));
  return [...code, ...indented, ...inlineCode(page)]
    .flatMap((text) => [...text.matchAll(CALL)])
    .map((match) => match[1]!.trim().split(/ +/));
}

/** Returns the fault of a call; null if the program has its commands and long options. */
function faultOf(program: Command, words: readonly string[]): string | null {
  const path = [program];
  for (const word of words) {
    const at = path.at(-1)!;
    if (word === '--') continue;
    if (word.startsWith('--')) {
      const name = word.split('=', 1)[0]!;
      const known = path.some(({ options }) => options.some(({ long }) => long === name));
      if (!known && !['--help', '--version'].includes(name)) return `has no option ${name}`;
    } else if (at.commands.length > 0 && /^[a-z]/.test(word)) {
      const found = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
      if (found !== undefined) path.push(found);
      // A group with an action of its own accepts other words as arguments.
      else if (at === program || at.registeredArguments.length === 0) return `has no command ${word}`;
    }
  }
  return null;
}

test('every documented `heddle` command and option exists', () => {
  const program = createProgram();
  const pages = readPages();
  const faults = pages.flatMap((page) =>
    callsOf(page).flatMap((words) => {
      const fault = faultOf(program, words);
      return fault === null ? [] : [`${page.path}: heddle ${words.join(' ')}: ${fault}`];
    }),
  );
  assert.deepEqual(faults, []);
  assert.ok(pages.flatMap(callsOf).length > 20, 'no calls were found: this test would prove nothing');
});

test('every command is documented', () => {
  const calls = readPages().flatMap((page) => callsOf(page).map((words) => words.join(' ')));
  const undocumented = leavesOf(createProgram()).filter((name) => !calls.some((call) => `${call} `.startsWith(name)));
  assert.deepEqual(undocumented, []);
});

/** The full names of all commands with an action, each followed by a space. */
function leavesOf(command: Command, prefix = ''): string[] {
  if (command.commands.length === 0) return [prefix];
  return command.commands.flatMap((each) => leavesOf(each, `${prefix}${each.name()} `));
}
