/** `node scripts/build-automaton.ts`: compiles the scanner's automaton from AssemblyScript to the module beside it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../packages/scan/src/detect/keywords');

interface Compiler {
  main(
    args: readonly string[],
    files: {
      readFile(name: string): string | null;
      writeFile(name: string, contents: Uint8Array | string): void;
      listFiles(): string[];
    },
  ): Promise<{ error: Error | null }>;
}

/** Not by a literal: the package's types declare the globals of its dialect, which would hold for this whole program. */
const COMPILER: string = 'assemblyscript/asc';

/** The same source gives the same bytes. The ending `.as` keeps other compilers away from it; asc gets the name with `.ts`. */
export async function buildAutomaton(): Promise<Uint8Array> {
  const compiler = (await import(COMPILER)) as Compiler;
  let module: Uint8Array | undefined;
  const { error } = await compiler.main(
    [
      'automaton.ts',
      '--outFile',
      'automaton.wasm',
      '-O3',
      '--noAssert',
      '--runtime',
      'stub',
      '--importMemory',
      '--enable',
      'simd',
    ],
    {
      readFile: (name) => (name === 'automaton.ts' ? readFileSync(join(FOLDER, 'automaton.as'), 'utf8') : null),
      writeFile: (name, contents) => {
        if (name === 'automaton.wasm') module = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || module === undefined) throw new Error(`asc: ${error?.message ?? 'no module'}`);
  return module;
}

if (process.argv[1] === import.meta.filename) {
  const module = await buildAutomaton();
  writeFileSync(join(FOLDER, 'automaton.wasm'), module);
  console.log(`build-automaton: automaton.wasm has ${module.length} bytes`);
}
