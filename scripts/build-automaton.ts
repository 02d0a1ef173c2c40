/** `node scripts/build-automaton.ts`: compiles the scanner's automaton from AssemblyScript to the module beside it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main as compile } from 'assemblyscript/asc';

const FOLDER = join(import.meta.dirname, '../src/scan/detect/keywords');

/** The same source gives the same bytes. The ending `.as` keeps other compilers away from it; asc is told `.ts`. */
export async function buildAutomaton(): Promise<Uint8Array> {
  let module: Uint8Array | undefined;
  const { error } = await compile(
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
