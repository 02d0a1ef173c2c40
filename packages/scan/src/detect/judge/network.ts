/** A network with one hidden layer, as trained: rows of weights, each followed by its bias. */
export interface Network {
  hidden: readonly (readonly number[])[];
  output: readonly number[];
}

/** Returns the probability that the network gives to a vector of features. */
export function probabilityOf({ hidden, output }: Network, features: readonly number[]): number {
  let sum = output[hidden.length]!;
  for (const [unit, weights] of hidden.entries()) {
    let input = weights[features.length]!;
    for (let at = 0; at < features.length; at++) input += weights[at]! * features[at]!;
    sum += output[unit]! * Math.tanh(input);
  }
  return 1 / (1 + Math.exp(-sum));
}
