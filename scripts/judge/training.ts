import type { Network } from '../../packages/scan/src/detect/judge/network.ts';
import { probabilityOf } from '../../packages/scan/src/detect/judge/network.ts';
import type { Random } from './random.ts';

export interface Sample {
  features: readonly number[];
  isSecret: boolean;
}

/** What one network takes for a secret by chance, the others seldom do. */
const NETWORKS = 4;
const UNITS = 8;
const EPOCHS = 20;
const RATE = 0.03;
const DECAY = 1e-5;

/** Trains several networks, and returns the one whose sum is the mean of theirs. */
export function train(samples: readonly Sample[], random: Random): Network {
  const trained = Array.from({ length: NETWORKS }, () => trainOne(samples, random));
  const mean = (weights: readonly number[]): number => weights.reduce((sum, each) => sum + each, 0) / NETWORKS;
  const output = trained.flatMap((network) => network.output.slice(0, -1).map((weight) => weight / NETWORKS));
  const bias = mean(trained.map((network) => network.output.at(-1)!));
  return {
    hidden: trained.flatMap(({ hidden }) => hidden.map((row) => row.map(rounded))),
    output: [...output, bias].map(rounded),
  };
}

/** Trains a network by stochastic gradient descent, with a rate that falls to zero. */
function trainOne(samples: readonly Sample[], random: Random): Network {
  const width = samples[0]!.features.length;
  const draw = (count: number, scale: number): number[] =>
    Array.from({ length: count }, () => (random.next() - 0.5) * scale);
  const hidden = Array.from({ length: UNITS }, () => draw(width + 1, 2 / Math.sqrt(width)));
  const output = draw(UNITS + 1, 1);
  const steps = EPOCHS * samples.length;
  for (let step = 0; step < steps; step++) {
    learn({ hidden, output }, random.pick(samples), RATE * (1 - step / steps));
  }
  return { hidden, output };
}

function learn({ hidden, output }: { hidden: number[][]; output: number[] }, sample: Sample, rate: number): void {
  const { features } = sample;
  const width = features.length;
  const levels = hidden.map((row) => {
    let sum = row[width]!;
    for (let at = 0; at < width; at++) sum += row[at]! * features[at]!;
    return Math.tanh(sum);
  });
  const sum = levels.reduce((all, level, unit) => all + level * output[unit]!, output[UNITS]!);
  const error = 1 / (1 + Math.exp(-sum)) - (sample.isSecret ? 1 : 0);
  for (const [unit, level] of levels.entries()) {
    const slope = error * output[unit]! * (1 - level * level);
    output[unit] = output[unit]! - rate * (error * level + DECAY * output[unit]!);
    const row = hidden[unit]!;
    for (let at = 0; at < width; at++) row[at] = row[at]! - rate * (slope * features[at]! + DECAY * row[at]!);
    row[width] = row[width]! - rate * slope;
  }
  output[UNITS] = output[UNITS]! - rate * error;
}

function rounded(weight: number): number {
  return Math.round(weight * 1000) / 1000;
}

/** Shares of secrets and of other values that a network rates at least as high as a threshold. */
export function rates(
  network: Network,
  samples: readonly Sample[],
  threshold: number,
): { recall: number; false_positives: number } {
  const share = (isSecret: boolean): number => {
    const chosen = samples.filter((sample) => sample.isSecret === isSecret);
    return chosen.filter(({ features }) => probabilityOf(network, features) >= threshold).length / chosen.length;
  };
  return { recall: share(true), false_positives: share(false) };
}
