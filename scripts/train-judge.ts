/**
 * Trains the network that judges assignments, on examples that it makes up: `node scripts/train-judge.ts`. The same
 * seed makes the same weights.
 */
import { writeFileSync } from 'node:fs';

import { featuresOf } from '../packages/scan/src/detect/judge/features.ts';
import { Letters } from '../packages/scan/src/detect/judge/letters.ts';
import { isNoSecret } from '../packages/scan/src/detect/judge/shapes.ts';
import { makeExamples } from './judge/examples.ts';
import { Random } from './judge/random.ts';
import { rates, type Sample, train } from './judge/training.ts';
import { letterTables, WORDS } from './judge/words.ts';

const SEED = 20_260;
const EXAMPLES = 100_000;
const HELD_OUT = 20_000;
const WEIGHTS = new URL('../packages/scan/src/detect/judge/weights.json', import.meta.url);

const random = new Random(SEED);
const tables = letterTables(WORDS);
const letters = new Letters(tables);

/** Values that their form excludes are not judged. */
const samples = makeExamples(random, EXAMPLES + HELD_OUT)
  .filter(({ assignment }) => assignment.value.length >= 6 && !isNoSecret(assignment.value))
  .map(({ assignment, isSecret }): Sample => ({ features: featuresOf(assignment, letters), isSecret }));
const held = samples.splice(-Math.floor((samples.length * HELD_OUT) / (EXAMPLES + HELD_OUT)));
const network = train(samples, random);
writeFileSync(WEIGHTS, `${JSON.stringify({ letters: tables, network })}\n`);

for (const threshold of [0.3, 0.5, 0.8, 0.9, 0.985]) {
  const { recall, false_positives } = rates(network, held, threshold);
  console.log(
    `from ${threshold}: ${(recall * 100).toFixed(1)} % of secrets, ${(false_positives * 100).toFixed(2)} % of others`,
  );
}
